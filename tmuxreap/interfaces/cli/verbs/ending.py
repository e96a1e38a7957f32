"""Declares the verbs that end sessions or turns, and those that protect or forget sessions."""

from __future__ import annotations

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Scope, Verb
from tmuxreap.core.results import Result
from tmuxreap.core.text import plain
from tmuxreap.core.values import replace
from tmuxreap.ending.plan import HANGUP_GRACE_S, REASONS, TERM_GRACE_S, Policy
from tmuxreap.interfaces.cli.boundary import Call, confirm, heed_signals, one_of, seconds
from tmuxreap.interfaces.cli.parameters import (
    DRY_RUN,
    TARGETS,
    YES,
    Targets,
    Text,
    flag,
    text,
)

REASON = text("--reason R", "Reason to record. [stop: manual_stop, kill: killed]")
GRACE = text("--grace S", f"How long to wait after SIGTERM before SIGKILL. [{HANGUP_GRACE_S:g}s]")
NO_FORCE = flag("--no-force", "Never send SIGKILL.")
PURGE = flag("--purge-conversation", "Also delete its conversation for good.")
WHOLE_SESSION = flag("--whole-session", "Also end other panes in the session.")
PANE_ONLY = flag("--pane-only", "End only the agent's pane, and leave the others.")
ITSELF = flag("--self", "Allow stopping the session this command runs in.")
CLEANUP = flag("--cleanup", "Also remove its git worktree, unless it has changes.")
UNREGISTERED = flag(
    "--unregistered --force-no-yaml", "Also stop a tmux session that is not in the registry."
)
TASK_STATUS = text("--task-status failed|ready|cancelled", "Status to set on its task.", "failed")


def do_stop(
    call: Call,
    targets: Targets = TARGETS,
    reason: Text = REASON,
    keys_timeout: Text = text(
        "--keys-timeout S",
        "How long to wait after the exit keys (0: skip them). [3s, or the agent's own]",
    ),
    grace: Text = GRACE,
    after_turn: Text = text(
        "--after-turn S", "Let the agent finish its current turn first, up to this long."
    ),
    no_force: bool = NO_FORCE,
    purge: bool = PURGE,
    whole_session: bool = WHOLE_SESSION,
    pane_only: bool = PANE_ONLY,
    itself: bool = ITSELF,
    cleanup: bool = CLEANUP,
    force_no_yaml: bool = UNREGISTERED,
    dry_run: bool = DRY_RUN,
    yes: bool = YES,
) -> Result:
    """Stop sessions: exit keys, then SIGHUP/SIGTERM, then SIGKILL.

    \b
    tmuxreap stop acme                  ask it to exit, force it if it does not
    tmuxreap stop acme --reason night   and record the reason
    tmuxreap stop acme --dry-run        show what would happen
    tmuxreap stop 'acme-*' tag:nightly  many at the same time
    tmuxreap stop acme --self           the session you are in

    Continues until every process is gone, saves the conversation for `tmuxreap resume`,
    and records how it ended.
    """
    policy = Policy(
        verb=Verb.STOP,
        reason=reason or call.context.default_word("reason") or REASONS[Verb.STOP],
        keys_timeout_s=seconds(keys_timeout, "--keys-timeout"),
        grace_s=seconds(grace, "--grace", call.context.default_seconds("grace")),
        after_turn_s=seconds(after_turn, "--after-turn"),
        force=not no_force,
        scope=scope_of(whole_session, pane_only),
        own_session=itself,
        purge=purge,
        cleanup=cleanup,
        unregistered=force_no_yaml,
    )
    return _end(call, policy, targets, dry_run, yes)


