"""Declares the command line of `stop`; `commands.stop` does the work."""

from __future__ import annotations

from tmuxreap.core.model import Verb
from tmuxreap.core.results import Result
from tmuxreap.ending.plan import HANGUP_GRACE_S, REASONS, Policy
from tmuxreap.interfaces.cli.boundary import Call, end, scope_of, seconds
from tmuxreap.interfaces.cli.parameters import Text, Words, text
from tmuxreap.interfaces.cli.verbs import options


def command(
    call: Call,
    targets: Words = options.TARGETS,
    reason: Text = options.REASON,
    keys_timeout: Text = text(
        "--keys-timeout S",
        "How long to wait after the exit keys (0: skip them). [3s, or the agent's own]",
    ),
    grace: Text = text(
        "--grace S", f"How long to wait after SIGTERM before SIGKILL. [{HANGUP_GRACE_S:g}s]"
    ),
    after_turn: Text = text(
        "--after-turn S", "Let the agent finish its current turn first, up to this long."
    ),
    no_force: bool = options.NO_FORCE,
    purge: bool = options.PURGE,
    whole_session: bool = options.WHOLE_SESSION,
    pane_only: bool = options.PANE_ONLY,
    itself: bool = options.ITSELF,
    cleanup: bool = options.CLEANUP,
    force_no_yaml: bool = options.UNREGISTERED,
    dry_run: bool = options.DRY_RUN,
    yes: bool = options.YES,
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
    return end(call, policy, targets, dry_run, yes)
