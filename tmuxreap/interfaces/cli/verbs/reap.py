"""Declares the command line of `reap`; `commands.reap` does the work."""

from __future__ import annotations

from typing import Annotated

from tmuxreap.core.results import Result
from tmuxreap.core.values import replace
from tmuxreap.ending.plan import HANGUP_GRACE_S
from tmuxreap.interfaces.cli.boundary import answer, heed_signals, seconds, task_status_of
from tmuxreap.interfaces.cli.parameters import Option
from tmuxreap.interfaces.cli.verbs.options import (
    Cleanup,
    DryRun,
    Json,
    Quiet,
    Registry,
    TaskStatus,
    Yes,
)
from tmuxreap.sessions.context import Context


def command(
    stalled: Annotated[
        bool,
        Option("--stalled", help="Agents that reported work and have been silent since."),
    ] = False,
    stalled_after: Annotated[
        str | None,
        Option("--stalled-after", help="How long the silence may last. [120s]", metavar="S"),
    ] = None,
    idle: Annotated[
        bool, Option("--idle", help="Agents with no output and nobody attached.")
    ] = False,
    idle_after: Annotated[
        str | None,
        Option("--idle-after", help="How long they may be idle. [2h]", metavar="D"),
    ] = None,
    expired: Annotated[
        bool, Option("--expired", help="Agents that run longer than their --ttl.")
    ] = False,
    orphans: Annotated[
        bool, Option("--orphans", help="Processes that ended sessions left behind.")
    ] = False,
    grace: Annotated[
        str | None,
        Option(
            "--grace",
            help=f"How long to wait after SIGTERM before SIGKILL. [{HANGUP_GRACE_S:g}s]",
            metavar="S",
        ),
    ] = None,
    task_status: TaskStatus = "failed",
    cleanup: Cleanup = False,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Find sessions that are stalled, idle, expired or orphaned.

    Shows the evidence; ends them only with --yes.
    """

    def work(context: Context) -> Result:
        from tmuxreap.commands.reap.reap import defaults, run
        from tmuxreap.commands.reap.verdicts import Kind, Limits

        wanted = {
            Kind.STALLED: stalled,
            Kind.IDLE: idle,
            Kind.EXPIRED: expired,
            Kind.ORPHAN: orphans,
        }
        stalled_s, idle_s = (
            seconds(stalled_after, "--stalled-after"),
            seconds(idle_after, "--idle-after"),
        )
        plain = defaults(context, tuple(kind for kind, asked in wanted.items() if asked))
        request = replace(
            plain,
            limits=Limits(
                plain.limits.stalled_after_s if stalled_s is None else stalled_s,
                plain.limits.idle_after_s if idle_s is None else idle_s,
            ),
            grace_s=plain.grace_s if grace is None else seconds(grace, "--grace"),
            cleanup=cleanup or plain.cleanup,
            task_status=task_status_of(task_status),
            dry_run=dry_run,
            yes=yes,
        )
        heed_signals()
        return run(context, request)

    answer("reap", registry, json, quiet, work)
