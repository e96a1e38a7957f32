"""Declares the command line of `interrupt`; `commands.interrupt` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call, heed_signals
from tmuxreap.interfaces.cli.parameters import Words
from tmuxreap.interfaces.cli.verbs.options import DRY_RUN, TARGETS, YES


def command(
    call: Call, targets: Words = TARGETS, dry_run: bool = DRY_RUN, yes: bool = YES
) -> Result:
    """End the turn of agents; the sessions go on.

    \b
    tmuxreap interrupt acme          end its work; it waits for your next prompt
    tmuxreap interrupt tag:nightly   all sessions with this tag

    A dialog is closed, approving nothing; a queued prompt returns to the input.
    """
    from tmuxreap.commands.interrupt import InterruptRequest, run

    heed_signals()
    request = InterruptRequest(tuple(targets or ()), dry_run, yes, call.question())
    return run(call.context, request)
