"""Declares the command line of `forget`; `commands.forget` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.core.text import plain
from tmuxreap.interfaces.cli.boundary import Call, confirm, seconds
from tmuxreap.interfaces.cli.parameters import Text, Words, flag, text
from tmuxreap.interfaces.cli.verbs.options import DRY_RUN, TARGETS, YES


def command(
    call: Call,
    targets: Words = TARGETS,
    history: bool = flag("--history", "Also delete its event history."),
    force: bool = flag("--force", "Also remove entries that are still marked running."),
    older_than: Text = text(
        "--older-than D", "Only sessions that ended longer ago than this, e.g. 30d."
    ),
    dry_run: bool = DRY_RUN,
    yes: bool = YES,
) -> Result:
    """Remove ended sessions from the registry.

    Their conversations stay on disk.
    """
    from tmuxreap.commands.forget import ForgetRequest, run

    age_s = seconds(older_than, "--older-than")
    names = tuple(targets or ())
    ask = (lambda words: confirm(plain(words))) if call.asks else None
    asked = ForgetRequest(names, history, force, dry_run, older_than_s=age_s, yes=yes, ask=ask)
    return run(call.context, asked)
