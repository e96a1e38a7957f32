"""The options of the Python interface: their names and types, and the policy that they become.

They have the names of the command line's flags. Decides nothing."""

from __future__ import annotations

from typing import TypedDict

from tmuxreap.commands.reap.verdicts import Kind, Limits
from tmuxreap.commands.wait import Until
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Scope, Verb
from tmuxreap.core.times import parse_duration
from tmuxreap.core.values import replace
from tmuxreap.ending.plan import REASONS, Policy
from tmuxreap.interfaces.python.errors import error_of

Seconds = float | str  # as "2h" too


class EndOptions(TypedDict, total=False):
    """What stop and kill both take."""

    reason: str
    grace: Seconds
    force: bool
    whole_session: bool
    pane_only: bool
    itself: bool
    cleanup: bool
    purge_conversation: bool
    unregistered: bool
    dry_run: bool
    yes: bool


class StopOptions(EndOptions, total=False):
    """What stop takes."""

    keys_timeout: Seconds
    after_turn: Seconds


class KillOptions(EndOptions, total=False):
    """What kill takes."""

    task_status: str


def stop_policy(how: StopOptions) -> Policy:
    """Make the policy of a stop."""
    known: StopOptions = {**how}
    timeout, turn = known.pop("keys_timeout", None), known.pop("after_turn", None)
    policy = _policy(Verb.STOP, known)
    return replace(policy, keys_timeout_s=seconds(timeout), after_turn_s=seconds(turn))


def kill_policy(how: KillOptions) -> Policy:
    """Make the policy of a kill."""
    known: KillOptions = {**how}
    status = known.pop("task_status", "failed")
    return replace(_policy(Verb.KILL, known), task_status=status)


def _policy(verb: Verb, how: EndOptions) -> Policy:
    unknown = how.keys() - EndOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"{verb.value}() got an unexpected option: {', '.join(sorted(unknown))}")
    return Policy(
        verb=verb,
        reason=how.get("reason", REASONS[verb]),
        grace_s=seconds(how.get("grace")),
        force=how.get("force", True),
        scope=_scope(how.get("whole_session", False), how.get("pane_only", False)),
        itself=how.get("itself", False),
        purge=how.get("purge_conversation", False),
        cleanup=how.get("cleanup", False),
        unregistered=how.get("unregistered", False),
    )


def _scope(whole_session: bool, pane_only: bool) -> Scope:
    if whole_session and pane_only:
        raise TypeError("whole_session and pane_only cannot be combined")
    if pane_only:
        return Scope.PANE
    return Scope.SESSION if whole_session else Scope.AGENT


def kinds_of(stalled: bool, idle: bool, expired: bool, orphans: bool) -> tuple[Kind, ...]:
    """Name what is to be reaped; none of them means all."""
    asked = {
        Kind.STALLED: stalled,
        Kind.IDLE: idle,
        Kind.EXPIRED: expired,
        Kind.ORPHAN: orphans,
    }
    return tuple(kind for kind, wanted in asked.items() if wanted)


def limits_of(stalled_after: Seconds | None, idle_after: Seconds | None) -> Limits:
    """Give how long each may last."""
    given = {"stalled_after_s": seconds(stalled_after), "idle_after_s": seconds(idle_after)}
    return replace(Limits(), **{name: one for name, one in given.items() if one is not None})


def wanted_state(word: str) -> Until:
    """Read what is waited for."""
    found = next((one for one in Until if one.value == word), None)
    if found is None:
        known = ", ".join(one.value for one in Until)
        failure = Failure(Code.USAGE, f"could not wait until {word!r}", f"use one of: {known}")
        raise error_of(failure)
    return found


def seconds(given: Seconds | None) -> float | None:
    """Read a length of time: seconds, or words as the command line takes them."""
    if not isinstance(given, str):
        return given
    try:
        return parse_duration(given)
    except ValueError as error:
        failure = Failure(Code.USAGE, f"could not read a duration: {error}", 'as in: "90", "2h"')
        raise error_of(failure) from None
