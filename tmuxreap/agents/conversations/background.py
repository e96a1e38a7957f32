"""Finds what continues a conversation after its agent left the pane, and under which ID: some
agents have a shared program in the background, which is spared. Reads the agent's store, and
changes nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

from tmuxreap.agents.conversations.find import is_id, with_path
from tmuxreap.agents.conversations.records import is_turn_open, last_match, read_json, tail
from tmuxreap.agents.profiles import GoesOn, Profile
from tmuxreap.core.model import Process, ProcessId
from tmuxreap.core.ports import Processes
from tmuxreap.core.results import Conversation
from tmuxreap.core.values import frozen, replace

WORDS_SHOWN = 60
ZOMBIE = "Z"


class Bond(Enum):
    """What a session in the background has to do with a conversation."""

    SAME = "same"  # it is in this conversation
    COPY = "copy"  # it took a copy of it
    CHILD = "child"  # it was launched from it, and is in another one


@frozen
class Lingering:
    where: str
    end: str
    attach: str = ""
    bond: Bond = Bond.SAME
    conversation: str = ""  # its own one, if it is another

    @property
    def warning(self) -> str:
        if self.bond is Bond.CHILD:
            return f"children_running: it launched {self.where}, still running; {self.way_out}"
        if self.bond is Bond.COPY:
            copy = f"a copy of it goes on as {self.conversation} in {self.where}"
            return f"conversation_forked: {copy}; {self.way_out}"
        return f"goes_on: the conversation goes on in {self.where}; {self.way_out}"

    @property
    def way_out(self) -> str:
        """Return the commands that reach it."""
        if self.attach:
            attach = f"attach to it with: {self.attach}; "
        else:
            attach = ""
        return f"{attach}end it with: {self.end}"


@frozen
class Forked:
    """A conversation that its agent continued under another ID."""

    before: str
    after: str
    is_on_disk: bool  # whether the new one can be resumed
    jobs: tuple[Lingering, ...] = ()  # the sessions in the background that are in it now

    def warning(self, whose: str = "its") -> str:
        said = f"conversation_forked: {whose} agent continued {self.before} as {self.after}"
        if self.is_on_disk:
            said += f", which counts from now on; {self.before} lacks what was said since"
        else:
            said += ", which is not on disk yet: nothing can be resumed while that one lives"
        return "; ".join((said, *(f"it runs in {job.where}; {job.way_out}" for job in self.jobs)))


def follow(
    profile: Profile,
    store: Path | None,
    conversation: Conversation,
    processes: Processes,
    parked: str | None = None,
) -> tuple[Conversation, Forked | None]:
    """Follow a conversation that its agent continued under another ID, as far as that is on disk.
    `parked`: the session in the background that the agent's own pid file names."""
    goes_on = profile.goes_on
    first = conversation.id
    seen = {conversation.id}
    if goes_on is None or store is None or first is None:
        return conversation, None
    while (after := _moved_to(profile, goes_on, store, conversation, parked)) not in (None, *seen):
        assert after is not None  # noqa: S101 - for mypy
        seen.add(after)
        jobs = tuple(sessions_in(goes_on, store, after, processes))
        found = with_path(profile, store, after, conversation.source)
        if found.exists:
            conversation = found
        elif jobs:
            return conversation, Forked(first, after, is_on_disk=False, jobs=jobs)
        else:
            break  # nothing was ever said in it, and nobody is in it
    if conversation.id in (None, first):
        return conversation, None
    jobs = tuple(sessions_in(goes_on, store, conversation.id, processes))
    return conversation, Forked(first, conversation.id, is_on_disk=True, jobs=jobs)


def _moved_to(
    profile: Profile,
    goes_on: GoesOn,
    store: Path,
    conversation: Conversation,
    parked: str | None,
) -> str | None:
    """Return the ID under which the agent says that it continued this conversation: in its file,
    unless a message follows, or in the roster, for the entry that its pid file names."""
    after = None
    if goes_on.moved is not None and conversation.path is not None:
        text = tail(Path(conversation.path))
        last = max(goes_on.moved.finditer(text), key=lambda match: match.start(), default=None)
        if last is not None and last_match(profile.message, text) < last.start():
            after = last["id"]
    if after is None and parked is not None and goes_on.id and goes_on.source:
        entry = _entries(goes_on, store).get(parked)
        if isinstance(entry, dict) and str(conversation.id) in _at(entry, goes_on.source):
            after = _at(entry, goes_on.id)
    if after is not None and is_id(profile, after):
        return after
    return None


def sessions_in(
    goes_on: GoesOn, store: Path, conversation: str, processes: Processes
) -> list[Lingering]:
    """Return the living sessions in the background that are in this conversation themselves."""
    found = _in_roster(goes_on, store, conversation, processes)
    return [session for session in found if session.bond is Bond.SAME]


