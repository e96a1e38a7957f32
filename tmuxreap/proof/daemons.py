"""Compares an agent's shared daemons with the file in which the one in use records itself: one that
another has replaced, and a record of one that is gone. Never ends a daemon, nor changes a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tmuxreap.agents.conversations.jobs import value_at
from tmuxreap.agents.conversations.records import folder_of, read_json, store_of
from tmuxreap.agents.profiles import OwnDaemon, Profile
from tmuxreap.core.model import Process, ProcessId
from tmuxreap.core.ports import Processes
from tmuxreap.core.values import frozen


@frozen
class Stale:
    """A record whose process is no daemon. `reused`: another process has its pid, and only its
    program says so."""

    path: Path
    pid: int
    reused: ProcessId | None = None


def record_path(
    profile: Profile, environ: Mapping[str, str] | None, recorded: str | None, home: Path | None
) -> Path | None:
    """Return the file in which the daemon of this store records itself."""
    daemon = profile.own_daemon
    if daemon is None:
        return None
    if daemon.folder is None:
        folder = store_of(profile, environ, recorded, home)
    else:
        folder = folder_of(daemon.folder, environ, home)
    if folder is None:
        return None
    return folder / daemon.file


def stale_record(daemon: OwnDaemon, path: Path, processes: Processes) -> Stale | None:
    """Return what is wrong with a record; None where it is right, or cannot be read."""
    record = read_json(path)
    pid = value_at(record, daemon.pid)
    if type(pid) is not int or pid <= 1:
        return None
    process = processes.identify(pid)
    started = value_at(record, daemon.started) if daemon.started else None
    if process is None or (started is not None and str(started) != str(process.start)):
        return Stale(path, pid)
    seen = processes.refresh(process)
    argv = processes.argv(process)
    if seen is None or not argv or daemon.is_run_by(argv, seen.comm):
        return None
    return Stale(path, pid, process)


def replaced_by(profile: Profile, process: Process, processes: Processes) -> ProcessId | None:
    """Return the daemon that is in use in place of this one: the younger one that the record of its
    own store names. One that began later may only wait for that to end."""
    daemon = profile.own_daemon
    if daemon is None or not daemon.is_run_by(processes.argv(process.id), process.comm):
        return None
    path = _own_record(profile, process.id, processes)
    if path is None or stale_record(daemon, path, processes) is not None:
        return None
    named = value_at(read_json(path), daemon.pid)
    if type(named) is not int or named == process.pid:
        return None
    other = processes.identify(named)
    if other is None or other.start <= process.id.start:
        return None
    if _own_record(profile, other, processes) != path:
        return None
    return other


def _own_record(profile: Profile, process: ProcessId, processes: Processes) -> Path | None:
    environ = processes.environ(process)
    if environ is None:
        return None
    return record_path(profile, environ, None, None)
