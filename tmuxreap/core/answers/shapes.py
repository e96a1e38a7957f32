"""The answer types of each verb, and the envelope that they share."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.core.answers import changes, endings, machine, news, sessions
from tmuxreap.core.answers.base import Problem
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
    "start": Shape(sessions.Launched, sessions.Planned),
    "adopt": Shape(sessions.Launched),
    "list": Shape(sessions.Listed),
    "show": Shape(sessions.Shown),
    "stop": Shape(endings.Ending, endings.Sums),
    "kill": Shape(endings.Ending, endings.Sums),
    "reap": Shape(endings.Ending, endings.Reaping),
    "resume": Shape(sessions.Launched),
    "forget": Shape(endings.Forgotten),
    "protect": Shape(endings.Protected),
    "unprotect": Shape(endings.Protected),
    "reconcile": Shape(news.Drift, news.Reconciled),
    "watch": Shape(changes.Change, lines=True),
    "events": Shape(news.Event),
    "wait": Shape(endings.Awaited),
    "interrupt": Shape(endings.Interrupted),
    "heartbeat": Shape(endings.Beat),
    "hooks": Shape(machine.Hooked),
    "agents": Shape(machine.Agent),
    "doctor": Shape(machine.Finding),
    "hosts": Shape(machine.Reached),
    "skills": Shape(machine.Skill),
    "completion": Shape(machine.Script),
    "config": Shape(machine.Default, machine.ConfigFile),
}
