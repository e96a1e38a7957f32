"""Decides which processes belong to a session, in one look at the world: the union of all evidence,
and the counter-evidence. Never does I/O.

A process belongs to a session by: the child tree of a pane, the kernel session of a pane's leader,
the controlling terminal, our mark or tmux's own variables in its environment, an open descriptor on
a pane's terminal, the control group that tmux made for a pane, or because an earlier look found it
to belong. It is spared if it is a tmux server, a shared daemon, or a descendant of one. Inherited
evidence (environment, descriptors, control group) does not count for a process on another terminal
or in another tmux."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from tmuxreap.core.model import Pane, Process, ProcessId, Server, ServerLook, ServerSession
from tmuxreap.core.values import field, frozen

if TYPE_CHECKING:
    from tmuxreap.agents.conversations.background import Lists

TMUX_SERVER = "tmux: server"
INHERITED = ("mark", "environment", "descriptor", "scope")  # inherited evidence, the weakest
# Programs that hold other terminals: what runs on those is in the same control group.
TERMINAL_HOLDERS = frozenset({TMUX_SERVER, "screen", "zellij", "dtach", "abduco"})


@frozen
class Trace:
    """What a process carries from the place in which it was started."""

    mark: str | None = None
    tmux: str | None = None  # "socket,server pid" of its TMUX
    pane: str | None = None
    terminals: frozenset[str] = frozenset()  # /dev/pts/N behind its descriptors
    registry: str | None = None  # the registry that the mark is from
    scope: str | None = None  # the control group of a pane
    session: str | None = None  # the ID of the session that its pane was made in

    @property
    def is_evidence(self) -> bool:
        """Whether it could be evidence at all."""
        return bool(self.mark or self.pane or self.terminals or self.scope)


NO_TRACE = Trace()


@frozen
class Reach:
    """What is known of one session, to find its processes."""

    tmux: str | None  # "socket,server pid"
    panes: frozenset[str]
    leaders: frozenset[ProcessId]
    ttys: frozenset[int]  # device numbers, only of live panes, since numbers are reused
    # Paths, each with the start of its pane's program: what is older means one that had the number
    # before, and is closed.
    terminals: Mapping[str, int]
    mark: str | None
    remembered: frozenset[ProcessId]
    registry: str | None = None  # if only the ledger knows the mark: it counts for this registry
    scopes: frozenset[str] = frozenset()
    own_panes: frozenset[str] = frozenset()  # the agent's own pane, recorded and first seen


@frozen
class Belonging:
    process: Process
    why: str


@frozen
class Owned:
    """The processes of one session at one look."""

    own: tuple[Belonging, ...] = ()
    spared: tuple[Belonging, ...] = ()

    @property
    def strays(self) -> tuple[Process, ...]:
        """The processes outside its terminals and its tree: the user may not expect them to be part
        of it."""
        pids = {belonging.process.pid for belonging in self.own}
        carried = (belonging.process for belonging in self.own if belonging.why in INHERITED)
        return tuple(process for process in carried if process.ppid not in pids)

    @property
    def ids(self) -> frozenset[ProcessId]:
        return frozenset(belonging.process.id for belonging in self.own)


@frozen
class Index:
    """All processes of one look, by each kind of evidence; built once for all sessions."""

    processes: Mapping[int, Process]
    traces: Mapping[int, Trace]
    children: Mapping[int, list[int]]
    by_session: Mapping[int, list[int]]
    by_tty: Mapping[int, list[int]]
    by_mark: Mapping[str, list[int]]
    by_pane: Mapping[tuple[str, str], list[int]]
    by_terminal: Mapping[str, list[int]]
    by_scope: Mapping[str, list[int]]

    def trace(self, pid: int) -> Trace:
        """Return the trace of a process, as far as it was read."""
        return self.traces.get(pid, NO_TRACE)

    def living(self, identity: ProcessId) -> Process | None:
        """Return the process with this identity, if it is alive."""
        process = self.processes.get(identity.pid)
        if process is not None and process.id == identity:
            return process
        return None

    @classmethod
    def of(cls, processes: Mapping[int, Process], traces: Mapping[int, Trace]) -> Index:
        children = defaultdict(list)
        by_session = defaultdict(list)
        by_tty = defaultdict(list)
        for pid, process in processes.items():
            children[process.ppid].append(pid)
            by_session[process.sid].append(pid)
            if process.tty:
                by_tty[process.tty].append(pid)
        by_mark = defaultdict(list)
        by_pane = defaultdict(list)
        by_scope = defaultdict(list)
        by_terminal = defaultdict(list)
        for pid, trace in traces.items():
            if trace.mark:
                by_mark[trace.mark].append(pid)
            if trace.tmux and trace.pane:
                by_pane[(trace.tmux, trace.pane)].append(pid)
            if trace.scope:
                by_scope[trace.scope].append(pid)
            for terminal in trace.terminals:
                by_terminal[terminal].append(pid)
        return cls(
            processes, traces, children, by_session, by_tty, by_mark, by_pane, by_terminal, by_scope
        )


SpareReason = Callable[[Process], str | None]


def owned(index: Index, reach: Reach, spare: SpareReason) -> Owned:
    """Find the processes of a session. `spare`: returns why a process must not be touched."""
    own: dict[int, str] = {}
    spared: dict[int, str] = {}

    def take(pids: Iterable[int], why: str) -> None:
        for pid in pids:
            if pid in own or pid in spared or pid <= 1:
                continue
            reason = spare(index.processes[pid])
            if reason is None:
                own[pid] = why
            else:
                _spare_tree(index, pid, reason, spared)

    for why, pids in _evidence(index, reach):
        if pids:
            take(pids, why)
    queue = list(own)
    for pid in queue:  # grows while children are found
        fresh = [child for child in index.children.get(pid, ()) if child not in own]
        take(fresh, "child")
        queue += [child for child in fresh if child in own]
    if spared:
        own = {pid: why for pid, why in own.items() if pid not in spared}
    return Owned(own=_belongings(index, own), spared=_belongings(index, spared))


def _evidence(index: Index, reach: Reach) -> Iterator[tuple[str, Iterable[int]]]:
    """Yield the evidence in order of strength; the first reason is the one that is shown."""
    yield "pane", _living(index, reach.leaders)
    for leader in reach.leaders:
        if _pid_not_reused(index, leader):
            yield "tree", index.children.get(leader.pid, ())
            yield "session", index.by_session.get(leader.pid, ())
    for tty in reach.ttys:
        yield "terminal", index.by_tty.get(tty, ())
    for why, pids in _inherited(index, reach):
        yield why, [pid for pid in pids if not _lives_elsewhere(index, reach, pid)]
    yield "seen before", _living(index, reach.remembered)


def _inherited(index: Index, reach: Reach) -> Iterator[tuple[str, Iterable[int]]]:
    """Yield the evidence that processes carry. Unrelated processes inherit it, too, so it counts
    only without counter-evidence."""
    if reach.mark:
        marked = index.by_mark.get(reach.mark, ())
        yield "mark", [pid for pid in marked if _marked_in_registry(index, reach, pid)]
    if reach.tmux:
        for pane in reach.panes:
            yield "environment", index.by_pane.get((reach.tmux, pane), ())
    for terminal, start in reach.terminals.items():
        pids = index.by_terminal.get(terminal, ())
        yield "descriptor", [pid for pid in pids if index.processes[pid].id.start >= start]
    for scope in reach.scopes:
        yield "scope", _scope_members(index, scope)


def _scope_members(index: Index, scope: str) -> Iterable[int]:
    """Return the members of a pane's control group; none if a server in it holds other panes."""
    members = index.by_scope.get(scope, ())
    shared = any(index.processes[pid].comm in TERMINAL_HOLDERS for pid in members)
    return () if shared else members


