"""Finds the evidence of a row's session in one look: its panes, their leaders, terminals and marks;
the processes tied to it by them; and whether nothing of it can be left. Never does I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tmuxreap.agents.programs import Spare, Spares, program_names
from tmuxreap.core.model import (
    NoServer,
    Process,
    ProcessId,
    Row,
    Server,
    ServerLook,
    ServerSession,
    Terminal,
)
from tmuxreap.proof.identity import is_reused, same_server, tracked_process
from tmuxreap.proof.observe import terminal_path
from tmuxreap.proof.ownership import TMUX_SERVER, Owned, Reach, Trace, World, is_its_own, owned
from tmuxreap.proof.panes import leader_of
from tmuxreap.proof.sight import Past
from tmuxreap.system.tmux.versions import CHANGED


def reach_of(
    row: Row,
    server: ServerLook,
    session: ServerSession | None,
    world: World,
    past: Past,
    *,
    foreign_seen: bool = False,
) -> Reach:
    """Return what is known of a row's session in tmux, by its panes, the row, and earlier looks.
    `foreign_seen`: other panes carry its mark, too, which is then no evidence."""
    panes = session.panes if session else ()
    alive = [pane for pane in panes if not pane.dead]
    if past.first and past.first.session:
        planned = past.first.session.panes
    else:
        planned = ()
    leaders = {leader.id for pane in alive if (leader := leader_of(pane, world))} | past.leaders
    traces = _traces_of(leaders, world)
    if row.tmux.known and row.pane.id:
        before = [row.pane.id]
    else:
        before = []
    server_pid = _server_pid(row, server, world, past)
    tmux = None
    if server_pid:
        tmux = world.tmux_variable(server.socket, server_pid)
    if session is None and past.pane is not None and not row.tmux.known:
        # Another tool's row names neither server nor pane: an earlier look saw both.
        tmux = past.pane.tmux
        before.append(past.pane.pane)
    ids = {pane.id for pane in panes}
    starts = {leader.pid: leader.start for leader in leaders}
    oldest = min(starts.values(), default=0)
    terminals = {}
    for pane in alive:
        if world.tty_of(pane):
            terminals[pane.tty] = starts.get(pane.pid or 0, oldest)
    # A terminal's number may be reused once its pane is gone: only descriptors of the deleted one
    # count.
    for pane in planned:
        if pane.id not in ids:
            terminals[f"{pane.tty} (deleted)"] = starts.get(pane.pid or 0, oldest)
    if past.pane_only or past.foreign_seen or foreign_seen:
        mark = None
    else:
        mark = past.mark or _mark_of(traces)
    return Reach(
        tmux=tmux,
        panes=frozenset([*ids, *(pane.id for pane in planned), *before]),
        leaders=frozenset([*leaders, *recorded_leader(row, world)]),
        ttys=frozenset([tty for pane in alive if (tty := world.tty_of(pane))]),
        terminals=terminals,
        mark=(mark),
        remembered=past.remembered,
        registry=past.registry,
        scopes=past.scopes.union(trace.scope for trace in traces if trace.scope),
        own_panes=frozenset([*before, *_first_pane(past)]),
    )


def _first_pane(past: Past) -> list[str]:
    if past.first and past.first.pane:
        return [past.first.pane.id]
    return []


def headless_reach(leader: Process | None, past: Past) -> Reach:
    """Return the evidence of a session without tmux: its process, and our mark."""
    # On a terminal that it did not open, the shell and other processes belong to the user.
    own_terminal = leader is not None and leader.pid == leader.sid
    if leader and leader.tty and own_terminal:
        ttys = frozenset({leader.tty})
    else:
        ttys = frozenset()
    if leader and own_terminal:
        terminals = _terminal_of(leader)
    else:
        terminals = {}
    return Reach(
        tmux=None,
        panes=frozenset(),
        leaders=frozenset({leader.id}) if leader else frozenset(),
        ttys=ttys,
        terminals=terminals,
        mark=past.mark,
        remembered=past.remembered,
        registry=past.registry,
    )


def job_reach(own: frozenset[ProcessId], past: Past) -> Reach:
    """Return the evidence of a session that a daemon runs: its processes, as the agent's list and
    earlier looks tell them."""
    nothing: frozenset[str] = frozenset()
    return Reach(None, nothing, own, frozenset(), {}, None, past.remembered)


def _server_pid(row: Row, server: ServerLook, world: World, past: Past) -> int | None:
    """Return the pid of the server that the session was on, or None if that is not certain: a new
    server on the socket counts panes from %0 again, and may even have the same pid after a boot."""
    first = past.first.server if past.first else server
    if not row.tmux.known:
        if isinstance(first, Server):
            return first.pid or None
        return None
    again = isinstance(server, Server) and server.pid == row.tmux.server_pid
    if not row.tmux.of_boot(world.boot_id) or (again and not same_server(row, server, world)):
        return None
    return row.tmux.server_pid


def recorded_leader(row: Row, world: World) -> set[ProcessId]:
    """Return the recorded leader of the pane: it belongs to the session as long as it lives, with
    or without the pane. Other tools record its start in seconds."""
    if row.pane.pid is None or row.pane.start_ticks is None or row.tmux.boot_id != world.boot_id:
        tracked = tracked_process(row, world)
        return {tracked.id} if tracked is not None else set()
    leader = ProcessId(row.pane.pid, row.pane.start_ticks)
    if row.status.ended and world.index.living(leader) is None:
        return set()  # nothing was left: a kernel session of that number is a new one
    return {leader}


def _mark_of(traces: Iterable[Trace]) -> str | None:
    """Return the session's own mark, from the environment of its panes' leaders."""
    marks = {trace.mark for trace in traces if trace.mark}
    return marks.pop() if len(marks) == 1 else None


def _traces_of(leaders: Iterable[ProcessId], world: World) -> list[Trace]:
    """Return the traces of leaders that are alive; the pid of a dead one may be reused."""
    index = world.index
    found: list[Trace] = []
    for leader in leaders:
        if leader.pid in index.traces and index.living(leader):
            found.append(index.traces[leader.pid])
    return found


def _terminal_of(leader: Process) -> dict[str, int]:
    """Return the path of the terminal that the process leads, from its device number, with its
    start."""
    path = terminal_path(leader.tty)
    if path is None:
        return {}
    return {path: leader.id.start}


def belongings_of(
    server: ServerLook, session: ServerSession | None, reach: Reach, spares: Spares, world: World
) -> Owned:
    """Return the session's processes. A process in a pane of another session belongs to that one,
    whatever evidence ties it to this one."""
    if session:
        own_ids = {pane.id for pane in session.panes}
    else:
        own_ids = set()
    server_name = None
    if isinstance(server, Server):
        server_name = world.tmux_variable(server.socket, server.pid)
    spare = spare_reason(spares, world)
    places = world.places_on(server)

    def started_in(process: Process) -> str | None:
        """Return the pane that the process was started in. It is inherited evidence, which does not
        outweigh what is the session's own."""
        trace = world.index.trace(process.pid)
        if trace.pane is None or not trace.tmux == server_name == reach.tmux:
            return None
        if is_its_own(world.index, reach, process):
            return None
        return trace.pane

    def reason(process: Process) -> str | None:
        pane = places.of(process, started_in(process))
        another = pane is not None and pane not in own_ids
        if another:
            return f"in the pane {pane} of another"
        return spare(process)

    found = owned(world.index, reach, reason)
    private = _private(found, reach, spares, world)
    if not private:
        return found
    return owned(world.index, reach, lambda it: None if it.pid in private else reason(it))


