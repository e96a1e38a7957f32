"""Takes one look at the world: tmux servers, processes and the traces they carry, for `see` to
judge.

Reads and never acts; what could not be read counts as unknown."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tmuxreap.core.model import Process, ProcessId, RecordedTmux, Server, ServerLook, ServerSession
from tmuxreap.core.ports import Processes, Tmux
from tmuxreap.core.values import frozen, replace
from tmuxreap.proof.ownership import (
    EVERYTHING,
    NO_TRACE,
    TMUX_SERVER,
    Index,
    Names,
    Sought,
    Trace,
    World,
    by_identity,
    by_name,
    candidate_pids,
    panes_of,
    places_of,
)
from tmuxreap.system.whereabouts import tmux_server_of

if TYPE_CHECKING:
    from tmuxreap.agents.conversations.background import Lists

PTS = "/dev/pts/"
PTS_MAJOR = 136
INIT = 1  # the parent of orphans
KERNEL = 2  # the parent of kernel threads
HOPS = 8
BY_PANES = 1 << 62  # later than any process: only the panes tell how far back to read


@frozen
class Place:
    """Where this program runs."""

    host: str
    boot_id: str
    pid: int

    def identity_of(self, server: Server, session: ServerSession) -> RecordedTmux:
        """Return the present identity of a session here, by which its row is recognized."""
        return RecordedTmux(
            socket=server.socket,
            host=self.host,
            boot_id=self.boot_id,
            server_pid=server.pid,
            server_started=server.started,
            session_id=session.id,
            session_created=session.created,
        )


class Observer:
    """Looks at the world; reads the trace of each process once a look."""

    def __init__(
        self, tmux: Tmux, processes: Processes, place: Place, home: Path | None = None
    ) -> None:
        """`home`: the user's, with the stores of agents."""
        self._home = home
        self._tmux = tmux
        self._processes = processes
        self._place = place
        self.latest: World | None = None
        self._outside = False

    def hide_self(self) -> None:
        """Hide this process from its own looks: the finisher is not part of the session that it
        ends, though it may be a child of it."""
        self._outside = True

    def look(
        self,
        sockets: Iterable[str],
        since: int,
        known: Mapping[str, ServerLook] | None = None,
        *,
        wanted: Sought = EVERYTHING,
    ) -> World:
        """Take one look. `since`: of processes that started before it, and before every pane of a
        wanted session, no trace is read. `known`: servers that need not be asked. `wanted`: the
        sessions that it is for."""
        asked = self._processes.moment()
        servers = {**(known or {}), **self._ask_servers(sockets)}
        panes = panes_of(servers.values())
        leaders = set()
        for _, it, pane in panes:
            if wanted.matches(it):
                leaders.add(pane.pid or 0)
        processes, traces = self._processes_and_traces(since, leaders)
        # After the processes: a pid reused in between then means a listed process that is dead.
        self._add_scopes(traces, processes, leaders, wanted.scopes)
        return self._world(servers, processes, Index.of(processes, traces), {}, wanted, asked)

    def look_for_output(
        self,
        sockets: Iterable[str],
        since: int,
        expected: Mapping[int, str],
        *,
        wanted: Sought = EVERYTHING,
    ) -> World:
        """Take one look that nothing is ended by. Traces are read only of processes without a
        terminal, of the `expected` pids where no pane on their socket has them, and then of the
        panes that may be meant instead."""
        asked = self._processes.moment()
        answers = self._ask_in_background(sockets)
        processes = self._list_processes()
        names = {pid: self._names(processes[pid]) for pid in wanted.pids & processes.keys()}
        servers = answers()
        listed = set()
        for server, _, pane in panes_of(servers.values()):
            listed.add((server.socket, pane.pid))
        missing = set()
        for pid, socket in expected.items():
            if (socket, pid) not in listed:
                missing.add(pid)
        for socket in {expected[pid] for pid in missing}:
            missing.update(_leaders_meant_instead(servers[socket], expected, wanted))
        recent = _started_since(processes, since)
        traces = {}
        for p in recent:
            if not p.tty or p.pid in missing:
                traces[p.pid] = self._trace(p)
        return self._world(servers, processes, Index.of(processes, traces), names, wanted, asked)

    def _world(
        self,
        servers: Mapping[str, ServerLook],
        processes: Mapping[int, Process],
        index: Index,
        names: Mapping[int, Names],
        wanted: Sought,
        asked: float,
    ) -> World:
        """Put together what was read. `names`: those that are known already. `asked`: the moment
        before tmux was asked. A terminal that was made since may be another of its number."""
        servers = {socket: _with_dead_panes(it, processes) for socket, it in servers.items()}
        ttys = {}
        for _, _, pane in panes_of(servers.values()):
            made_since = self._processes.is_newer(pane.tty, asked)
            ttys[pane.tty] = 0 if made_since else terminal_number(pane.tty)
        paths = {socket: canonical(socket) for socket in servers}
        named = candidate_pids(index, servers, ttys, paths, wanted) & processes.keys()
        # A server's copy that has not executed its pane's program yet is known by their names.
        above = {processes[pid].ppid for pid in named if processes[pid].comm == TMUX_SERVER}
        named |= above & processes.keys()
        tracked = wanted.identified_by_start & processes.keys()
        epochs = {pid: self._processes.started_epoch(processes[pid].id) for pid in tracked}
        self.latest = World(
            host=self._place.host,
            boot_id=self._place.boot_id,
            servers=servers,
            sessions=by_identity(servers),
            sessions_by_name=by_name(servers),
            index=index,
            names={pid: names.get(pid) or self._names(processes[pid]) for pid in named},
            epochs=epochs,
            ttys=ttys,
            paths=paths,
            protected=ancestors(self._place.pid, processes),
            unregistered=wanted.unregistered,
            places={socket: places_of(server, ttys) for socket, server in servers.items()},
            lists=cache(self._lists),
            read_names=self._names,
        )
        return self.latest

    def _lists(self) -> Lists:
        from tmuxreap.agents.conversations.background import Lists  # late: few rows need it

        return Lists(self._processes, self._home)

    def _ask_servers(self, sockets: Iterable[str]) -> dict[str, ServerLook]:
        return {socket: self._tmux.look(socket) for socket in dict.fromkeys(sockets)}

    def _ask_in_background(self, sockets: Iterable[str]) -> Callable[[], dict[str, ServerLook]]:
        """Ask tmux in a thread while the processes are read: both take equally long. For output
        only; an ending reads the processes after tmux has listed its panes."""
        from threading import Thread

        servers: dict[str, ServerLook] = {}
        asking = Thread(target=lambda: servers.update(self._ask_servers(sockets)), daemon=True)
        asking.start()

        def answers() -> dict[str, ServerLook]:
            asking.join()
            return servers

        return answers

    def _list_processes(self) -> dict[int, Process]:
        processes = dict(self._processes.look())
        if self._outside:
            processes.pop(self._place.pid, None)
        return processes

    def _processes_and_traces(
        self, since: int, leaders: Collection[int]
    ) -> tuple[dict[int, Process], dict[int, Trace]]:
        """Return all processes, and the traces of the young ones. An orphan that exited before it
        was read may have a child that is not listed yet: then all are listed again."""
        known: dict[ProcessId, Trace] = {}
        for _ in range(HOPS):
            processes = self._list_processes()
            oldest = min([since, *(processes[pid].id.start for pid in leaders if pid in processes)])
            fresh = [it for it in _started_since(processes, oldest) if it.id not in known]
            known.update((it.id, self._trace(it)) for it in fresh)
            if not any(self._exited_unread(it, known[it.id], processes) for it in fresh):
                break
        return processes, {pid: known[it.id] for pid, it in processes.items() if it.id in known}

    def _exited_unread(
        self, process: Process, trace: Trace, processes: Mapping[int, Process]
    ) -> bool:
        orphan = process.ppid <= INIT or process.ppid not in processes
        return orphan and trace == NO_TRACE and self._processes.refresh(process.id) is None

    def _add_scopes(
        self,
        traces: dict[int, Trace],
        processes: Mapping[int, Process],
        leaders: Collection[int],
        known: frozenset[str],
    ) -> None:
        ids = [processes[pid].id for pid in leaders if pid in processes]
        scopes = set()
        for leader in ids:
            if scope := self._processes.scope(leader):
                scopes.add(scope)
        for scope in scopes | known:
            for pid in processes.keys() & self._processes.members(scope):
                traces[pid] = replace(traces.get(pid, NO_TRACE), scope=scope)

    def _names(self, process: Process) -> Names:
        """Read the names again at each look: after an exec the same process has another name."""
        return Names(*self._processes.argv_and_executable(process.id))

    def _trace(self, process: Process) -> Trace:
        environ = self._processes.tmux_variables(process.id)
        trace = _trace_of(environ)
        if trace.mark is not None or trace.tmux is not None:
            return trace
        # During an exec, or with a cleared environment, only the descriptors are left as evidence.
        return Trace(terminals=self._terminals(process))

    def _terminals(self, process: Process) -> frozenset[str]:
        return frozenset(self._processes.open_files(process.id, PTS))


