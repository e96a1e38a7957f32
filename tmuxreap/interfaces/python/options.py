"""Owns the options of the Python interface, named like the command line's flags, and the policy
made from them. Decides nothing."""

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

Seconds = float | str  # or text such as "2h"


class EndOptions(TypedDict, total=False):
    """Options that stop and kill share."""

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
    """Options of stop."""

    keys_timeout: Seconds
    after_turn: Seconds


class KillOptions(EndOptions, total=False):
    """Options of kill."""

    task_status: str


def stop_policy(how: StopOptions) -> Policy:
    """Return the policy of a stop."""
    options: StopOptions = {**how}
    timeout, turn = options.pop("keys_timeout", None), options.pop("after_turn", None)
    policy = _policy(Verb.STOP, options)
    return replace(policy, keys_timeout_s=seconds(timeout), after_turn_s=seconds(turn))


def kill_policy(how: KillOptions) -> Policy:
    """Return the policy of a kill."""
    options: KillOptions = {**how}
    status = options.pop("task_status", "failed")
    return replace(_policy(Verb.KILL, options), task_status=status)


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
        own_session=how.get("itself", False),
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
    """Return the kinds to reap; without any, all are meant."""
    flags = {
        Kind.STALLED: stalled,
        Kind.IDLE: idle,
        Kind.EXPIRED: expired,
        Kind.ORPHAN: orphans,
    }
    return tuple(kind for kind, wanted in flags.items() if wanted)


def limits_of(stalled_after: Seconds | None, idle_after: Seconds | None) -> Limits:
    """Return the limits of silence and of idleness."""
    given = {"stalled_after_s": seconds(stalled_after), "idle_after_s": seconds(idle_after)}
    return replace(Limits(), **{name: value for name, value in given.items() if value is not None})


def wanted_state(word: str) -> Until:
    """Return the state to wait for."""
    state = next((each for each in Until if each.value == word), None)
    if state is None:
        known = ", ".join(each.value for each in Until)
        failure = Failure(Code.USAGE, f"could not wait until {word!r}", f"use one of: {known}")
        raise error_of(failure)
    return state


def seconds(given: Seconds | None) -> float | None:
    """Return seconds, given as a number or as the command line's text."""
    if not isinstance(given, str):
        return given
    try:
        return parse_duration(given)
    except ValueError as error:
        failure = Failure(Code.USAGE, f"could not read a duration: {error}", 'as in: "90", "2h"')
        raise error_of(failure) from None