def _private(found: Owned, reach: Reach, spares: Spares, world: World) -> frozenset[int]:
    """Return the spared servers of the agent's kind that are proven to be this session's alone:
    started by it, or known as its own, and with nobody else connected."""
    own = {it.process.pid for it in found.own}
    mine: set[int] = set()
    for process in (it.process for it in found.spared):
        match = _match(spares, process, world)
        started = process.ppid in own or process.id in reach.remembered
        if match is None or not match.private or not started or spares.clients is None:
            continue
        clients = spares.clients(process.id)
        if clients is not None and own | {process.pid} >= set(clients):
            mine.add(process.pid)
    return frozenset(mine)


def _match(spares: Spares, process: Process, world: World) -> Spare | None:
    names = world.surely_names_of(process)
    called = program_names(names.argv[:1], process.comm, names.executable)
    return spares.matching(called, names.argv)


def unproven_of(
    row: Row, server: ServerLook, own: Owned, spares: Spares, world: World, past: Past
) -> tuple[Process, ...]:
    """Return what only another tool's row names of a session that is gone: no look ever saw it, and
    the row has no start of it. It is named, and never signalled, as its pid may be reused."""
    before = []
    for one in sorted(past.unproven):
        if process := world.index.living(one):
            before.append(process)
    has_start = row.pane.start_ticks is not None or row.pane.created_epoch is not None
    named: list[Process] = []
    unknown = not (has_start or row.status.ended or is_reused(row, world, past))
    if row.pane.pid is not None and unknown:
        named = _left_by_gone_pane(row.pane.pid, server, spares, world)
    return tuple(
        process for process in dict.fromkeys([*before, *named]) if process.id not in own.ids
    )