def do_kill(
    call: Call,
    targets: Targets = TARGETS,
    reason: Text = REASON,
    grace: Text = text(
        "--grace S", f"How long to wait after SIGTERM (0: SIGKILL at once). [{TERM_GRACE_S:g}s]"
    ),
    no_force: bool = NO_FORCE,
    purge: bool = PURGE,
    whole_session: bool = WHOLE_SESSION,
    pane_only: bool = PANE_ONLY,
    itself: bool = ITSELF,
    task_status: str = TASK_STATUS,
    cleanup: bool = CLEANUP,
    force_no_yaml: bool = UNREGISTERED,
    dry_run: bool = DRY_RUN,
    yes: bool = YES,
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
    return _end(call, policy, targets, dry_run, yes)


def _end(call: Call, policy: Policy, targets: Targets, dry_run: bool, yes: bool) -> Result:
    from tmuxreap.commands.stop import EndRequest, run

    heed_signals()
    ask = call.question(purge=policy.purge)
    return run(call.context, EndRequest(targets, policy, dry_run, yes, ask))


def scope_of(whole_session: bool, pane_only: bool) -> Scope:
    if whole_session and pane_only:
        reason = "could not read the command: --whole-session and --pane-only cannot be combined"
        raise Failure(Code.USAGE, reason, "give one of them")
    if whole_session:
        return Scope.SESSION
    return Scope.PANE if pane_only else Scope.AGENT


def task_status_of(word: str) -> str:
    return one_of(("failed", "ready", "cancelled"), word, "--task-status", "cancelled")


def do_reap(
    call: Call,
    stalled: bool = flag("--stalled", "Agents that reported work and have been silent since."),
    stalled_after: Text = text("--stalled-after S", "How long the silence may last. [120s]"),
    idle: bool = flag("--idle", "Agents with no output and nobody attached."),
    idle_after: Text = text("--idle-after D", "How long they may be idle. [2h]"),
    expired: bool = flag("--expired", "Agents that run longer than their --ttl."),
    orphans: bool = flag("--orphans", "Processes that ended sessions left behind."),
    grace: Text = GRACE,
    task_status: str = TASK_STATUS,
    cleanup: bool = CLEANUP,
    dry_run: bool = DRY_RUN,
    yes: bool = YES,
) -> Result:
    """Find sessions that are stalled, idle, expired or orphaned.

    Shows the evidence; ends them only with --yes.
    """
    from tmuxreap.commands.reap.reap import defaults, run
    from tmuxreap.commands.reap.verdicts import Limits, kinds_wanted

    plain = defaults(call.context, kinds_wanted(stalled, idle, expired, orphans))
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
        why=call.why,
    )
    heed_signals()
    return run(call.context, request)


def do_interrupt(
    call: Call, targets: Targets = TARGETS, dry_run: bool = DRY_RUN, yes: bool = YES
) -> Result:
    """End the turn of agents; the sessions go on.

    \b
    tmuxreap interrupt acme          end its work; it waits for your next prompt
    tmuxreap interrupt tag:nightly   all sessions with this tag

    A dialog is closed, approving nothing; a queued prompt returns to the input.
    """
    from tmuxreap.commands.interrupt import InterruptRequest, run

    heed_signals()
    request = InterruptRequest(targets, dry_run, yes, call.question())
    return run(call.context, request)


def do_forget(
    call: Call,
    targets: Targets = TARGETS,
    history: bool = flag("--history", "Also delete its event history."),
    force: bool = flag("--force", "Also remove entries that are still marked running."),
    older_than: Text = text(
        "--older-than D", "Only sessions that ended longer ago than this, e.g. 30d."
    ),
    dry_run: bool = DRY_RUN,
    yes: bool = YES,
) -> Result:
    """Remove ended sessions from the registry.

    Their conversations stay on disk.
    """
    from tmuxreap.commands.forget import ForgetRequest, run

    age_s = seconds(older_than, "--older-than")
    ask = (lambda words: confirm(plain(words))) if call.asks else None
    request = ForgetRequest(targets, history, force, dry_run, call.why, age_s, yes, ask)
    return run(call.context, request)


def do_protect(call: Call, targets: Targets = TARGETS, dry_run: bool = DRY_RUN) -> Result:
    """Protect sessions: only naming them ends them.

    stop, kill, reap and forget skip them for patterns, tags, trees and `all`.
    """
    from tmuxreap.commands.protect import ProtectRequest, run

    return run(call.context, ProtectRequest(targets, keep=True, dry_run=dry_run))


def do_unprotect(call: Call, targets: Targets = TARGETS, dry_run: bool = DRY_RUN) -> Result:
    """Remove the protection from sessions.

    Patterns, tags, trees and `all` include them again.
    """
    from tmuxreap.commands.protect import ProtectRequest, run

    return run(call.context, ProtectRequest(targets, keep=False, dry_run=dry_run))
