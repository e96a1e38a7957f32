"""One look at the world, as plain data: gathered by `observe`, judged by `sight`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from tmuxreap.core.model import Pane, Process, Server, ServerLook, Session
from tmuxreap.core.values import field, frozen
from tmuxreap.sessions.ownership import Index


@frozen
class Names:
    """The command line and the executable of a process."""

    argv: tuple[str, ...]
    executable: str | None


@frozen
class Places:
    """Which pane each kernel session and each terminal of one tmux server belongs to."""

    ids: frozenset[str] = frozenset()
    living: frozenset[str] = frozenset()  # a dead pane that tmux keeps holds no process
    by_leader: Mapping[int, str] = field(default_factory=dict)
    by_tty: Mapping[int, str] = field(default_factory=dict)

    def of(self, process: Process, carried: str | None) -> str | None:
        pane = self.by_leader.get(process.sid) or self.by_tty.get(process.tty)
        return pane or (carried if carried in self.living else None)


NO_PLACES = Places()


@frozen
class Wanted:
    """The sessions that a look is made for: names are read only of processes that may be theirs."""

    sessions: frozenset[str] = frozenset()  # ids and names
    pids: frozenset[int] = frozenset()
    identified_by_start: frozenset[int] = (
        frozenset()
    )  # pids that are identified by their start time
    scopes: frozenset[str] = frozenset()  # seen before: the pane's leader may be gone
    unregistered: bool = False  # include sessions without a row
    any_process: bool = False  # include processes without a session

    def matches(self, session: Session) -> bool:
        return self.unregistered or not self.sessions.isdisjoint((session.id, session.name))


EVERYTHING = Wanted(unregistered=True, any_process=True)

NAMELESS = Names((), None)


@frozen
class World:
    """One look: every process, the tmux servers that were asked, and the place of this program
    among them."""

    host: str
    boot_id: str
    servers: Mapping[str, ServerLook]
    sessions: Mapping[tuple[str, str, int], Session]  # by socket, id and creation
    index: Index
    names: Mapping[int, Names]  # by pid, for processes that may belong to a wanted session
    epochs: Mapping[int, float]  # start times by pid, where processes are identified by them
    ttys: Mapping[str, int]  # the device numbers of the panes' terminals
    paths: Mapping[str, str]  # the canonical path of each server's socket
    protected: frozenset[int]  # this process and its ancestors
    unregistered: bool  # whether sessions without a row were included
    places: Mapping[str, Places] = field(default_factory=dict)  # by socket

    def places_on(self, server: ServerLook) -> Places:
        return self.places.get(server.socket, NO_PLACES)

    def names_of(self, process: Process) -> Names:
        return self.names.get(process.pid, NAMELESS)

    def tty_of(self, pane: Pane) -> int:
        """Return the device number of the pane's terminal; 0 when unknown."""
        return self.ttys.get(pane.tty, 0)

    def tmux_variable(self, socket: str, server_pid: int | None) -> str:
        """Return how a server is named in the TMUX variable of the processes started in it."""
        return f"{self.paths[socket]},{server_pid}"


def panes_of(servers: Iterable[ServerLook]) -> Iterator[tuple[Server, Session, Pane]]:
    for server in servers:
        if isinstance(server, Server):
            for session in server.sessions:
                for pane in session.panes:
                    yield server, session, pane


def candidate_pids(
    index: Index,
    servers: Mapping[str, ServerLook],
    ttys: Mapping[str, int],
    paths: Mapping[str, str],
    wanted: Wanted,
) -> set[int]:
    """Return the pids that may belong to a wanted session, by any evidence."""
    leaders, terminals = set(wanted.pids), set[int]()
    unwanted = set[tuple[str | None, str | None]]()
    for server, session, pane in panes_of(servers.values()):
        if wanted.matches(session):
            leaders.add(pane.pid or 0)
            terminals.add(ttys[pane.tty])
        else:
            unwanted.add((f"{paths[server.socket]},{server.pid}", pane.id))
    pids = [pid for pid in leaders if pid in index.processes]
    terminals |= {index.processes[pid].tty for pid in pids}
    pids += chain.from_iterable(index.by_session.get(leader, ()) for leader in leaders)
    pids += chain.from_iterable(index.by_tty.get(tty, ()) for tty in terminals - {0})
    pids += (
        pid
        for pid, trace in index.traces.items()
        if wanted.any_process or (trace.is_evidence and (trace.tmux, trace.pane) not in unwanted)
    )
    return _with_children(index, pids)


def _with_children(index: Index, pids: Iterable[int]) -> set[int]:
    result, queue = set[int](), list(pids)
    for pid in queue:  # grows while children are found
        if pid not in result:
            result.add(pid)
            queue.extend(index.children.get(pid, ()))
    return result


def by_identity(servers: Mapping[str, ServerLook]) -> Mapping[tuple[str, str, int], Session]:
    sessions: dict[tuple[str, str, int], Session] = {}
    for socket, server in servers.items():
        if isinstance(server, Server):
            sessions.update(((socket, it.id, it.created), it) for it in server.sessions)
    return sessions


def places_of(server: ServerLook, ttys: Mapping[str, int]) -> Places:
    panes = [pane for _, _, pane in panes_of([server])]
    alive = [pane for pane in panes if not pane.dead]
    return Places(
        ids=frozenset(pane.id for pane in panes),
        living=frozenset(pane.id for pane in alive),
        by_leader={pane.pid: pane.id for pane in alive if pane.pid},
        by_tty={tty: pane.id for pane in alive if (tty := ttys[pane.tty])},
    )
