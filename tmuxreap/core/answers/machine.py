"""The answers of the verbs about this machine, its agents and the program itself."""

from __future__ import annotations

from tmuxreap.core.answers.base import Answer, Problem
from tmuxreap.core.values import frozen


@frozen
class Finding(Answer):
    """One check of `doctor` and its result."""

    name: str
    level: str | None = None
    message: str | None = None
    hint: str | None = None
    error: Problem | None = None


@frozen
class Reached(Answer):
    """Whether a host answers, and what runs on it."""

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
    """What is known of a kind of agents."""

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
    """What was done to an agent's hooks file."""

    name: str
    file: str | None = None
    action: str | None = None
    events: tuple[str, ...] = ()
    diff: tuple[str, ...] = ()
    error: Problem | None = None


@frozen
class Skill(Answer):
    """What was done to the files of a skill."""

    name: str
    outcome: str | None = None
    folder: str | None = None
    error: Problem | None = None


@frozen
class Script(Answer):
    """The completion script of a shell."""

    name: str
    script: tuple[str, ...] = ()
    error: Problem | None = None


@frozen
class Default(Answer):
    """A default, the user's or built in; `place`: the variable, or the file with its line."""

    name: str
    value: str | float | bool | tuple[str, ...] | None = None
    source: str | None = None
    place: str | None = None
    note: str | None = None
    error: Problem | None = None


@frozen
class ConfigFile(Answer):
    """The file that the user's defaults are read from, whether it exists or not."""

    file: str | None = None