def _started_since(processes: Mapping[int, Process], since: int) -> list[Process]:
    found: list[Process] = []
    for p in processes.values():
        if p.id.start >= since and KERNEL not in (p.ppid, p.pid):
            found.append(p)
    return found


def _with_dead_panes(server: ServerLook, processes: Mapping[int, Process]) -> ServerLook:
    """Return the server with those panes dead whose pid another process had when processes were
    listed. tmux itself forks the program of a pane, so one with another parent is not its own."""
    if not isinstance(server, Server) or not server.pid:
        return server
    reused = set()
    for _, _, pane in panes_of([server]):
        process = processes.get(pane.pid or 0)
        if process is not None and process.ppid != server.pid and not pane.dead:
            reused.add(pane.id)
    if not reused:
        return server
    sessions = []
    for session in server.sessions:
        panes = tuple([replace(it, dead=it.dead or it.id in reused) for it in session.panes])
        sessions.append(replace(session, panes=panes))
    return replace(server, sessions=tuple(sessions))


def _leaders_meant_instead(
    server: ServerLook, expected: Mapping[int, str], wanted: Sought
) -> Iterator[int]:
    """Yield the leaders of wanted sessions that have none of the expected pids."""
    for session in server.sessions if isinstance(server, Server) else ():
        pids = {pane.pid or 0 for pane in session.panes}
        if wanted.matches(session) and pids.isdisjoint(expected):
            yield from pids


