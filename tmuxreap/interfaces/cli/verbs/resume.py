"""Declares the command line of `resume`; `commands.resume` does the work."""

from __future__ import annotations

from typing import Annotated

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.core.values import replace
from tmuxreap.interfaces.cli.boundary import answer, heed_signals, seconds, targets_of
from tmuxreap.interfaces.cli.parameters import Option
from tmuxreap.interfaces.cli.verbs.options import DryRun, Json, Quiet, Registry, Targets
from tmuxreap.sessions.context import Context


def command(
    targets: Targets = None,
    print_only: Annotated[bool, Option("--print", help="Only print the command to run.")] = False,
    confirm: Annotated[
        str | None,
        Option(
            "--confirm",
            help="How long the agent must stay up before the resume counts as successful. [1s]",
            metavar="S",
        ),
    ] = None,
    lost: Annotated[
        bool,
        Option("--lost", help="Sessions that a crash or a reboot ended (default: all of them)."),
    ] = False,
    since: Annotated[
        str | None,
        Option(
            "--since",
            help="With --lost: only those of the last D. [since the boot, or 24h]",
            metavar="D",
        ),
    ] = None,
    at_once: Annotated[
        int, Option("--at-once", help="With --lost: how many before each pause.", metavar="N")
    ] = 4,
    pace: Annotated[
        str | None, Option("--pace", help="With --lost: how long to pause. [2s]", metavar="S")
    ] = None,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
) -> None:
    """Resume the saved conversation of a stopped session."""

    def work(context: Context) -> Result:
        from tmuxreap.commands.resume import Lost, ResumeRequest, run

        if at_once < 1:
            raise Failure(
                Code.USAGE,
                f"could not read --at-once: {at_once} is less than 1",
                "as in: --at-once 4",
            )
        pace_s = seconds(pace, "--pace")
        lost_filter = (
            Lost(seconds(since, "--since"), at_once, Lost().pace_s if pace_s is None else pace_s)
            if lost
            else None
        )
        request = ResumeRequest(targets_of(targets), print_only, dry_run=dry_run, lost=lost_filter)
        confirm_s = seconds(confirm, "--confirm")
        heed_signals()
        return run(context, request if confirm_s is None else replace(request, confirm_s=confirm_s))

    answer("resume", registry, json, quiet, work)
