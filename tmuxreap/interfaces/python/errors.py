"""Owns the errors of the Python interface: a class per exit status, with code, message and hint.

Never decides what is an error."""

from __future__ import annotations

from collections.abc import Iterable

from tmuxreap.core.errors import Code, Exit, Failure, LockIsHeld


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
        return f"{self.message} ({self.hint})" if self.hint else self.message


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
    kind = LockHeld if isinstance(failure, LockIsHeld) else _kind(failure.code)
    return kind(failure.code.text, failure.message, failure.hint, results)


def _kind(code: Code) -> type[Error]:
    return LockTimeout if code is Code.LOCK_TIMEOUT else KINDS.get(code.exit, Error)
