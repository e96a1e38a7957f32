"""Declares the command line of `stop`; `commands.stop` does the work."""

from __future__ import annotations

from typing import Annotated

from tmuxreap.core.model import Verb
from tmuxreap.ending.plan import HANGUP_GRACE_S, REASONS, Policy
from tmuxreap.interfaces.cli.boundary import end, scope_of, seconds
from tmuxreap.interfaces.cli.parameters import Option
from tmuxreap.interfaces.cli.verbs.options import (
    AfterTurn,
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
    WholeSession,
    Yes,
)
from tmuxreap.sessions.context import Context


def command(
    targets: Targets = None,
    reason: Reason = None,
    keys_timeout: Annotated[
        str | None,
        Option(
            "--keys-timeout",
            help="How long to wait after the exit keys (0: skip them). [3s, or the agent's own]",
            metavar="S",
        ),
    ] = None,
    grace: Annotated[
        str | None,
        Option(
            "--grace",
            help=f"How long to wait after SIGTERM before SIGKILL. [{HANGUP_GRACE_S:g}s]",
            metavar="S",
        ),
    ] = None,
    after_turn: AfterTurn = None,
    no_force: NoForce = False,
    purge: Purge = False,
    whole_session: WholeSession = False,
    pane_only: PaneOnly = False,
    itself: Itself = False,
    cleanup: Cleanup = False,
    force_no_yaml: ForceNoYaml = False,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
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

    def policy(context: Context) -> Policy:
        return Policy(
            verb=Verb.STOP,
            reason=reason or context.default_word("reason") or REASONS[Verb.STOP],
            keys_timeout_s=seconds(keys_timeout, "--keys-timeout"),
            grace_s=(
                context.default_seconds("grace") if grace is None else seconds(grace, "--grace")
            ),
            after_turn_s=seconds(after_turn, "--after-turn"),
            force=not no_force,
            scope=scope_of(whole_session, pane_only),
            itself=itself,
            purge=purge,
            cleanup=cleanup,
            unregistered=force_no_yaml,
        )

    end(Verb.STOP, policy, targets, registry, json=json, quiet=quiet, dry_run=dry_run, yes=yes)
