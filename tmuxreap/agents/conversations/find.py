"""Which conversation is this agent in, and is it on disk? Owner of the agents' stores, which it
only reads.

An ID is hostile input until it has the form that the profile names: it becomes part of a path."""

from __future__ import annotations

import glob
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from tmuxreap.agents.conversations import databases
from tmuxreap.agents.profiles import LOCATORS, Locator, Profile
from tmuxreap.core.model import Conversation, ProcessId
from tmuxreap.core.values import frozen

GUESS = "sole-candidate"
NONE = Conversation(id=None, source=None, path=None, exists=False)
CANDIDATES_LOOKED_AT = 100_000
LINES_LOOKED_AT = 200


@frozen
class AgentProcess:
    id: ProcessId
    argv: tuple[str, ...]
    started_epoch: float


@frozen
class Clues:
    """All that may tell the conversation of one agent."""

    agents: tuple[AgentProcess, ...] = ()
    open_files: tuple[str, ...] = ()
    cwd: str | None = None
    store: Path | None = None
    banner: str | None = None  # the screen after the agent left
    launched: str | None = None
    hooked: str | None = None
    rivals: Callable[[], bool] = lambda: (
        False
    )  # does another agent of this kind run in this folder?
    since: float | None = None  # of one that is gone: when it was started, as far as its row tells


@frozen
class Located:
    conversation: Conversation
    candidates: tuple[str, ...] = ()


def store_of(
    profile: Profile, environ: Mapping[str, str] | None, recorded: str | None, home: Path | None
) -> Path | None:
    """The agent's store, from its own environment; else as it was recorded; else where it lies by
    default."""
    given = (environ or {}).get(profile.store_variable or "")
    if given:
        return Path(given, profile.store_under)
    if environ is None and recorded:
        return Path(recorded)
    agent_home = (environ or {}).get("HOME") or (str(home) if home else "")
    default = profile.store_default
    if default is None or (default.startswith("~") and not agent_home):
        return None
    return Path(default.replace("~", agent_home, 1) if default.startswith("~") else default)


def locate(profile: Profile, clues: Clues) -> Located:
    """The most trusted word on the conversation that there is."""
    for locator in sorted(profile.locators, key=lambda one: LOCATORS.index(one.kind)):
        found = tuple(
            dict.fromkeys(
                one for one in _FIND[locator.kind](profile, locator, clues) if is_id(profile, one)
            )
        )
        if not found:
            continue
        if len(found) > 1 or (locator.kind == GUESS and clues.rivals()):
            return Located(NONE, found)
        return Located(checked(profile, clues.store, found[0], locator.kind))
    return Located(NONE)


def wrote_nothing(profile: Profile, clues: Clues) -> bool:
    """Tell for certain that these agents have no conversation on disk: nothing in the store is as
    young as they are."""
    if (
        clues.store is None
        or profile.artifact is None
        or profile.candidates is not None
        or not clues.agents
    ):
        return False
    started = min(agent.started_epoch for agent in clues.agents)
    names = list(
        islice(
            _matching(clues.store, re.sub(r"\{id8?\}", "*", profile.artifact)), CANDIDATES_LOOKED_AT
        )
    )
    young = any(_written_since(clues.store / name, started) for name in names)
    return len(names) < CANDIDATES_LOOKED_AT and not young


def better(before: Conversation, after: Conversation) -> Conversation:
    """Of two looks the more trusted one; a good ID is never replaced by nothing."""
    if after.id is None:
        return before
    if before.id is None or _rank(after) <= _rank(before):
        return after
    return before


def checked(
    profile: Profile, store: Path | None, conversation: str, source: str | None
) -> Conversation:
    """The conversation with its place on disk; it exists when one message at least is in it."""
    for path in artifacts(profile, store, conversation):
        if _has_message(path, profile, conversation):
            return Conversation(conversation, source, str(path), exists=True)
    return Conversation(conversation, source, None, exists=False)


def artifacts(profile: Profile, store: Path | None, conversation: str) -> list[Path]:
    if store is None or profile.artifact is None or not is_id(profile, conversation):
        return []
    named = {
        "{id}": conversation,
        "{id8}": conversation[:8],
    }  # one that is named by its beginning holds the whole ID
    pattern = re.sub(r"\{id8?\}", lambda found: glob.escape(named[found[0]]), profile.artifact)
    paths = [store / name for name in _matching(store, pattern) if os.path.isfile(store / name)]  # noqa: PTH113
    if "{id}" in profile.artifact or profile.query or profile.of_a_folder:
        return paths
    return [path for path in paths if _holds(path, re.compile(re.escape(conversation)))]


def _matching(store: Path, pattern: str) -> Iterator[str]:
    return glob.iglob(pattern, root_dir=store)  # noqa: PTH207 - Path.glob before 3.12 fails on unreadable folders


def is_id(profile: Profile, text: str) -> bool:
    safe = not any(sign in text for sign in "/\0*?[") and text not in ("", ".", "..")
    return safe and re.fullmatch(profile.id_pattern, text) is not None


def agent_word(profile: Profile, clues: Clues) -> str | None:
    """What the agent itself says of its state, where it gives a word."""
    for locator in profile.locators:
        if locator.kind == "pidfile" and "state" in locator.settings:
            for entry in _pid_files(locator, clues):
                word = entry.get(str(locator.settings["state"]))
                return str(word) if word is not None else None
    return None


def _rank(conversation: Conversation) -> int:
    source = conversation.source
    return LOCATORS.index(source) if source in LOCATORS else len(LOCATORS)


