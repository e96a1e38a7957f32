"""Declares the command line of `kill`; `commands.stop` does the work."""

from __future__ import annotations

from typing import Annotated

from tmuxreap.core.model import Verb
from tmuxreap.ending.plan import REASONS, TERM_GRACE_S, Policy
from tmuxreap.interfaces.cli.boundary import end, scope_of, seconds, task_status_of
from tmuxreap.interfaces.cli.parameters import Option
from tmuxreap.interfaces.cli.verbs.options import (
    Cleanup,
    DryRun,
    ForceNoYaml,
    Itself,
    Json,
    NoForce,
    PaneOnly,
    Purge,
    Quiet,
    Reason,
    Registry,
    Targets,
    TaskStatus,
    WholeSession,
    Yes,
)
from tmuxreap.sessions.context import Context


def command(
    targets: Targets = None,
    reason: Reason = None,
    grace: Annotated[
        str | None,
        Option(
            "--grace",
            help=f"How long to wait after SIGTERM (0: SIGKILL at once). [{TERM_GRACE_S:g}s]",
            metavar="S",
        ),
    ] = None,
    no_force: NoForce = False,
    purge: Purge = False,
    whole_session: WholeSession = False,
    pane_only: PaneOnly = False,
    itself: Itself = False,
    task_status: TaskStatus = "failed",
    cleanup: Cleanup = False,
    force_no_yaml: ForceNoYaml = False,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Kill sessions: SIGTERM, then SIGKILL.

    \b
    tmuxreap kill acme                 SIGTERM, and SIGKILL after 2 s
    tmuxreap kill acme --grace 0       SIGKILL at once
    tmuxreap kill pid:4711             the session this process belongs to

    Saves the conversation first; `tmuxreap resume` continues it.
    """

    def policy(context: Context) -> Policy:
        return Policy(
            verb=Verb.KILL,
            reason=reason or context.default_word("reason") or REASONS[Verb.KILL],
            grace_s=(
                context.default_seconds("grace") if grace is None else seconds(grace, "--grace")
            ),
            force=not no_force,
            scope=scope_of(whole_session, pane_only),
            itself=itself,
            purge=purge,
            cleanup=cleanup,
            task_status=task_status_of(task_status),
            unregistered=force_no_yaml,
        )

    end(Verb.KILL, policy, targets, registry, json=json, quiet=quiet, dry_run=dry_run, yes=yes)
