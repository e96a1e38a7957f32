"""Declares the command line of `reap`; `commands.reap` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.core.values import replace
from tmuxreap.ending.plan import HANGUP_GRACE_S
from tmuxreap.interfaces.cli.boundary import Call, heed_signals, seconds, task_status_of
from tmuxreap.interfaces.cli.parameters import Text, flag, text
from tmuxreap.interfaces.cli.verbs.options import CLEANUP, DRY_RUN, TASK_STATUS, YES


def command(
    call: Call,
    stalled: bool = flag("--stalled", "Agents that reported work and have been silent since."),
    stalled_after: Text = text("--stalled-after S", "How long the silence may last. [120s]"),
    idle: bool = flag("--idle", "Agents with no output and nobody attached."),
    idle_after: Text = text("--idle-after D", "How long they may be idle. [2h]"),
    expired: bool = flag("--expired", "Agents that run longer than their --ttl."),
    orphans: bool = flag("--orphans", "Processes that ended sessions left behind."),
    grace: Text = text(
        "--grace S", f"How long to wait after SIGTERM before SIGKILL. [{HANGUP_GRACE_S:g}s]"
    ),
    task_status: str = TASK_STATUS,
    cleanup: bool = CLEANUP,
    dry_run: bool = DRY_RUN,
    yes: bool = YES,
) -> Result:
    """Find sessions that are stalled, idle, expired or orphaned.

    Shows the evidence; ends them only with --yes.
    """
    from tmuxreap.commands.reap.reap import defaults, run
    from tmuxreap.commands.reap.verdicts import Kind, Limits

    wanted = {
        Kind.STALLED: stalled,
        Kind.IDLE: idle,
        Kind.EXPIRED: expired,
        Kind.ORPHAN: orphans,
    }
    plain = defaults(call.context, tuple(kind for kind, asked in wanted.items() if asked))
    request = replace(
        plain,
        limits=Limits(
            seconds(stalled_after, "--stalled-after", plain.limits.stalled_after_s),
            seconds(idle_after, "--idle-after", plain.limits.idle_after_s),
        ),
        grace_s=seconds(grace, "--grace", plain.grace_s),
        cleanup=cleanup or plain.cleanup,
        task_status=task_status_of(task_status),
        dry_run=dry_run,
        yes=yes,
    )
    heed_signals()
    return run(call.context, request)
