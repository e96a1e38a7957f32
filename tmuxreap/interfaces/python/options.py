"""Owns the options of the Python interface, named like the command line's flags, and the policy
made from them. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from tmuxreap.commands.reap.verdicts import Limits
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


def policy_of(verb: Verb, how: StopOptions | KillOptions) -> Policy:
    """Return the policy of a stop or a kill."""
    options: Mapping[str, Any] = how
    known = StopOptions if verb is Verb.STOP else KillOptions
    if unknown := options.keys() - known.__annotations__.keys():
        raise TypeError(f"{verb.value}() got an unexpected option: {', '.join(sorted(unknown))}")
    return Policy(
        verb=verb,
        reason=options.get("reason", REASONS[verb]),
        keys_timeout_s=seconds(options.get("keys_timeout")),
        grace_s=seconds(options.get("grace")),
        after_turn_s=seconds(options.get("after_turn")),
        force=options.get("force", True),
        scope=_scope(options.get("whole_session", False), options.get("pane_only", False)),
        own_session=options.get("itself", False),
        purge=options.get("purge_conversation", False),
        cleanup=options.get("cleanup", False),
        task_status=options.get("task_status", "failed" if verb is Verb.KILL else None),
        unregistered=options.get("unregistered", False),
    )


def _scope(whole_session: bool, pane_only: bool) -> Scope:
    if whole_session and pane_only:
        raise TypeError("whole_session and pane_only cannot be combined")
    if pane_only:
        return Scope.PANE
    return Scope.SESSION if whole_session else Scope.AGENT


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
