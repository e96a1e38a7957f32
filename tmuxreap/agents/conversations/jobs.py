"""What is known of the sessions that an agent's own daemon runs, as values; and how their lists are
read key by key. Never reads a list, and never starts, asks or ends anything."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.screens import State
from tmuxreap.core.model import ProcessId
from tmuxreap.core.values import frozen

ID = "{id}"
URL = "{url}"
COUNTED = re.compile(r"-?\d{1,4}")
Entry = Mapping[str, object]


@frozen
class Job:
    """A session that an agent's own daemon runs, as the agent's own list has it."""

    agent: str
    store: Path
    id: str
    holder: ProcessId | None = None  # the living process that holds its terminal
    process: ProcessId | None = None  # the living process of the agent itself
    conversation: str | None = None
    source: str = ""  # of the conversation that it took over
    parents: tuple[str, ...] = ()  # what names the conversations that it was launched from
    words: str = ""  # all that the list says of it
    folder: str | None = None
    flags: tuple[str, ...] = ()
    ended: bool = False  # by the agent's own word
    begun: bool = True  # False: no process is named that it would have had
    # Of one that a server runs while it is at work, without a process of its own: that server,
    # where it listens, what it says that the session does, and what it waits for.
    server: ProcessId | None = None
    address: tuple[str, int] | None = None
    url: str = ""
    state: State | None = None
    asks: str = ""
    began: float | None = None  # in seconds since the epoch

    @property
    def seat(self) -> str:
        """Its name for users, as `adopt --background` takes it."""
        return f"{self.agent}:{self.id}"

    @property
    def processes(self) -> tuple[ProcessId, ...]:
        """Its own processes, the one that holds its terminal first."""
        return tuple(dict.fromkeys(one for one in (self.holder, self.process) if one is not None))

    @property
    def lives(self) -> bool:
        return bool(self.processes) or self.server is not None


@frozen
class Jobs:
    """What an agent's list says at one look."""

    listed: tuple[Job, ...] = ()
    is_known: bool = True  # False: there is a list, and it could not be read
    daemon: int | None = None  # its living daemon

    def of(self, number: str) -> Job | None:
        return next((job for job in self.listed if job.id == number), None)


NO_JOBS = Jobs()


@frozen
class Served:
    """What an agent's own server may run for a session in a pane: the conversation of that."""

    agent: str
    store: Path
    conversation: str
    since: float | None = None  # it is only a guess, and must have begun since then
    is_certain: bool = True  # False: it may be another one's, and is ended only once it is named

    def among(self, jobs: Jobs) -> Job | None:
        """Return the session in it that a server runs."""
        for job in jobs.listed:
            if job.server is None or job.conversation != self.conversation:
                continue
            if self.since is None or (job.began is not None and job.began >= self.since):
                return job
        return None


def word_at(entry: Entry, key: str | None) -> str:
    """Return the word under a key with dots between levels; empty if there is none."""
    if not key:
        return ""
    value = value_at(entry, key)
    return value if isinstance(value, str) else ""


def value_at(value: object, key: str | None) -> object:
    """Return what stands under a key with dots between levels; a number counts in a list. Without
    a key, the whole."""
    for part in key.split(".") if key else ():
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and COUNTED.fullmatch(part):
            there = -len(value) <= int(part) < len(value)
            value = value[int(part)] if there else None
        else:
            value = None
    return value


def filled(words: tuple[str, ...], job: Job) -> tuple[str, ...]:
    """Return a command of the profile for this session."""
    return tuple(word.replace(ID, job.id).replace(URL, job.url) for word in words)


def own_way(profile: Profile, job: Job) -> str:
    """Return how a person ends it without this program."""
    background = profile.background
    assert background is not None  # noqa: S101 - it has a list
    if background.server is not None:
        return filled((background.server.by_hand,), job)[0]
    return shlex.join(filled(background.end, job))
