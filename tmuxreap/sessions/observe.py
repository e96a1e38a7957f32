"""The one look at the world: tmux servers, processes and what these carry, put together for
`sights` to judge.

It reads and never acts; what could not be read is said to be unknown."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from tmuxreap.core.model import Process, ProcessId, ServerLook
from tmuxreap.core.ports import Processes, Tmux
from tmuxreap.core.values import frozen, replace
from tmuxreap.sessions.ownership import NO_TRACE, Index, Trace
from tmuxreap.sessions.world import (
    ANYBODY,
    Names,
    Wanted,
    World,
    by_identity,
    concerned,
    panes_of,
    places_of,
)
from tmuxreap.system.whereabouts import tmux_server_of

PTS = "/dev/pts/"
PTS_MAJOR = 136
INIT, KERNEL = 1, 2  # the parents of orphans, and of the kernel's own threads
HOPS = 8


@frozen
class Place:
    """Where this program runs."""

    host: str
    boot_id: str
    pid: int


class Observer:
    """Looks, as often as it is asked to; what a process carries is read once a look."""

    def __init__(self, tmux: Tmux, processes: Processes, place: Place) -> None:
        self._tmux = tmux
        self._processes = processes
        self._place = place
        self.latest: World | None = None
        self._outside = False

    def stand_outside(self) -> None:
        """The finisher is no part of what it ends, though it may be a child of it: it does not see
        itself."""
        self._outside = True

    def look(
        self,
        sockets: Iterable[str],
        since: int,
        known: Mapping[str, ServerLook] | None = None,
        *,
        wanted: Wanted = ANYBODY,
        closely: Collection[int] | None = None,
    ) -> World:
        """`since`: no process that started before can be of interest beyond the tree of its pane.
        `known`: servers that need not be asked. `wanted`: for whom it
        is. `closely`: for who only looks, the pids of which it is read what they carry, though they
        have a terminal to tell them by."""
        asked = list(dict.fromkeys(sockets))
        if closely is None:
            servers = {**(known or {}), **self._ask(asked)}
            processes, traces = self._everybody(since)
            # After the processes: who has such a pid now was not seen before.
            self._add_scopes(traces, processes, servers, wanted)
            index, names = Index.of(processes, traces), {}
        else:
            answers = self._asked_meanwhile(asked)
            processes = self._all()
            young = _young(processes, since)
            traces = {p.pid: self._trace(p) for p in young if not p.tty or p.pid in closely}
            index = Index.of(processes, traces)
            names = {pid: self._names(processes[pid]) for pid in wanted.pids & processes.keys()}
            servers = answers()
        ttys = {pane.tty: terminal_number(pane.tty) for _, _, pane in panes_of(servers.values())}
        paths = {socket: canonical(socket) for socket in servers}
        named = concerned(index, servers, ttys, paths, wanted) & processes.keys()
        dated = wanted.dated & processes.keys()
        self.latest = World(
            host=self._place.host,
            boot_id=self._place.boot_id,
            servers=servers,
            sessions=by_identity(servers),
            index=index,
            names={pid: names.get(pid) or self._names(processes[pid]) for pid in named},
            epochs={pid: self._processes.started_epoch(processes[pid].id) for pid in dated},
            ttys=ttys,
            paths=paths,
            protected=callers(self._place.pid, processes),
            strangers=wanted.strangers,
            places={socket: places_of(server, ttys) for socket, server in servers.items()},
        )
        return self.latest

    def _ask(self, sockets: Iterable[str]) -> dict[str, ServerLook]:
        return {socket: self._tmux.look(socket) for socket in sockets}

    def _asked_meanwhile(self, sockets: Sequence[str]) -> Callable[[], dict[str, ServerLook]]:
        """tmux takes as long for a thousand panes as we take for their processes. For who only
        looks: before anything is done, the processes are read when tmux has told its panes."""
        from threading import Thread

        servers: dict[str, ServerLook] = {}
        asking = Thread(target=lambda: servers.update(self._ask(sockets)), daemon=True)
        asking.start()

        def answers() -> dict[str, ServerLook]:
            asking.join()
            return servers

        return answers

    def _all(self) -> dict[int, Process]:
        processes = dict(self._processes.look())
        if self._outside:
            processes.pop(self._place.pid, None)
        return processes

    def _everybody(self, since: int) -> tuple[dict[int, Process], dict[int, Trace]]:
        """All processes, and what the young ones carry. An orphan that was gone before it could be
        read may have left another one, who came too late to be listed: those are read again."""
        known: dict[ProcessId, Trace] = {}
        for _ in range(HOPS):
            processes = self._all()
            fresh = [one for one in _young(processes, since) if one.id not in known]
            known.update((one.id, self._trace(one)) for one in fresh)
            if not any(self._missed(one, known[one.id], processes) for one in fresh):
                break
        return processes, {pid: known[one.id] for pid, one in processes.items() if one.id in known}

    def _missed(self, one: Process, trace: Trace, processes: Mapping[int, Process]) -> bool:
        orphan = one.ppid <= INIT or one.ppid not in processes
        return orphan and trace == NO_TRACE and self._processes.again(one.id) is None

    def _add_scopes(
        self,
        traces: dict[int, Trace],
        processes: Mapping[int, Process],
        servers: Mapping[str, ServerLook],
        wanted: Wanted,
    ) -> None:
        meant = (pane.pid or 0 for _, one, pane in panes_of(servers.values()) if wanted.means(one))
        leaders = [processes[pid].id for pid in meant if pid in processes]
        told = {scope for leader in leaders if (scope := self._processes.scope(leader))}
        for scope in told | wanted.scopes:
            for pid in processes.keys() & self._processes.members(scope):
                traces[pid] = replace(traces.get(pid, NO_TRACE), scope=scope)

    def _names(self, process: Process) -> Names:
        """At each look anew: a program that another one was exec'd in place of is the same process
        under another name."""
        return Names(*self._processes.called(process.id))

    def _trace(self, process: Process) -> Trace:
        environ = self._processes.carried(process.id)
        trace = _carried(environ)
        if trace.mark is not None or trace.tmux is not None:
            return trace
        # An exec may have been under way, or the environment was cleared: its descriptors are what
        # is left.
        return Trace(terminals=self._terminals(process))

    def _terminals(self, process: Process) -> frozenset[str]:
        return frozenset(
            path for path in self._processes.open_files(process.id) if path.startswith(PTS)
        )


def _young(processes: Mapping[int, Process], since: int) -> list[Process]:
    return [p for p in processes.values() if p.id.start >= since and KERNEL not in (p.ppid, p.pid)]


@lru_cache(maxsize=256)
def canonical(socket: str) -> str:
    """One socket has many paths: the panes know it by the one that their server was started
    with."""
    return os.path.realpath(socket)


def callers(pid: int, processes: Mapping[int, Process]) -> frozenset[int]:
    """A process and all above it."""
    found: list[int] = []
    while pid in processes and pid not in found:
        found.append(pid)
        pid = processes[pid].ppid
    return frozenset(found)


def terminal_number(path: str) -> int:
    """The device number of a terminal as the kernel shows it in a process; 0 when it cannot be
    told."""
    name = path.removeprefix(PTS)
    if name != path and name.isdigit():
        return _device(PTS_MAJOR, int(name))
    try:
        device = os.stat(path).st_rdev  # noqa: PTH116 - pathlib is not worth its import on the way of a stop
    except OSError:
        return 0
    return _device(os.major(device), os.minor(device))


def _device(major: int, minor: int) -> int:
    return (minor & 0xFF) | (major << 8) | ((minor & ~0xFF) << 12)


def _carried(environ: Mapping[str, str]) -> Trace:
    socket, server = tmux_server_of(environ)
    return Trace(
        mark=environ.get("TMUXREAP_ID") or None,
        tmux=f"{canonical(socket)},{server}" if socket and server.isdigit() else None,
        pane=environ.get("TMUX_PANE") or None,
        registry=environ.get("TMUXREAP_REGISTRY") or None,
    )