@lru_cache(maxsize=256)
def canonical(socket: str) -> str:
    """Return the canonical path of a socket: the panes know it by the path that their server was
    started with."""
    return os.path.realpath(socket)


def ancestors(pid: int, processes: Mapping[int, Process]) -> frozenset[int]:
    """Return a process and its ancestors."""
    chain: list[int] = []
    while pid in processes and pid not in chain:
        chain.append(pid)
        pid = processes[pid].ppid
    return frozenset(chain)


def terminal_number(path: str) -> int:
    """Return the device number of a terminal in the form of /proc/PID/stat; 0 when unknown."""
    name = path.removeprefix(PTS)
    if name != path and name.isdigit():
        return _device(PTS_MAJOR, int(name))
    try:
        device = os.stat(path).st_rdev  # noqa: PTH116 - pathlib is not worth its import during a stop
    except OSError:
        return 0
    return _device(os.major(device), os.minor(device))


def terminal_path(number: int) -> str | None:
    """Return the path of the pseudo-terminal with this device number; None for another device."""
    if (number >> 8) & 0xFFF != PTS_MAJOR:
        return None
    minor = (number & 0xFF) | ((number >> 12) & 0xFFF00)
    return f"{PTS}{minor}"


def _device(major: int, minor: int) -> int:
    return (minor & 0xFF) | (major << 8) | ((minor & ~0xFF) << 12)


def _trace_of(environ: Mapping[str, str]) -> Trace:
    socket, server = tmux_server_of(environ)
    tmux = None
    if socket and server.isdigit():
        tmux = f"{canonical(socket)},{server}"
    session = environ.get("TMUX", "").rpartition(",")[2]
    return Trace(
        mark=environ.get("TMUXREAP_ID") or None,
        tmux=tmux,
        pane=environ.get("TMUX_PANE") or None,
        registry=environ.get("TMUXREAP_REGISTRY") or None,
        session=f"${session}" if session.isdigit() else None,
    )
