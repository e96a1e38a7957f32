"""Reads what agents record of themselves while they live: the pid file with the state, and the
turn that is open in a conversation.

Imported by `list`, and so without the databases of `find`. Never writes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tmuxreap.agents.profiles import Folder, GoesOn, Locator, Profile
from tmuxreap.agents.screens import State
from tmuxreap.core.model import ProcessId
from tmuxreap.core.values import frozen

TAIL_BYTES = 1 << 20
STATES_OF_WORDS = {
    "busy": State.BUSY,
    "waiting": State.DIALOG,
    "idle": State.IDLE,
    "shell": State.IDLE,
}
BACKGROUND = "shell"  # a background shell runs: no state, but its exit command would ask about it


@frozen
class Record:
    """What an agent's own record says that it does; empty if it keeps none."""

    state: State | None = None  # BUSY, DIALOG, or IDLE: nothing is in progress
    asks: str = ""  # what it waits for, in its own words
    background: bool = False


NO_RECORD = Record()


@frozen
class RecordFiles:
    """Where an agent records what it does."""

    store: Path | None = None
    agents: tuple[ProcessId, ...] = ()
    turns: tuple[Path, ...] = ()  # the conversations that it may be in

    def stamps(self, profile: Profile) -> list[list[object]]:
        """Return the state of the files, which another record needs a change of."""
        paths = [*self.turns]
        for locator in _told_in(profile, "state"):
            for agent in self.agents:
                if self.store:
                    paths.append(_pid_file(locator, self.store, agent))
        return [_stamp(path) for path in paths]


def read_record(profile: Profile, files: RecordFiles) -> Record:
    """Read what the agent's own record says. Of several conversations that it may be in, one with
    an open turn is enough: interrupting an agent that is not busy loses nothing."""
    word = pid_file_word(profile, files.store, files.agents, "state") or ""
    state = STATES_OF_WORDS.get(word)
    turns = profile.goes_on
    if turns is not None and state not in (State.BUSY, State.DIALOG):
        in_turn = any(is_turn_open(turns, path) for path in files.turns)
        state = State.BUSY if in_turn else state
    asks = None
    if state is State.DIALOG:
        asks = pid_file_word(profile, files.store, files.agents, "asks")
    return Record(state, asks or "", background=word == BACKGROUND)


def pid_file_word(
    profile: Profile, store: Path | None, agents: Iterable[ProcessId], key: str
) -> str | None:
    """Return what the agent's own pid file says under this key of the profile."""
    for locator in _told_in(profile, key):
        for entry in pid_files(locator, store, agents):
            word = entry.get(str(locator.settings[key]))
            return str(word) if word is not None else None
    return None


def pid_files(
    locator: Locator, store: Path | None, agents: Iterable[ProcessId]
) -> Iterator[Mapping[str, object]]:
    """Yield the pid files of the agent's processes, except those left by another process with the
    same pid."""
    if store is None:
        return
    started = locator.settings.get("started")
    for agent in agents:
        entry = read_json(_pid_file(locator, store, agent))
        if not isinstance(entry, dict) or (
            started and not _same_start(entry.get(str(started)), agent)
        ):
            continue
        yield entry


def _told_in(profile: Profile, key: str) -> Sequence[Locator]:
    found = []
    for it in profile.locators:
        if it.kind == "pidfile" and key in it.settings:
            found.append(it)
    return found


def _pid_file(locator: Locator, store: Path, agent: ProcessId) -> Path:
    return store / str(locator.settings["path"]).replace("{pid}", str(agent.pid))


def _stamp(path: Path) -> list[object]:
    try:
        status = path.stat()
    except OSError:
        return [str(path), 0, 0]
    return [str(path), status.st_mtime_ns, status.st_size]


def _same_start(value: object, process: ProcessId) -> bool:
    """Compare a start in ticks since boot, alone or after the boot's ID."""
    return str(value).rsplit(":", 1)[-1].strip() == str(process.start)


def store_of(
    profile: Profile, environ: Mapping[str, str] | None, recorded: str | None, home: Path | None
) -> Path | None:
    """Return the agent's store: by its environment, else as recorded, else the default."""
    if environ is None and recorded:
        return Path(recorded)
    return folder_of(profile.store, environ, home)


def folder_of(folder: Folder, environ: Mapping[str, str] | None, home: Path | None) -> Path | None:
    variables = environ or {}
    if variable := variables.get(folder.variable or ""):
        return Path(variable, folder.under)
    default = folder.default
    agent_home = variables.get("HOME") or home
    if default is None or not default.startswith("~"):
        return None if default is None else Path(default)
    if agent_home:
        return Path(f"{agent_home}{default[1:]}")
    return None


def is_turn_open(goes_on: GoesOn, path: Path) -> bool:
    """Tell whether the last turn of the conversation began and did not end."""
    text = tail(path)
    return last_match(goes_on.began, text) > last_match(goes_on.ended, text)


def tail(path: Path) -> str:
    """Return the end of a file; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            return file.read(TAIL_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def last_match(pattern: re.Pattern[str] | None, text: str) -> int:
    """Return where the pattern matches last; -1 if nowhere."""
    matches = pattern.finditer(text) if pattern else ()
    return max((match.start() for match in matches), default=-1)


def read_json(path: Path) -> object:
    """Read a JSON file; None if it is no regular file, cannot be read, or is half-written."""
    try:
        if not os.path.isfile(path):  # noqa: PTH113
            return None
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
