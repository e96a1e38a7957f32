"""Finds the conversation that an agent is in, in the files of its store, and whether it is on disk.
Only reads them. An ID is hostile input until it matches the profile's pattern: it becomes part of a
path."""

from __future__ import annotations

import glob
import json
import os
import re
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path

from tmuxreap.agents.conversations.records import pid_file_word, pid_files
from tmuxreap.agents.profiles import LOCATORS, Locator, Profile
from tmuxreap.core.model import ProcessId
from tmuxreap.core.results import Conversation
from tmuxreap.core.values import frozen

PATIENCE_S = 1.0
MAX_ROWS = 50
MAX_LINES = 200
MAGIC = b"SQLite format 3\0"
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
# Tables about the database itself.
_INTERNAL_TABLES = re.compile("migration|version|meta|setting|config", re.IGNORECASE)


def has_message(path: Path, profile: Profile, conversation: str) -> bool:
    """Tell whether the file has a message: without one it is no conversation. A half-written last
    line does not count."""
    if profile.query is not None:
        return bool(_rows(path, profile.query, (conversation,)))
    if profile.message is None:
        return _size(path) > 0 and _may_hold_message(path)
    return holds(path, profile.message)


def holds(path: Path, pattern: re.Pattern[str]) -> bool:
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            return any(pattern.search(line) and line.endswith("\n") for line in lines)
    except OSError:
        return False


def first_match(path: Path, pattern: re.Pattern[str], group: str) -> str | None:
    """Return the group from the first line that matches."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            match = next(
                (m for line in islice(lines, MAX_LINES) if (m := pattern.search(line))), None
            )
    except OSError:
        return None
    return match[group] if match else None


def same_folder(quoted: str, cwd: str) -> bool:
    try:
        folder = json.loads(f'"{quoted}"')
    except ValueError:
        return False
    return os.path.realpath(str(folder)) == os.path.realpath(cwd)


def written_since(path: Path, started: float) -> bool:
    """Tell whether it was written since, and is a regular file: opening a pipe would block."""
    try:
        status = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_mtime >= started


def first_column(path: Path, query: str, parameters: Mapping[str, object]) -> list[str]:
    """Return the first column of the query's rows."""
    return [str(row[0]) for row in _rows(path, query, parameters)]


def _may_hold_message(path: Path) -> bool:
    """Tell whether a file of unknown format can hold a message: a database with only empty tables
    cannot."""
    if not _is_database(path):
        return True
    tables = [str(name) for (name,) in _rows(path, TABLES, ())]
    quoted = (name.replace('"', '""') for name in tables if not _INTERNAL_TABLES.search(name))
    return any(_rows(path, f'SELECT 1 FROM "{name}" LIMIT 1', ()) for name in quoted)  # noqa: S608 - its own names


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _rows(
    path: Path, query: str, parameters: Mapping[str, object] | tuple[str, ...]
) -> list[tuple[object, ...]]:
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=PATIENCE_S)
        ) as database:
            return database.execute(query, parameters).fetchmany(MAX_ROWS)
    except sqlite3.Error:
        return []


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


GUESS = "sole-candidate"
NONE = Conversation(id=None, source=None, path=None, exists=False)
MAX_CANDIDATES = 100_000


@frozen
class AgentProcess:
    id: ProcessId
    argv: tuple[str, ...]
    started_epoch: float


@frozen
class Clues:
    """Everything that may reveal the conversation of one agent."""

    agents: tuple[AgentProcess, ...] = ()
    open_files: tuple[str, ...] = ()
    cwd: str | None = None
    store: Path | None = None
    banner: str | None = None  # the screen after the agent left
    launched: str | None = None
    hooked: str | None = None
    rivals: Callable[[], bool] = lambda: False  # does another agent of its kind run in its folder?
    since: float | None = None  # the start of an agent that is gone, from its row


@frozen
class Located:
    conversation: Conversation
    candidates: tuple[str, ...] = ()


def locate(profile: Profile, clues: Clues) -> Located:
    """Return the answer of the most trusted locator that has one."""
    for locator in sorted(profile.locators, key=lambda it: LOCATORS.index(it.kind)):
        words = dict.fromkeys(_FIND[locator.kind](profile, locator, clues))
        ids = tuple(word for word in words if is_id(profile, word))
        if not ids:
            continue
        if len(ids) > 1 or (locator.kind == GUESS and clues.rivals()):
            return Located(NONE, ids)
        return Located(with_path(profile, clues.store, ids[0], locator.kind))
    return Located(NONE)


def wrote_nothing(profile: Profile, clues: Clues) -> bool:
    """Tell whether these agents certainly have no conversation on disk: nothing in the store is as
    young as they are."""
    if profile.candidates is not None or not clues.agents:
        return False
    started = min(agent.started_epoch for agent in clues.agents)
    paths = _all_artifacts(profile, clues.store)
    return paths is not None and not any(written_since(path, started) for path in paths)


def _all_artifacts(profile: Profile, store: Path | None) -> list[Path] | None:
    """Return the artifacts of all conversations; None if that is not known, or they are too many to
    read."""
    if store is None or profile.artifact is None:
        return None
    names = _matching(store, re.sub(r"\{id8?\}", "*", profile.artifact))
    paths = [store / name for name in islice(names, MAX_CANDIDATES)]
    return paths if len(paths) < MAX_CANDIDATES else None


def more_trusted(before: Conversation, after: Conversation) -> Conversation:
    """Return the more trusted of two results; an ID is never replaced by none."""
    if after.id is None:
        return before
    if before.id is None or _rank(after) <= _rank(before):
        return after
    return before


