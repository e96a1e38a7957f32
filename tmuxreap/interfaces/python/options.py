"""Owns the options of the Python interface, named like the command line's flags, and its errors: a
class per exit status, with code, message and hint. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypedDict

from tmuxreap.commands.wait import Until
from tmuxreap.core.errors import Code, Exit, Failure, LockIsHeld
from tmuxreap.core.model import EndVerb
from tmuxreap.core.times import parse_duration
from tmuxreap.ending.policy import EndingOptions, Seconds


class Error(Exception):
    """What could not be done. `code` is stable; `results` holds the answers so far."""

    code: str
    message: str
    hint: str
    results: tuple[object, ...]

    def __init__(self, code: str, message: str, hint: str, results: Iterable[object] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.results = tuple(results)

    def __str__(self) -> str:
        if self.hint:
            return f"{self.message} ({self.hint})"
        return self.message


class EndingError(Error):
    """A session did not reach the goal (exit status 1)."""


class UsageError(Error):
    """The call is invalid, or needs `yes=True` (exit status 2)."""


class NotFoundError(Error):
    """There is no such session, process or row (exit status 3)."""


class TmuxError(Error):
    """tmux or a host could not be reached (exit status 4)."""


class PermissionDeniedError(Error):
    """The operating system denies it (exit status 5)."""


class RegistryError(Error):
    """The registry could not be found, read, written or locked (exit status 6)."""


class LockTimeout(RegistryError):  # noqa: N818 - named as in filelock
    """Another program held the lock of the registry too long."""


class LockHeld(LockTimeout):
    """The caller holds `registry.lock()`, but the call would wait for processes."""


KINDS: dict[Exit, type[Error]] = {
    Exit.FAILED: EndingError,
    Exit.USAGE: UsageError,
    Exit.NO_TARGET: NotFoundError,
    Exit.TMUX: TmuxError,
    Exit.PERMISSION: PermissionDeniedError,
    Exit.REGISTRY: RegistryError,
}


def error_of(failure: Failure, results: Iterable[object] = ()) -> Error:
    """Return the exception for this failure."""
    kind = _kind(failure.code)
    if isinstance(failure, LockIsHeld):
        kind = LockHeld
    return kind(failure.code.text, failure.message, failure.hint, results)


def _kind(code: Code) -> type[Error]:
    if code is Code.LOCK_TIMEOUT:
        return LockTimeout
    return KINDS.get(code.exit, Error)


class EndOptions(TypedDict, total=False):
    """Options that stop and kill share."""

    reason: str
    grace: Seconds
    force: bool
    whole_session: bool
    pane_only: bool
    itself: bool
    cleanup: bool
    set: str
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


OF_THE_CALL = ("dry_run", "yes")  # not of the ending itself


def options_of(verb: EndVerb, how: StopOptions | KillOptions) -> EndingOptions:
    """Return the options of a stop or a kill by the names that all interfaces have."""
    given: dict[str, Any] = {**how}
    known = StopOptions if verb is EndVerb.STOP else KillOptions
    if unknown := given.keys() - known.__annotations__.keys():
        raise TypeError(f"{verb.value}() got an unexpected option: {', '.join(sorted(unknown))}")
    for name in OF_THE_CALL:
        given.pop(name, None)
    given["no_force"] = not given.pop("force", True)
    given["purge"] = given.pop("purge_conversation", False)
    given["set_name"] = given.pop("set", None)
    return EndingOptions(**given)


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