def _marked_in_registry(index: Index, reach: Reach, pid: int) -> bool:
    carried = index.trace(pid).registry
    return reach.registry is None or carried is None or carried == reach.registry


def _lives_elsewhere(index: Index, reach: Reach, pid: int) -> bool:
    """Tell whether the process lives on another terminal, or was started in another pane."""
    process = index.processes[pid]
    trace = index.trace(pid)
    if process.tty and process.tty not in reach.ttys:
        return True
    if trace.tmux is None or reach.tmux is None:
        return False
    return trace.tmux != reach.tmux or (trace.pane is not None and trace.pane not in reach.panes)


def is_its_own(index: Index, reach: Reach, process: Process) -> bool:
    """Tell whether the process is the session's by more than the pane that it was started in: it
    is in the kernel session of a leader, or it is of the agent's pane and was seen or marked as the
    session's. That pane may be in another session by now, even with another program in it."""
    if any(
        leader.pid == process.sid and _pid_not_reused(index, leader) for leader in reach.leaders
    ):
        return True
    trace = index.trace(process.pid)
    if trace.pane not in reach.own_panes:
        return False
    return process.id in reach.remembered or (reach.mark is not None and trace.mark == reach.mark)


def _pid_not_reused(index: Index, leader: ProcessId) -> bool:
    """Tell whether the leader's pid was not reused. The kernel does not reuse it while its session
    has members."""
    now = index.processes.get(leader.pid)
    return now is None or now.id == leader


def _living(index: Index, ids: Iterable[ProcessId]) -> Iterable[int]:
    if ids:
        return [process_id.pid for process_id in sorted(ids) if index.living(process_id)]
    return ()


def _spare_tree(index: Index, pid: int, reason: str, spared: dict[int, str]) -> None:
    spared[pid] = reason
    for child in index.children.get(pid, ()):
        if child not in spared:
            _spare_tree(index, child, f"below {index.processes[pid].comm} ({pid})", spared)


