"""What the verbs answer that tell of this machine, its agents and the program itself."""

from __future__ import annotations

from tmuxreap.core.answers.base import Answer, Problem
from tmuxreap.core.values import frozen


@frozen
class Finding(Answer):
    """Tells what `doctor` found at one thing."""

    name: str
    level: str | None = None
    message: str | None = None
    hint: str | None = None
    error: Problem | None = None


@frozen
class Reached(Answer):
    """Tells whether a host answers, and what runs there."""

    name: str
    host: str | None = None
    state: str | None = None
    version: str | None = None
    sessions: int | None = None
    running: int | None = None
    round_trip_ms: int | None = None
    registry: str | None = None
    tags: tuple[str, ...] = ()
    error: Problem | None = None


@frozen
class Agent(Answer):
    """Tells what is known of a kind of agents."""

    name: str
    about: str | None = None
    verified: str | None = None
    process: tuple[str, ...] = ()
    exit_keys: bool = False
    states: tuple[str, ...] = ()
    takes_an_id: bool = False
    resume: str | None = None
    locators: tuple[str, ...] = ()
    purge: bool = False
    error: Problem | None = None


@frozen
class Hooked(Answer):
    """Tells what became of an agent's file of hooks."""

    name: str
    file: str | None = None
    action: str | None = None
    events: tuple[str, ...] = ()
    diff: tuple[str, ...] = ()
    error: Problem | None = None


@frozen
class Skill(Answer):
    """Tells what became of the files of a skill."""

    name: str
    outcome: str | None = None
    folder: str | None = None
    error: Problem | None = None


@frozen
class Script(Answer):
    """Holds the completion of a shell."""

    name: str
    script: tuple[str, ...] = ()
    error: Problem | None = None


@frozen
class Default(Answer):
    """Tells a default of the user's, or ours; `place`: the variable, or the file with the line."""

    name: str
    value: str | float | bool | tuple[str, ...] | None = None
    source: str | None = None
    place: str | None = None
    note: str | None = None
    error: Problem | None = None


@frozen
class ConfigFile(Answer):
    """Tells where the user's defaults are read from, there or not."""

    file: str | None = None
