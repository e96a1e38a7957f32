"""Declares the command line of `interrupt`; `commands.interrupt` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import (
    answer,
    heed_signals,
    on_terminal,
    question,
    targets_of,
    voice_of,
)
from tmuxreap.interfaces.cli.verbs.options import DryRun, Json, Quiet, Registry, Targets, Yes
from tmuxreap.sessions.context import Context


def command(
    targets: Targets = None,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """End the turn of agents; the sessions go on.

    \b
    tmuxreap interrupt acme          end its work; it waits for your next prompt
    tmuxreap interrupt tag:nightly   all sessions with this tag

    A dialog is closed, approving nothing; a queued prompt returns to the input.
    """

    def work(context: Context) -> Result:
        from tmuxreap.commands.interrupt import InterruptRequest, run

        heed_signals()
        ask = (
            question(voice_of(context.settings, json, quiet), purge=False)
            if on_terminal()
            else None
        )
        return run(context, InterruptRequest(targets_of(targets), dry_run, yes, ask))

    answer("interrupt", registry, json, quiet, work)