def _has_message(path: Path, profile: Profile, conversation: str) -> bool:
    """A file without one message is no conversation; a half-written last line does not matter."""
    if profile.query is not None:
        return databases.finds(path, profile.query, conversation)
    if profile.message is None:
        return _size(path) > 0 and databases.says_something(path)
    return _holds(path, profile.message)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _holds(path: Path, pattern: re.Pattern[str]) -> bool:
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            return any(pattern.search(line) and line.endswith("\n") for line in lines)
    except OSError:
        return False


def _hook(profile: Profile, locator: Locator, clues: Clues) -> Iterable[str]:
    return [clues.hooked] if clues.hooked else []


def _launch(profile: Profile, locator: Locator, clues: Clues) -> Iterable[str]:
    return [clues.launched] if clues.launched else []


def _pidfile(profile: Profile, locator: Locator, clues: Clues) -> Iterator[str]:
    for entry in _pid_files(locator, clues):
        yield str(entry.get(str(locator.settings.get("id", "id")), ""))


def _pid_files(locator: Locator, clues: Clues) -> Iterator[Mapping[str, object]]:
    """The files that the agent's processes keep of themselves; one left by another process with
    that pid is none."""
    if clues.store is None:
        return
    for agent in clues.agents:
        path = clues.store / str(locator.settings["path"]).replace("{pid}", str(agent.id.pid))
        entry = read_json(path)
        started = locator.settings.get("started")
        if not isinstance(entry, dict) or (
            started and not _same_start(entry.get(str(started)), agent.id)
        ):
            continue
        yield entry


def read_json(path: Path) -> object:
    """None when it is no regular file, cannot be read, or is half-written."""
    try:
        return json.loads(path.read_text("utf-8")) if os.path.isfile(path) else None  # noqa: PTH113
    except (OSError, ValueError, RecursionError):
        return None


def _same_start(value: object, process: ProcessId) -> bool:
    """Ticks since boot, alone or behind the boot's ID."""
    return str(value).rsplit(":", 1)[-1].strip() == str(process.start)


def _open_file(profile: Profile, locator: Locator, clues: Clues) -> Iterator[str]:
    pattern = _with_id(profile, str(locator.settings["path"]))
    return (found["id"] for path in clues.open_files if (found := pattern.search(path)))


def _exit_banner(profile: Profile, locator: Locator, clues: Clues) -> list[str]:
    """The last banner on the screen: an earlier one is of an earlier run in the same pane."""
    pattern = _with_id(profile, str(locator.settings["pattern"]))
    found = [match["id"] for match in pattern.finditer(clues.banner or "")]
    return found[-1:]


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
    """Exactly one artifact in this folder could be it: written since the agent started, and of its
    folder."""
    started = min((agent.started_epoch for agent in clues.agents), default=clues.since)
    if clues.store is None or profile.artifact is None or started is None:
        return []
    if profile.candidates is not None:
        asked = {"folder": os.path.realpath(clues.cwd or "/"), "since_ms": int(started * 1000)}
        return databases.answers(clues.store / profile.artifact, profile.candidates, asked)
    names = list(
        islice(
            _matching(clues.store, re.sub(r"\{id8?\}", "*", profile.artifact)), CANDIDATES_LOOKED_AT
        )
    )
    if len(names) == CANDIDATES_LOOKED_AT:
        return []  # of what was not looked at any could be it
    paths = (clues.store / name for name in names)
    fresh = [
        path
        for path in paths
        if _written_since(path, started) and _of_folder(path, profile, clues.cwd)
    ]
    return [found for path in fresh if (found := _id_of(path, profile))]


def _id_of(path: Path, profile: Profile) -> str | None:
    """By its name; one that is named by the beginning of its ID says the whole of it in its first
    lines."""
    found = re.search(profile.id_pattern, path.name)
    if found is not None or profile.identity is None:
        return found.group(0) if found else None
    return _first(path, profile.identity, "id")


def _written_since(path: Path, started: float) -> bool:
    """And a regular file: who opened a pipe would wait for ever."""
    try:
        looked = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(looked.st_mode) and looked.st_mtime >= started


def _of_folder(path: Path, profile: Profile, cwd: str | None) -> bool:
    """Names of folders collide when they are turned into keys: the conversation itself says where
    it was held."""
    if profile.folder is None or cwd is None:
        return profile.folder is None
    told = path if profile.folder_file is None else path.parent / profile.folder_file
    found = _first(told, profile.folder, "folder")
    return found is not None and _same_folder(found, cwd)


def _first(path: Path, pattern: re.Pattern[str], group: str) -> str | None:
    """What the first of its lines that has it says."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            found = next(
                (m for line in islice(lines, LINES_LOOKED_AT) if (m := pattern.search(line))), None
            )
    except OSError:
        return None
    return found[group] if found else None


def _same_folder(quoted: str, cwd: str) -> bool:
    try:
        folder = json.loads(f'"{quoted}"')
    except ValueError:
        return False
    return os.path.realpath(str(folder)) == os.path.realpath(cwd)


def _with_id(profile: Profile, pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("{id}", profile.id_pattern))


_FIND: dict[str, Callable[[Profile, Locator, Clues], Iterable[str]]] = {
    "hook": _hook,
    "pidfile": _pidfile,
    "open-file": _open_file,
    "exit-banner": _exit_banner,
    "launch": _launch,
    "argv": _argv,
    "sole-candidate": _sole_candidate,
}
