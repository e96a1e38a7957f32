"""What `doctor` finds: how bad it is, what was seen, and the command that mends it. Plain
values."""

from __future__ import annotations

from enum import Enum

from tmuxreap.core.errors import Failure
from tmuxreap.core.values import frozen


class Level(Enum):
    OK = "ok"
    NOTE = "note"  # worth knowing; nothing is broken
    PROBLEM = "problem"


@frozen
class Finding:
    """`check` is what was looked at: one word."""

    check: str
    level: Level
    message: str
    hint: str | None = None

    def as_json(self) -> dict[str, object]:
        return {"level": self.level.value, "message": self.message, "hint": self.hint}


def ok(check: str, message: str) -> Finding:
    return Finding(check, Level.OK, message)


def note(check: str, message: str, hint: str | None = None) -> Finding:
    return Finding(check, Level.NOTE, message, hint)


def problem(check: str, message: str, hint: str | None = None) -> Finding:
    return Finding(check, Level.PROBLEM, message, hint)


def failed(check: str, failure: Failure) -> Finding:
    return problem(check, failure.message, failure.hint or None)
