"""Declares the command line of `resume`; `commands.resume` does the work."""

from __future__ import annotations

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call, heed_signals, seconds
from tmuxreap.interfaces.cli.parameters import Text, Words, flag, number, text
from tmuxreap.interfaces.cli.verbs.options import DRY_RUN, TARGETS


def command(
    call: Call,
    targets: Words = TARGETS,
    print_only: bool = flag("--print", "Only print the command to run."),
    confirm: Text = text(
        "--confirm S",
        "How long the agent must stay up before the resume counts as successful. [1s]",
    ),
    lost: bool = flag("--lost", "Sessions that a crash or a reboot ended (default: all of them)."),
    since: Text = text(
        "--since D", "With --lost: only those of the last D. [since the boot, or 24h]"
    ),
    at_once: int = number("--at-once N", "With --lost: how many before each pause.", 4),
    pace: Text = text("--pace S", "With --lost: how long to pause. [2s]"),
    dry_run: bool = DRY_RUN,
) -> Result:
    """Resume the saved conversation of a stopped session."""
    from tmuxreap.commands.resume import Lost, ResumeRequest, run
    from tmuxreap.commands.starting.row import CONFIRM_S

    if at_once < 1:
        reason = f"could not read --at-once: {at_once} is less than 1"
        raise Failure(Code.USAGE, reason, "as in: --at-once 4")
    pace_s = seconds(pace, "--pace", Lost().pace_s)
    request = ResumeRequest(
        tuple(targets or ()),
        print_only,
        seconds(confirm, "--confirm", CONFIRM_S),
        dry_run=dry_run,
        lost=Lost(seconds(since, "--since"), at_once, pace_s) if lost else None,
    )
    heed_signals()
    return run(call.context, request)
