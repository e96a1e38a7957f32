"""The answer types of each verb, and the envelope that they share."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.core.answers.base import Problem
from tmuxreap.core.answers.changes import Change
from tmuxreap.core.answers.endings import (
    Awaited,
    Beat,
    Ending,
    Forgotten,
    Interrupted,
    Protected,
    Reaping,
    Sums,
)
from tmuxreap.core.answers.machine import (
    Agent,
    ConfigFile,
    Default,
    Finding,
    Hooked,
    Reached,
    Script,
    Skill,
)
from tmuxreap.core.answers.news import Drift, Event, Reconciled
from tmuxreap.core.answers.sessions import Launched, Listed, Planned, Shown
from tmuxreap.core.values import frozen


@frozen
class Envelope:
    """The envelope around a command's results."""

    schema: str
    command: str
    ok: bool
    exit_code: int
    registry: str | None
    timestamp: str
    results: tuple[Mapping[str, object], ...]
    warnings: tuple[str, ...]
    error: Problem | None


@frozen
class Shape:
    """The type of a verb's results, and of what the envelope has besides. `lines`: each result is a
    document of its own, without envelope."""

    result: type
    more: type | None = None
    lines: bool = False


# A missing target is answered as the others are, with an error.
SHAPES = {
    "start": Shape(Launched, Planned),
    "adopt": Shape(Launched),
    "list": Shape(Listed),
    "show": Shape(Shown),
    "stop": Shape(Ending, Sums),
    "kill": Shape(Ending, Sums),
    "reap": Shape(Ending, Reaping),
    "resume": Shape(Launched),
    "forget": Shape(Forgotten),
    "protect": Shape(Protected),
    "unprotect": Shape(Protected),
    "reconcile": Shape(Drift, Reconciled),
    "watch": Shape(Change, lines=True),
    "events": Shape(Event),
    "wait": Shape(Awaited),
    "interrupt": Shape(Interrupted),
    "heartbeat": Shape(Beat),
    "hooks": Shape(Hooked),
    "agents": Shape(Agent),
    "doctor": Shape(Finding),
    "hosts": Shape(Reached),
    "skills": Shape(Skill),
    "completion": Shape(Script),
    "config": Shape(Default, ConfigFile),
}
