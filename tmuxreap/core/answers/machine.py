"""The answers of the verbs about this machine, its agents and the program itself."""

from __future__ import annotations

from tmuxreap.core.answers.base import Answer, Item
from tmuxreap.core.values import frozen


@frozen
class Finding(Item):
    """One check of `doctor` and its result."""

    level: str | None = None
    message: str | None = None
    hint: str | None = None


@frozen
class Reached(Item):
    """Whether a host answers, and what runs on it."""

    host: str | None = None
    state: str | None = None
    version: str | None = None
    sessions: int | None = None
    running: int | None = None
    round_trip_ms: int | None = None
    registry: str | None = None
    tags: tuple[str, ...] = ()


@frozen
class Agent(Item):
    """What is known of a kind of agents."""

    about: str | None = None
    verified: str | None = None
    process: tuple[str, ...] = ()
    exit_keys: bool = False
    states: tuple[str, ...] = ()
    takes_an_id: bool = False
    resume: str | None = None
    locators: tuple[str, ...] = ()
    purge: bool = False


@frozen
class Hooked(Item):
    """What was done to an agent's hooks file."""

    file: str | None = None
    action: str | None = None
    events: tuple[str, ...] = ()
    diff: tuple[str, ...] = ()


@frozen
class Skill(Item):
    """What was done to the files of a skill."""

    outcome: str | None = None
    folder: str | None = None


@frozen
class Script(Item):
    """The completion script of a shell."""

    script: tuple[str, ...] = ()


@frozen
class Default(Item):
    """A default, the user's or built in; `place`: the variable, or the file with its line."""

    value: str | float | bool | tuple[str, ...] | None = None
    source: str | None = None
    place: str | None = None
    note: str | None = None


@frozen
class ConfigFile(Answer):
    """The file that the user's defaults are read from, whether it exists or not."""

    file: str | None = None
