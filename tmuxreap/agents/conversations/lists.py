"""Reads the list that an agent keeps of the sessions that its own daemon runs, as its profile says:
a file in its store, or what its server answers. What it reads is hostile until it is checked: an ID
against its pattern, a process by its start. Never starts or ends anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tmuxreap.agents.conversations.find import is_id
from tmuxreap.agents.conversations.jobs import ID, NO_JOBS, Entry, Job, Jobs, value_at, word_at
from tmuxreap.agents.conversations.records import read_json
from tmuxreap.agents.profiles import Background, Profile
from tmuxreap.core.model import ProcessId
from tmuxreap.core.ports import Processes


def read_jobs(profile: Profile, store: Path | None, processes: Processes) -> Jobs:
    """Read the list of one store."""
    background = profile.background
    if background is None or store is None:
        return NO_JOBS
    if background.server is not None:
        if not (store / background.place).exists():
            return NO_JOBS
        from tmuxreap.agents.conversations.servers import read_served  # late: few agents have one

        return read_served(profile, background, store, processes)
    path = store / background.file
    listed = read_json(path)
    if not isinstance(listed, dict):
        return Jobs(is_known=not path.exists())
    entries = listed.get(background.entries)
    if not isinstance(entries, dict):
        return Jobs(is_known=False)
    found = tuple(_jobs(profile, background, store, entries, processes))
    return Jobs(found, daemon=_daemon(profile, background, listed, processes))


def _jobs(
    profile: Profile, background: Background, store: Path, entries: Entry, processes: Processes
) -> Iterator[Job]:
    for number, entry in entries.items():
        if not isinstance(entry, dict) or not background.id.fullmatch(str(number)):
            continue
        if any(word_at(entry, key) == word for key, word in background.unused.items()):
            continue
        yield Job(
            agent=profile.name,
            store=store,
            id=number,
            holder=_process(entry, background.pid, background.started, processes),
            process=_process(entry, background.agent_pid, background.agent_started, processes),
            conversation=_conversation(profile, background, entry),
            source=word_at(entry, background.source),
            parents=tuple(word_at(entry, key) for key in background.parents),
            words=json.dumps(entry),
            folder=word_at(entry, background.folder) or None,
            flags=_flags(entry, background.flags),
            ended=_has_ended(background, store, number),
            begun=type(entry.get(background.pid)) is int,
        )


def _conversation(profile: Profile, background: Background, entry: Entry) -> str | None:
    found = word_at(entry, background.conversation)
    if found and is_id(profile, found):
        return found
    return None


def _flags(entry: Entry, key: str | None) -> tuple[str, ...]:
    words = value_at(entry, key)
    if not isinstance(words, list):
        return ()
    return tuple(word for word in words if isinstance(word, str))


def _process(
    entry: Entry, pid_key: str | None, start_key: str | None, processes: Processes
) -> ProcessId | None:
    """Return the process that an entry names, if that one lives: its pid may be reused."""
    pid = entry.get(pid_key or "")
    process = _identified(pid, processes)
    if process is None or str(process.start) != str(entry.get(start_key or "")):
        return None
    return process


def _identified(pid: object, processes: Processes) -> ProcessId | None:
    if type(pid) is not int or pid <= 1:
        return None
    return processes.identify(pid)


def _has_ended(background: Background, store: Path, number: str) -> bool:
    if background.state_file is None:
        return False
    said = read_json(store / background.state_file.replace(ID, number))
    return isinstance(said, dict) and said.get(background.state) in background.ended


def _daemon(
    profile: Profile, background: Background, listed: Entry, processes: Processes
) -> int | None:
    """Return the daemon that the list names, if a shared program of the agent has that pid."""
    pid = listed.get(background.daemon or "")
    process = _identified(pid, processes)
    if process is None:
        return None
    if profile.shares(processes.argv(process), "", None):
        return process.pid
    return None
