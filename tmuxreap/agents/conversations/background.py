"""Finds what continues a conversation after its agent left the pane: some agents have a shared
program in the background, which is spared. Reads the agent's store, and changes nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tmuxreap.agents.conversations.contents import read_json
from tmuxreap.agents.profiles import GoesOn, Profile
from tmuxreap.core.answers.base import Conversation
from tmuxreap.core.model import Process, ProcessId
from tmuxreap.core.ports import Processes
from tmuxreap.core.values import frozen

TAIL_BYTES = 1 << 20
WORDS_SHOWN = 60
ZOMBIE = "Z"


@frozen
class Lingering:
    where: str
    end: str


def lingering(
    profile: Profile, goes_on: GoesOn, store: Path, conversation: Conversation, processes: Processes
) -> list[Lingering]:
    result = [*_in_roster(goes_on, store, conversation, processes)]
    if (
        goes_on.began is not None
        and conversation.path
        and is_turn_open(goes_on, Path(conversation.path))
    ):
        holder = _holder(profile, conversation.path, processes)
        if holder is not None:
            result.append(_lingering_in(goes_on, holder.comm, holder.pid, conversation, ""))
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


def _in_roster(
    goes_on: GoesOn, store: Path, conversation: Conversation, processes: Processes
) -> Iterator[Lingering]:
    """Yield the entries of the agent's roster with the conversation, if their processes live."""
    listed = read_json(store / goes_on.roster) if goes_on.roster else None
    entries = listed.get(goes_on.entries) if isinstance(listed, dict) else None
    for name, entry in entries.items() if isinstance(entries, dict) else ():
        if isinstance(entry, dict) and conversation.id and conversation.id in json.dumps(entry):
            process = _entry_process(goes_on, entry, processes)
            if process is not None:
                where = f"the background session {name}"
                yield _lingering_in(goes_on, where, process.pid, conversation, name)


def _entry_process(
    goes_on: GoesOn, entry: Mapping[str, object], processes: Processes
) -> ProcessId | None:
    pid = entry.get(goes_on.pid)
    process = processes.identify(pid) if isinstance(pid, int) and pid > 1 else None
    if process is None or str(process.start) != str(entry.get(goes_on.started)):
        return None
    return process


def is_turn_open(goes_on: GoesOn, path: Path) -> bool:
    """Tell whether the last turn of the conversation began and did not end."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            text = file.read(TAIL_BYTES).decode("utf-8", "replace")
    except OSError:
        return False
    return _last(goes_on.began, text) > _last(goes_on.ended, text)


def _last(pattern: re.Pattern[str] | None, text: str) -> int:
    """Return where the pattern matches last; -1 if nowhere."""
    matches = pattern.finditer(text) if pattern else ()
    return max((match.start() for match in matches), default=-1)


def _holder(profile: Profile, path: str, processes: Processes) -> Process | None:
    """Return the agent's shared program that has the conversation open."""
    for process in processes.look().values():
        argv = processes.argv(process.id)
        if profile.shares(argv, process.comm, None) and path in processes.open_files(process.id):
            return process
    return None


def _lingering_in(
    goes_on: GoesOn, where: str, pid: int, conversation: Conversation, entry: str
) -> Lingering:
    end = goes_on.end.replace("{entry}", entry).replace("{id}", conversation.id or "")
    return Lingering(f"{where} ({pid})", end)