def with_path(
    profile: Profile, store: Path | None, conversation: str, source: str | None
) -> Conversation:
    """Return the conversation with its path; it exists if it has at least one message."""
    for path in artifacts(profile, store, conversation):
        if has_message(path, profile, conversation):
            return Conversation(conversation, source, str(path), exists=True)
    return Conversation(conversation, source, None, exists=False)


def artifacts(profile: Profile, store: Path | None, conversation: str) -> list[Path]:
    if store is None or profile.artifact is None or not is_id(profile, conversation):
        return []
    names = _matching(store, with_id(profile.artifact, conversation))
    paths = [store / name for name in names if os.path.isfile(store / name)]  # noqa: PTH113
    # A file named by the ID's first letters contains the whole ID.
    if "{id}" in profile.artifact or profile.query or profile.is_per_folder:
        return paths
    return [path for path in paths if holds(path, re.compile(re.escape(conversation)))]


def with_id(pattern: str, conversation: str) -> str:
    """Return the pattern of a path with this ID in it."""
    named = {"{id}": conversation, "{id8}": conversation[:8]}
    return re.sub(r"\{id8?\}", lambda found: glob.escape(named[found[0]]), pattern)


def _matching(store: Path, pattern: str) -> Iterator[str]:
    return glob.iglob(pattern, root_dir=store)  # noqa: PTH207 - Path.glob before 3.12 fails on unreadable folders


def is_id(profile: Profile, text: str) -> bool:
    safe = not any(sign in text for sign in "/\0*?[") and text not in ("", ".", "..")
    return safe and re.fullmatch(profile.id_pattern, text) is not None


def parked_session(profile: Profile, clues: Clues) -> str | None:
    """Return the session in the background that the agent's own pid file names as the one with its
    conversation."""
    return pid_file_word(profile, clues.store, (agent.id for agent in clues.agents), "parked")


def _rank(conversation: Conversation) -> int:
    source = conversation.source
    if source in LOCATORS:
        return LOCATORS.index(source)
    return len(LOCATORS)


def _pidfile(profile: Profile, locator: Locator, clues: Clues) -> Iterator[str]:
    for entry in pid_files(locator, clues.store, (agent.id for agent in clues.agents)):
        yield str(entry.get(str(locator.settings.get("id", "id")), ""))


def _open_file(profile: Profile, locator: Locator, clues: Clues) -> Iterator[str]:
    pattern = _with_id(profile, str(locator.settings["path"]))
    return (match["id"] for path in clues.open_files if (match := pattern.search(path)))


def _exit_banner(profile: Profile, locator: Locator, clues: Clues) -> list[str]:
    """Return the ID in the last banner: an earlier banner is of an earlier run in the pane."""
    pattern = _with_id(profile, str(locator.settings["pattern"]))
    ids = [match["id"] for match in pattern.finditer(clues.banner or "")]
    return ids[-1:]


def _argv(profile: Profile, locator: Locator, clues: Clues) -> Iterator[str]:
    flags = locator.settings.get("flags")
    for agent in clues.agents:
        for flag in flags if isinstance(flags, list) else []:
            yield from _flag_values(agent.argv, str(flag))


def _flag_values(argv: tuple[str, ...], flag: str) -> Iterator[str]:
    for place, word in enumerate(argv):
        if word == flag:
            yield from argv[place + 1 : place + 2]
        elif word.startswith(flag + "="):
            yield word.removeprefix(flag + "=")


def _sole_candidate(profile: Profile, locator: Locator, clues: Clues) -> list[str]:
    """Return the IDs of artifacts written since the agent's start and held in its folder: only a
    single one counts."""
    started = min((agent.started_epoch for agent in clues.agents), default=clues.since)
    if clues.store is None or profile.artifact is None or started is None:
        return []
    if profile.candidates is not None:
        parameters = {"folder": os.path.realpath(clues.cwd or "/"), "since_ms": int(started * 1000)}
        database = clues.store / profile.artifact
        return first_column(database, profile.candidates, parameters)
    # Of too many, any of the unread ones could be it.
    paths = _all_artifacts(profile, clues.store) or []
    young = [path for path in paths if written_since(path, started)]
    fresh = [path for path in young if _is_of_folder(path, profile, clues.cwd)]
    return [found for path in fresh if (found := _id_of(path, profile))]


def _id_of(path: Path, profile: Profile) -> str | None:
    """Return the ID in an artifact's name; if the name has only its first letters, the ID in the
    first lines."""
    match = re.search(profile.id_pattern, path.name)
    if match is not None or profile.identity is None:
        return match.group(0) if match else None
    return first_match(path, profile.identity, "id")


def _is_of_folder(path: Path, profile: Profile, cwd: str | None) -> bool:
    """Tell whether the conversation was held in this folder, by its content: folders' names collide
    when they are turned into file names."""
    if profile.folder is None or cwd is None:
        return profile.folder is None
    if profile.folder_file is None:
        source = path
    else:
        source = path.parent / profile.folder_file
    folder = first_match(source, profile.folder, "folder")
    return folder is not None and same_folder(folder, cwd)


def _with_id(profile: Profile, pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("{id}", profile.id_pattern))


_FIND: dict[str, Callable[[Profile, Locator, Clues], Iterable[str]]] = {
    "hook": lambda profile, locator, clues: filter(None, [clues.hooked]),
    "pidfile": _pidfile,
    "open-file": _open_file,
    "exit-banner": _exit_banner,
    "launch": lambda profile, locator, clues: filter(None, [clues.launched]),
    "argv": _argv,
    "sole-candidate": _sole_candidate,
}
