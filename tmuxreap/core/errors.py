"""The table of error codes, each with its exit status, and the failures that carry them. Knows no
command and never prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum, IntEnum


class Exit(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    NO_TARGET = 3
    TMUX = 4
    PERMISSION = 5
    REGISTRY = 6
    BUG = 70
    INTERRUPTED = 130


class Code(Enum):
    """A stable name for scripts, and the exit status it stands for."""

    STILL_RUNNING = ("still_running", Exit.FAILED)
    SESSION_ALIVE = ("session_alive", Exit.FAILED)
    SESSION_REPLACED = ("session_replaced", Exit.FAILED)
    OWN_SESSION = ("own_session", Exit.FAILED)
    FOREIGN_PANES = ("foreign_panes", Exit.FAILED)
    AMBIGUOUS_PANE = ("ambiguous_pane", Exit.FAILED)
    KILL_FAILED = ("kill_failed", Exit.FAILED)
    CLEANUP_FAILED = ("cleanup_failed", Exit.FAILED)
    PANE_CLOSE_FAILED = ("pane_close_failed", Exit.FAILED)
    AMBIGUOUS_CONVERSATION = ("ambiguous_conversation", Exit.FAILED)
    SESSION_EXISTS = ("session_exists", Exit.FAILED)
    START_FAILED = ("start_failed", Exit.FAILED)
    NOT_RESUMABLE = ("not_resumable", Exit.FAILED)
    CONVERSATION_IN_USE = ("conversation_in_use", Exit.FAILED)
    REGISTERED_ELSEWHERE = ("registered_elsewhere", Exit.FAILED)
    BEYOND_REACH = ("beyond_reach", Exit.FAILED)
    TIMED_OUT = ("timed_out", Exit.FAILED)
    GONE = ("gone", Exit.FAILED)
    NOT_INTERRUPTIBLE = ("not_interruptible", Exit.FAILED)
    DECLINED = ("declined", Exit.FAILED)
    NOT_IDLE = ("not_idle", Exit.FAILED)
    UNCONFIRMED = ("unconfirmed", Exit.FAILED)
    RESPAWNED = ("respawned", Exit.FAILED)
    RESUME_HALTED = ("resume_halted", Exit.FAILED)
    USAGE = ("usage", Exit.USAGE)
    HOST_UNKNOWN = ("host_unknown", Exit.USAGE)
    CONFIG_INVALID = ("config_invalid", Exit.USAGE)
    SESSION_NOT_REGISTERED = ("session_not_registered", Exit.NO_TARGET)
    PROCESS_NOT_FOUND = ("process_not_found", Exit.NO_TARGET)
    NO_TRACKED_PID = ("no_tracked_pid", Exit.NO_TARGET)
    TMUX_UNREACHABLE = ("tmux_unreachable", Exit.TMUX)
    TMUX_MISSING = ("tmux_missing", Exit.TMUX)
    HOST_UNREACHABLE = ("host_unreachable", Exit.TMUX)
    HOST_WITHOUT_TMUXREAP = ("host_without_tmuxreap", Exit.TMUX)
    HOST_INCOMPATIBLE = ("host_incompatible", Exit.TMUX)
    PERMISSION_DENIED = ("permission_denied", Exit.PERMISSION)
    REGISTRY_NOT_FOUND = ("registry_not_found", Exit.REGISTRY)
    REGISTRY_INVALID = ("registry_invalid", Exit.REGISTRY)
    REGISTRY_UNTRUSTED = ("registry_untrusted", Exit.REGISTRY)
    REGISTRY_UNWRITABLE = ("registry_unwritable", Exit.REGISTRY)
    ROW_INVALID = ("row_invalid", Exit.REGISTRY)
    LOCK_TIMEOUT = ("lock_timeout", Exit.REGISTRY)
    BUG = ("bug", Exit.BUG)
    INTERRUPTED = ("interrupted", Exit.INTERRUPTED)

    def __init__(self, text: str, status: Exit) -> None:
        self.text = text
        self.exit = status

    @classmethod
    def of(cls, text: object) -> Code:
        """Look up a code by its text. An unknown one, from a newer remote version, means that some
        target failed."""
        return next((code for code in cls if code.text == text), cls.STILL_RUNNING)


class Failure(Exception):  # noqa: N818 - the failure of one target, caught per target and at the boundary
    """A message "could not <verb> <thing>: <reason>", with its code and a hint."""

    def __init__(self, code: Code, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def as_json(self) -> dict[str, str]:
        return {"code": self.code.text, "message": self.message, "hint": self.hint}


def could_not(verb: str, name: str, reason: str, hint: str, code: Code = Code.USAGE) -> Failure:
    """Return the failure of a verb on one target."""
    return Failure(code, f"could not {verb} {name}: {reason}", hint)


class LockIsHeld(Failure):
    """The caller holds the registry's lock, and the operation would wait for processes under it."""

    def __init__(self, what: str) -> None:
        reason = (
            f"could not {what}: the caller holds the lock, and processes would have to be"
            " waited for"
        )
        super().__init__(Code.LOCK_TIMEOUT, reason, "release the lock of the registry first")


class OutputLost(OSError):  # noqa: N818 - the answer has no reader left
    """The command has done its work, but its answer could not be written."""


@contextmanager
def printing() -> Iterator[None]:
    """Tell a lost output from every other error of the system."""
    try:
        yield
    except OSError as error:
        raise OutputLost(error.errno, error.strerror) from None


class NoAnswer(Exception):  # noqa: N818 - it says what there is
    """A server did not answer, refused, or is not the one that was meant."""


class NobodyListens(NoAnswer):
    """Nobody listens there."""


class Refused(NoAnswer):
    """A server answered, and refused this one call."""


def command(verb: str, name: str, *more: str) -> str:
    """Return a command for a hint, quoted for a shell: a name may hold shell metacharacters."""
    from shlex import join  # imported late: only failures need it

    return join(("tmuxreap", verb, name, *more))


def interrupted() -> Failure:
    hint = "to finish what was in progress: tmuxreap reconcile"
    return Failure(Code.INTERRUPTED, "could not finish: interrupted", hint)


def declined(verb: str) -> Failure:
    """Return the failure of a verb whose question was answered with no: its goal is not reached."""
    return Failure(Code.DECLINED, f"could not {verb}: the answer was no; nothing was done")


def shared_exit(codes: Iterable[Code]) -> Exit:
    """Return the exit status of a run: the one that all failures share, else 1."""
    exits = {code.exit for code in codes}
    if not exits:
        return Exit.OK
    return exits.pop() if len(exits) == 1 else Exit.FAILED
