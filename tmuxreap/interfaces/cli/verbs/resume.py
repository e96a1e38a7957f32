"""The words of `resume`; what it does is in `commands.resume`."""

from __future__ import annotations

from typing import Annotated

import typer

from tmuxreap.core.results import Result
from tmuxreap.core.values import replace
from tmuxreap.interfaces.cli.boundary import answer, heed_signals, seconds, targets_of
from tmuxreap.interfaces.cli.verbs.options import DryRun, Json, Quiet, Registry, Targets
from tmuxreap.sessions.context import Context


def command(
    targets: Targets = None,
    print_only: Annotated[bool, typer.Option("--print", help="Only print the command.")] = False,
    confirm: Annotated[str | None, typer.Option("--confirm", help="How long it has to live.", metavar="S")] = None,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
) -> None:
    """Take up the conversation of an ended session, in its folder."""

    def work(context: Context) -> Result:
        from tmuxreap.commands.resume import ResumeRequest, run

        request = ResumeRequest(targets_of(targets), print_only, dry_run=dry_run)
        confirm_s = seconds(confirm, "--confirm")
        heed_signals()
        return run(context, request if confirm_s is None else replace(request, confirm_s=confirm_s))

    answer("resume", registry, json, quiet, work)