def _belongings(index: Index, reasons: Mapping[int, str]) -> tuple[Belonging, ...]:
    return tuple([Belonging(index.processes[pid], why) for pid, why in sorted(reasons.items())])


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
class Sought:
    """The sessions that a look is made for: names are read only of processes that may be theirs."""

    sessions: frozenset[str] = frozenset()  # ids and names
    pids: frozenset[int] = frozenset()
    identified_by_start: frozenset[int] = (
        frozenset()
    )  # pids that are identified by their start time
    scopes: frozenset[str] = frozenset()  # seen before: the pane's leader may be gone
    unregistered: bool = False  # include sessions without a row
    any_process: bool = False  # include processes without a session

    def matches(self, session: ServerSession) -> bool:
        return self.unregistered or not self.sessions.isdisjoint((session.id, session.name))


EVERYTHING = Sought(unregistered=True, any_process=True)

NAMELESS = Names((), None)


def no_lists() -> Lists:
    """Return no lists: of a look that was not asked for any."""
    raise LookupError


def nameless(_: Process) -> Names:
    """Return no names: of a look that reads none."""
    return NAMELESS


@frozen
class World:
    """One look: every process, the tmux servers that were asked, and the place of this program
    among them."""

    host: str
    boot_id: str
    servers: Mapping[str, ServerLook]
    sessions: Mapping[tuple[str, str, int], ServerSession]  # by socket, id and creation
    sessions_by_name: Mapping[tuple[str, str], ServerSession]  # by socket and name
    index: Index
    names: Mapping[int, Names]  # by pid, for processes that may belong to a wanted session
    epochs: Mapping[int, float]  # start times by pid, where processes are identified by them
    ttys: Mapping[str, int]  # the device numbers of the panes' terminals
    paths: Mapping[str, str]  # the canonical path of each server's socket
    protected: frozenset[int]  # this process and its ancestors; not the rows that `protect` keeps
    unregistered: bool  # whether sessions without a row were included
    places: Mapping[str, Places] = field(default_factory=dict)  # by socket
    lists: Callable[[], Lists] = no_lists  # of the agents' own daemons
    read_names: Callable[[Process], Names] = nameless

    def places_on(self, server: ServerLook) -> Places:
        return self.places.get(server.socket, NO_PLACES)

    def session_named(self, server: Server, name: str) -> ServerSession | None:
        return self.sessions_by_name.get((server.socket, name))

    def names_of(self, process: Process) -> Names:
        return self.names.get(process.pid, NAMELESS)

    def surely_names_of(self, process: Process) -> Names:
        """Return its names, also of a process that the look did not expect to belong to a session:
        whether it is spared is decided by them."""
        return self.names.get(process.pid) or self.read_names(process)

    def tty_of(self, pane: Pane) -> int:
        """Return the device number of the pane's terminal; 0 when unknown, or if that may be
        another's by now."""
        return self.ttys.get(pane.tty, 0)

    def tmux_variable(self, socket: str, server_pid: int | None) -> str:
        """Return how a server is named in the TMUX variable of the processes started in it."""
        return f"{self.paths[socket]},{server_pid}"


def panes_of(servers: Iterable[ServerLook]) -> Iterator[tuple[Server, ServerSession, Pane]]:
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
    wanted: Sought,
) -> set[int]:
    """Return the pids that may belong to a wanted session, by any evidence."""
    leaders = set(wanted.pids)
    terminals: set[int] = set()
    unwanted = set[tuple[str | None, str | None]]()
    for server, session, pane in panes_of(servers.values()):
        if wanted.matches(session):
            leaders.add(pane.pid or 0)
            terminals.add(ttys[pane.tty])
        else:
            unwanted.add((f"{paths[server.socket]},{server.pid}", pane.id))
    pids = [pid for pid in leaders if pid in index.processes]
    terminals |= {index.processes[pid].tty for pid in pids}
    for leader in leaders:
        pids += index.by_session.get(leader, ())
    for tty in terminals - {0}:
        pids += index.by_tty.get(tty, ())
    pids += (
        pid
        for pid, trace in index.traces.items()
        if wanted.any_process or (trace.is_evidence and (trace.tmux, trace.pane) not in unwanted)
    )
    return _with_children(index, pids)


def _with_children(index: Index, pids: Iterable[int]) -> set[int]:
    result: set[int] = set()
    queue = list(pids)
    for pid in queue:  # grows while children are found
        if pid not in result:
            result.add(pid)
            queue.extend(index.children.get(pid, ()))
    return result


def by_identity(servers: Mapping[str, ServerLook]) -> Mapping[tuple[str, str, int], ServerSession]:
    sessions: dict[tuple[str, str, int], ServerSession] = {}
    for socket, server in servers.items():
        if isinstance(server, Server):
            sessions.update(((socket, it.id, it.created), it) for it in server.sessions)
    return sessions


def by_name(servers: Mapping[str, ServerLook]) -> Mapping[tuple[str, str], ServerSession]:
    """Index the sessions by name: a look asks for those of thousands of rows."""
    sessions: dict[tuple[str, str], ServerSession] = {}
    for socket, server in servers.items():
        if isinstance(server, Server):
            sessions.update(((socket, it.name), it) for it in reversed(server.sessions))
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
