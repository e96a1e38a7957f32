"""The findings of `doctor` as plain values: level, message, and the command that fixes it."""

from __future__ import annotations

from tmuxreap.core.answers.machine import Finding
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import Word


class Level(Word):
    OK = "ok"
    NOTE = "note"  # worth knowing; nothing is broken
    PROBLEM = "problem"


def ok(check: str, message: str) -> Finding:
    return Finding(check, Level.OK, message)


def note(check: str, message: str, hint: str | None = None) -> Finding:
    return Finding(check, Level.NOTE, message, hint)


def problem(check: str, message: str, hint: str | None = None) -> Finding:
    return Finding(check, Level.PROBLEM, message, hint)


def failed(check: str, failure: Failure) -> Finding:
    return problem(check, failure.message, failure.hint or None)