def lingering(
    profile: Profile, goes_on: GoesOn, store: Path, conversation: Conversation, processes: Processes
) -> list[Lingering]:
    """Return what continues the conversation or a copy of it, or was launched from it."""
    result = launched_sessions(goes_on, store, conversation, processes)
    if (
        goes_on.began is not None
        and conversation.path
        and is_turn_open(goes_on, Path(conversation.path))
    ):
        holder = _holder(profile, conversation.path, processes)
        if holder is not None:
            result.append(_lingering_in(goes_on, holder.comm, holder.pid, conversation.id, ""))
    if goes_on.mark is not None and conversation.id is not None:
        result += _started_processes(goes_on.mark, conversation.id, processes)
    return result


def _started_processes(mark: str, conversation: str, processes: Processes) -> Iterator[Lingering]:
    """Yield the processes that the conversation started under a shared program: the root of each
    tree."""
    marked = {
        pid: process
        for pid, process in processes.look().items()
        if (processes.environ(process.id) or {}).get(mark) == conversation
    }
    for pid, process in marked.items():
        if process.ppid not in marked and process.state != ZOMBIE:
            words = " ".join(processes.argv(process.id)) or process.comm
            yield Lingering(f"`{words[:WORDS_SHOWN]}` ({pid})", f"kill {pid}")


def launched_sessions(
    goes_on: GoesOn, store: Path, conversation: Conversation, processes: Processes
) -> list[Lingering]:
    """Return the living sessions in the background that are in the conversation, took a copy of it,
    or were launched from it."""
    if conversation.id:
        return [*_in_roster(goes_on, store, conversation.id, processes)]
    return []


def _in_roster(
    goes_on: GoesOn, store: Path, conversation: str, processes: Processes
) -> Iterator[Lingering]:
    """Yield the entries of the agent's roster about the conversation, if their processes live."""
    for name, entry in _entries(goes_on, store).items():
        bond = None
        if isinstance(entry, dict):
            bond = _bond(goes_on, entry, conversation)
        process = None
        if bond is not None:
            process = _entry_process(goes_on, entry, processes)
        if process is not None and bond is not None:
            where = f"the background session {name}"
            found = _lingering_in(goes_on, where, process.pid, conversation, name)
            own = _at(entry, goes_on.id or "")
            if bond is Bond.SAME:
                yield found
            else:
                yield replace(found, bond=bond, conversation=own)


def session_of(
    goes_on: GoesOn, store: Path, process: Process, processes: Processes
) -> Lingering | None:
    """Return the session in the background that a process serves: as its entry says, or the one
    above it, which holds its terminal."""
    for name, entry in _entries(goes_on, store).items():
        listed = None
        if isinstance(entry, dict):
            listed = _entry_process(goes_on, entry, processes)
        if listed is not None and listed.pid in (process.pid, process.ppid):
            where = f"the background session {name}"
            return _lingering_in(goes_on, where, listed.pid, _at(entry, goes_on.id or ""), name)
    return None


def _entries(goes_on: GoesOn, store: Path) -> Mapping[str, Any]:
    listed = None
    if goes_on.roster:
        listed = read_json(store / goes_on.roster)
    entries = None
    if isinstance(listed, dict):
        entries = listed.get(goes_on.entries)
    return entries if isinstance(entries, dict) else {}


def _bond(goes_on: GoesOn, entry: Mapping[str, object], conversation: str) -> Bond | None:
    if goes_on.id is None:
        if conversation in json.dumps(entry):
            return Bond.SAME
        return None
    if _at(entry, goes_on.id) == conversation:
        return Bond.SAME
    if goes_on.source is not None and conversation in _at(entry, goes_on.source):
        return Bond.COPY
    launched = any(conversation in _at(entry, key) for key in goes_on.parents)
    return Bond.CHILD if launched else None


def _at(entry: Mapping[str, object], key: str) -> str:
    """Return the word under a key with dots between levels; empty if there is none."""
    value: object = entry
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def _entry_process(
    goes_on: GoesOn, entry: Mapping[str, object], processes: Processes
) -> ProcessId | None:
    pid = entry.get(goes_on.pid)
    process = None
    if isinstance(pid, int) and pid > 1:
        process = processes.identify(pid)
    if process is None or str(process.start) != str(entry.get(goes_on.started)):
        return None
    return process


def _holder(profile: Profile, path: str, processes: Processes) -> Process | None:
    """Return the agent's shared program that has the conversation open."""
    for process in processes.look().values():
        argv = processes.argv(process.id)
        if profile.shares(argv, process.comm, None) and path in processes.open_files(process.id):
            return process
    return None


def _lingering_in(
    goes_on: GoesOn, where: str, pid: int, conversation: str | None, entry: str
) -> Lingering:
    named = {"{entry}": entry, "{id}": conversation or ""}
    filled = partial(re.sub, r"\{entry\}|\{id\}", lambda found: named[found[0]])
    return Lingering(f"{where} ({pid})", filled(goes_on.end), filled(goes_on.attach))
