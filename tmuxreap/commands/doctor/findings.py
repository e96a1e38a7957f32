"""The findings of `doctor` as plain values: level, message, and the command that fixes it.

A finding is named after its check, unless it has another name."""

from __future__ import annotations

from tmuxreap.core.answers import Finding
from tmuxreap.core.errors import Failure
from tmuxreap.core.values import Word


class Level(Word):
    OK = "ok"
    NOTE = "note"  # worth knowing; nothing is broken
    PROBLEM = "problem"


def ok(message: str) -> Finding:
    return Finding("", Level.OK, message)


def note(message: str, hint: str | None = None, *, name: str = "") -> Finding:
    return Finding(name, Level.NOTE, message, hint)


def problem(message: str, hint: str | None = None, *, name: str = "") -> Finding:
    return Finding(name, Level.PROBLEM, message, hint)


def failed(failure: Failure) -> Finding:
    return problem(failure.message, failure.hint or None)
