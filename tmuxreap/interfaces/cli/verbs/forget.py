"""Declares the command line of `forget`; `commands.forget` does the work."""

from __future__ import annotations

from typing import Annotated

from tmuxreap.core.results import Result
from tmuxreap.core.text import plain
from tmuxreap.interfaces.cli.boundary import answer, confirm, on_terminal, seconds, targets_of
from tmuxreap.interfaces.cli.parameters import Option
from tmuxreap.interfaces.cli.verbs.options import DryRun, Json, Quiet, Registry, Targets, Yes
from tmuxreap.sessions.context import Context


def command(
    targets: Targets = None,
    history: Annotated[bool, Option("--history", help="Also delete its event history.")] = False,
    force: Annotated[
        bool, Option("--force", help="Also remove entries that are still marked running.")
    ] = False,
    older_than: Annotated[
        str | None,
        Option(
            "--older-than",
            help="Only sessions that ended longer ago than this, e.g. 30d.",
            metavar="D",
        ),
    ] = None,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Remove ended sessions from the registry.

    Their conversations stay on disk.
    """

    def work(context: Context) -> Result:
        from tmuxreap.commands.forget import ForgetRequest, run

        age_s = seconds(older_than, "--older-than")
        names = targets_of(targets)
        ask = (lambda words: confirm(plain(words))) if on_terminal() else None
        asked = ForgetRequest(names, history, force, dry_run, older_than_s=age_s, yes=yes, ask=ask)
        return run(context, asked)

    answer("forget", registry, json, quiet, work)
