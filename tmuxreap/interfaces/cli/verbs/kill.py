"""Declares the command line of `kill`; `commands.stop` does the work."""

from __future__ import annotations

from tmuxreap.core.model import Verb
from tmuxreap.core.results import Result
from tmuxreap.ending.plan import REASONS, TERM_GRACE_S, Policy
from tmuxreap.interfaces.cli.boundary import Call, end, scope_of, seconds, task_status_of
from tmuxreap.interfaces.cli.parameters import Text, Words, text
from tmuxreap.interfaces.cli.verbs import options


def command(
    call: Call,
    targets: Words = options.TARGETS,
    reason: Text = options.REASON,
    grace: Text = text(
        "--grace S", f"How long to wait after SIGTERM (0: SIGKILL at once). [{TERM_GRACE_S:g}s]"
    ),
    no_force: bool = options.NO_FORCE,
    purge: bool = options.PURGE,
    whole_session: bool = options.WHOLE_SESSION,
    pane_only: bool = options.PANE_ONLY,
    itself: bool = options.ITSELF,
    task_status: str = options.TASK_STATUS,
    cleanup: bool = options.CLEANUP,
    force_no_yaml: bool = options.UNREGISTERED,
    dry_run: bool = options.DRY_RUN,
    yes: bool = options.YES,
) -> Result:
    """Kill sessions: SIGTERM, then SIGKILL.

    \b
    tmuxreap kill acme                 SIGTERM, and SIGKILL after 2 s
    tmuxreap kill acme --grace 0       SIGKILL at once
    tmuxreap kill pid:4711             the session this process belongs to

    Saves the conversation first; `tmuxreap resume` continues it.
    """
    policy = Policy(
        verb=Verb.KILL,
        reason=reason or call.context.default_word("reason") or REASONS[Verb.KILL],
        grace_s=seconds(grace, "--grace", call.context.default_seconds("grace")),
        force=not no_force,
        scope=scope_of(whole_session, pane_only),
        own_session=itself,
        purge=purge,
        cleanup=cleanup,
        task_status=task_status_of(task_status),
        unregistered=force_no_yaml,
    )
    return end(call, policy, targets, dry_run, yes)