def _left_by_gone_pane(
    leader: int, server: ServerLook, spares: Spares, world: World
) -> list[Process]:
    """Return the living processes of this kernel session, and others of their pane, if they say
    that they were started in a pane of this server that is gone, or has another program now. In a
    living pane the pid is reused."""
    index = world.index
    for pid in (leader, *index.by_session.get(leader, ())):
        process = index.processes.get(pid)
        trace = index.trace(pid)
        if process is None or trace.pane is None:
            continue
        known = frozenset({process.id} if pid == leader else ())
        if not _names_gone_pane(trace, server, world):
            if pid == leader or not _was_put_out(process, server, world):
                continue
            known = frozenset({ProcessId(leader, 0)})  # it is dead, and its start not known
        panes = frozenset({trace.pane})
        reach = Reach(trace.tmux, panes, known, frozenset(), {}, None, frozenset())
        return [one.process for one in belongings_of(server, None, reach, spares, world).own]
    return []


def _names_gone_pane(trace: Trace, server: ServerLook, world: World) -> bool:
    socket, _, pid = (trace.tmux or "").rpartition(",")
    if socket != world.paths[server.socket]:
        return False
    same = isinstance(server, Server) and pid == str(server.pid)
    return not (same and trace.pane in world.places_on(server).living)


def _was_put_out(process: Process, server: ServerLook, world: World) -> bool:
    """Tell whether another program was started in its pane (respawn-pane) while it lived on. The
    kernel gives nobody the pid of its dead leader as long as it lives."""
    in_pane = world.places_on(server).of(process, None)
    return in_pane is None and process.sid not in world.index.processes


def spare_reason(spares: Spares, world: World) -> Callable[[Process], str | None]:
    def reason(process: Process) -> str | None:
        if process.comm == TMUX_SERVER:
            if _is_being_started(process, world):
                return None
            return "a tmux server"
        match = _match(spares, process, world)
        if match is None:
            return None
        if match.private:
            return f"a server of {match.program}, perhaps not of this session alone"
        return f"a shared {match.program}"

    return reason


def _is_being_started(process: Process, world: World) -> bool:
    """Tell whether it is the program of a new pane: until it is executed, it is a copy of its tmux
    server. A server that a pane runs in the foreground has a command line of its own."""
    server = world.index.processes.get(process.ppid)
    if server is None or server.comm != TMUX_SERVER:
        return False
    argv = world.names_of(process).argv
    if not argv or argv == world.names_of(server).argv:
        return bool(argv)
    # Executed since the processes were listed, unless it is a tmux.
    return not any(name.startswith("tmux") for name in program_names(argv[:1], "", None))


def is_certainly_gone(row: Row, server: ServerLook, world: World, past: Past) -> bool:
    """Tell whether nothing alive could be evidence of this row: true for nearly all of ten thousand
    rows, which then need no closer look."""
    if row.pane.pid in world.index.processes or row.terminal is not Terminal.TMUX:
        return False
    if row.tmux.host not in (None, world.host):
        return False
    if not row.status.ended and not _matches_nothing_else(row, world, past):
        return False
    return _not_listed(row, server, world) and _nothing_left(row, server, world, past)


def _matches_nothing_else(row: Row, world: World, past: Past) -> bool:
    """Tell whether a running row can match nothing else: no other spelling, and no unread mark."""
    marked = past.mark is None and row.tmux.known and world.index.by_mark
    return not marked and CHANGED.isdisjoint(row.name)


def _not_listed(row: Row, server: ServerLook, world: World) -> bool:
    """Tell whether tmux lists nothing under any name or id of the row."""
    if isinstance(server, Server):
        recorded = server.socket, row.tmux.session_id, row.tmux.session_created
        return not (
            server.unread
            or world.session_named(server, row.name)
            or recorded in world.sessions
            or row.pane.id in world.places_on(server).ids
        )
    return isinstance(server, NoServer)


def _nothing_left(row: Row, server: ServerLook, world: World, past: Past) -> bool:
    index = world.index
    pid = row.pane.pid
    pane = row.pane.id
    if past.first or past.leaders or past.mark in index.by_mark:
        return False
    if any(map(index.living, past.remembered)):
        return False
    if pid in index.children or pid in index.by_session:
        return False
    if pane is None:
        return True
    return (world.tmux_variable(server.socket, row.tmux.server_pid), pane) not in index.by_pane
