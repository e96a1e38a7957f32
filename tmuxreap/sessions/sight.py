"""Judges one row by one look at the world: does its session exist, is it still the same, which
pane and which processes are the agent's. Never looks itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.programs import program_names
from tmuxreap.agents.spared import Spares
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import (
    Live,
    NoServer,
    Pane,
    Process,
    ProcessId,
    Row,
    Server,
    ServerLook,
    Session,
    Terminal,
)
from tmuxreap.core.values import field, frozen, replace
from tmuxreap.sessions.identity import (
    find_session,
    moved_failure,
    pick_pane,
    same_server,
    unreadable_failure,
    why_unknown,
)
from tmuxreap.sessions.nested import Carried, Nested, carried_in, nested_in
from tmuxreap.sessions.ownership import TMUX_SERVER, Owned, Reach, Trace, owned
from tmuxreap.sessions.panes import (
    agent_among,
    agent_in,
    leader_of,
    live_in,
    on_terminal,
)
from tmuxreap.sessions.siblings import (
    Known,
    conversations_of,
    holder_of,
    judge,
    own_panes,
    within,
)
from tmuxreap.sessions.world import Wanted, World
from tmuxreap.system.tmux.versions import CHANGED, spellings

SAME_START_S = 1.0
PTS_MAJOR = 136


@frozen
class Past:
    """What is remembered of a session from earlier looks and the ledger."""

    mark: str | None = None
    remembered: frozenset[ProcessId] = frozenset()
    first: Sight | None = None
    leaders: frozenset[ProcessId] = frozenset()
    pane_only: bool = False  # "session" then means only the agent's pane
    whole_session: bool = False  # the panes of the plan are ended, too, whatever runs in them
    struck: frozenset[str] = frozenset()  # panes whose ending has begun
    foreign_seen: bool = (
        False  # foreign panes were seen: the session's mark is no evidence any more
    )
    registry: str | None = None  # of the mark, if only the ledger knows it
    scopes: frozenset[str] = frozenset()  # of its panes, including panes that are gone


@frozen
class Sight:
    live: Live
    socket: str
    server: ServerLook
    session: Session | None = None  # only with the panes that an ending takes
    whole: Session | None = None  # with all its panes
    pane: Pane | None = None
    agent: tuple[Process, ...] = ()
    keyed: tuple[Process, ...] = ()  # the agent's processes that the pane's keys can reach
    owned: Owned = field(default_factory=Owned)
    foreign: tuple[Pane, ...] = ()
    reach: Reach | None = None
    contains_caller: bool = False  # the caller runs inside it
    trouble: Failure | None = None
    nested: Nested | None = None
    carrier: Carried | None = None  # receives the keys; only the screen shows what they reach
    leads: frozenset[str] = frozenset()  # the conversations that the agent's teammates name

    @property
    def agent_gone(self) -> bool:
        return self.live is not Live.ALIVE and not self.agent


def see(
    row: Row, socket: str, profile: Profile | None, spares: Spares, world: World, past: Past
) -> Sight:
    server = world.servers[socket]
    trouble = why_unknown(row, server, world)
    if trouble is not None:
        return Sight(Live.UNKNOWN, socket, server, trouble=trouble)
    if row.terminal is not Terminal.TMUX:
        return _see_headless(row, socket, profile, spares, world, past)
    session = find_session(row, server, profile, world)
    if isinstance(session, Failure):
        live = Live.REPLACED if session.code is Code.SESSION_REPLACED else Live.UNKNOWN
        return Sight(live, socket, server, trouble=session)
    whole = session
    picked = pick_pane(row, session, profile, world) if session else None
    trouble, pane = (picked, None) if isinstance(picked, Failure) else (None, picked)
    foreign: tuple[Pane, ...] = ()
    agent = agent_in(pane, profile, world) if pane else ()
    leads = conversations_of(agent, dict(row.conversations).values(), profile, world)
    if session is not None and trouble is None:
        session, foreign = _judge_first(session, pane, leads, profile, world, past)
    reach = _reach(row, server, session, world, past)
    belongings = _belongings(server, session, reach, spares, world)
    sight = Sight(
        Live.GONE,
        socket,
        server,
        session,
        whole,
        owned=belongings,
        foreign=foreign,
        reach=reach,
        contains_caller=_contains_caller(belongings, world),
        trouble=trouble,
        leads=leads if session else frozenset(),
    )
    if trouble is not None:
        return replace(sight, live=Live.ALIVE)
    if session is not None and pane is not None:
        nested = None if agent else nested_in(belongings, profile, world)
        return replace(_with_agent(sight, row, pane, agent, profile, spares, world), nested=nested)
    agent = _agent_left_behind(row, belongings, profile, world, past)
    if session is None:
        return replace(sight, agent=agent)
    # The agent's pane is gone; the others may be foreign.
    leads = conversations_of(agent, leads, profile, world)
    return replace(sight, live=Live.AGENT_GONE, agent=agent, leads=leads)


def _with_agent(
    sight: Sight,
    row: Row,
    pane: Pane,
    agent: tuple[Process, ...],
    profile: Profile | None,
    spares: Spares,
    world: World,
) -> Sight:
    """Add what runs in the agent's pane."""
    carrier = carried_in(row, pane, agent, profile, spares.carriers, world)
    return replace(
        sight,
        live=Live.ALIVE if carrier else live_in(pane, agent, world),
        pane=pane,
        agent=agent,
        keyed=(carrier.process,) if carrier else on_terminal(pane, agent, world),
        carrier=carrier,
    )


def _contains_caller(belongings: Owned, world: World) -> bool:
    return any(belonging.process.pid in world.protected for belonging in belongings.own)


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
            or server.named(row.name)
            or recorded in world.sessions
            or row.pane.id in world.places_on(server).ids
        )
    return isinstance(server, NoServer)


def _nothing_left(row: Row, server: ServerLook, world: World, past: Past) -> bool:
    index, pid, pane = world.index, row.pane.pid, row.pane.id
    if past.first or past.remembered or past.leaders or past.mark in index.by_mark:
        return False
    if pid in index.children or pid in index.by_session:
        return False
    if pane is None:
        return True
    return (f"{world.paths[server.socket]},{row.tmux.server_pid}", pane) not in index.by_pane


def _agent_left_behind(
    row: Row, belongings: Owned, profile: Profile | None, world: World, past: Past
) -> tuple[Process, ...]:
    """Return an agent that outlived its session; without a profile, the process that tmux had
    started in the pane."""
    alive = [belonging.process for belonging in belongings.own]
    if profile is not None:
        return agent_among(alive, profile, world)
    leaders = _recorded_leader(row, world) | {
        known for known in past.remembered if known.pid == row.pane.pid
    }
    return tuple(process for process in alive if process.id in leaders)


def wanted_by(known: Iterable[tuple[Row, Past]], *, unregistered: bool = False) -> Wanted:
    """Return everything that these rows could mean."""
    sessions, pids, identified_by_start = set[str](), set[int](), set[int]()
    scopes = set[str]()
    for row, past in known:
        sessions.update(spellings(row.name))
        sessions.add(row.name)
        if row.tmux.session_id:
            sessions.add(row.tmux.session_id)
        if past.first is not None and past.first.session is not None:
            sessions.add(past.first.session.id)
        if past.remembered or past.leaders:
            pids.update(process.pid for process in (*past.remembered, *past.leaders))
        if row.pane.pid:
            pids.add(row.pane.pid)
            if row.pane.created_epoch is not None:
                identified_by_start.add(row.pane.pid)
        scopes |= past.scopes
    return Wanted(
        frozenset(sessions),
        frozenset(pids),
        frozenset(identified_by_start),
        frozenset(scopes),
        unregistered,
    )


def see_again(row: Row, profile: Profile | None, spares: Spares, world: World, past: Past) -> Sight:
    """Judge the same session at a later look, by its identity alone and not by its name."""
    first = past.first
    assert first is not None  # noqa: S101 - there was a first look
    server = world.servers[first.socket]
    trouble = why_unknown(row, server, world)
    if trouble is not None:
        return Sight(Live.UNKNOWN, first.socket, server, trouble=trouble)
    if row.terminal is not Terminal.TMUX:
        return _see_headless(row, first.socket, profile, spares, world, past)
    whole = _session_still_there(first, server, world)
    session_id = first.session.id if first.session else None
    hidden = unreadable_failure(f"look at {row.name}", server, row.name, session_id)
    if whole is None and hidden is not None:
        return Sight(Live.UNKNOWN, first.socket, server, trouble=hidden)
    session, foreign = _judge_again(whole, row, profile, world, past)
    reach = _reach(row, server, session, world, past, foreign_seen=bool(foreign))
    belongings = _belongings(server, session, reach, spares, world)
    holder = holder_of(first.pane, whole, server) if first.pane is not None else None
    if holder is not None and _same_server(first, server):
        trouble = moved_failure(row, holder)
        return Sight(
            Live.REPLACED, first.socket, server, session, whole, owned=belongings, trouble=trouble
        )
    sight = Sight(
        Live.GONE,
        first.socket,
        server,
        session,
        whole,
        owned=belongings,
        foreign=foreign,
        reach=reach,
    )
    if session is None:
        return sight
    pane = next((pane for pane in session.panes if first.pane and pane.id == first.pane.id), None)
    if pane is None:
        return replace(sight, live=Live.AGENT_GONE)
    agent = agent_in(pane, profile, world)
    return _with_agent(sight, row, pane, agent, profile, spares, world)


def past_of(sight: Sight, before: Past) -> Past:
    """Return what to remember of a look: a process that belonged once belongs permanently."""
    leaders = sight.reach.leaders if sight.reach else frozenset()
    return Past(
        mark=before.mark or (sight.reach.mark if sight.reach else None),
        remembered=before.remembered | sight.owned.ids,
        first=before.first or sight,
        leaders=before.leaders | leaders,
        pane_only=before.pane_only,
        whole_session=before.whole_session,
        struck=before.struck,
        foreign_seen=before.foreign_seen or (before.first is not None and bool(sight.foreign)),
        registry=before.registry,
        scopes=before.scopes | (sight.reach.scopes if sight.reach else frozenset()),
    )


def _judge_first(
    session: Session,
    pane: Pane | None,
    leads: frozenset[str],
    profile: Profile | None,
    world: World,
    past: Past,
) -> tuple[Session | None, tuple[Pane, ...]]:
    """Return the session with the panes that an ending takes, and the foreign panes."""
    if past.pane_only:
        return (replace(session, panes=(pane,)) if pane else None), ()
    own = within(session, own_panes(session, pane))
    if past.whole_session:
        return own, ()
    _, foreign = judge(session, Known(pane, (), leader_of=leads), profile, world)
    return own, foreign


def _judge_again(
    session: Session | None, row: Row, profile: Profile | None, world: World, past: Past
) -> tuple[Session | None, tuple[Pane, ...]]:
    first = past.first
    if session is None or first is None:
        return None, ()
    if past.pane_only:
        panes = tuple(
            pane for pane in session.panes if first.pane is not None and pane.id == first.pane.id
        )
        return (replace(session, panes=panes) if panes else None), ()
    planned = first.session.panes if first.session else ()
    known = Known(first.pane, planned, past.struck, past.whole_session, first.leads)
    return judge(session, known, profile, world)


def _belongings(
    server: ServerLook, session: Session | None, reach: Reach, spares: Spares, world: World
) -> Owned:
    """Return the session's processes. A process in a pane of another session belongs to that one,
    whatever evidence ties it to this one."""
    own_ids = {pane.id for pane in session.panes} if session else set()
    server_name = world.tmux_variable(server) if isinstance(server, Server) else None
    spare, places = spare_reason(spares, world), world.places_on(server)

    def reason(process: Process) -> str | None:
        trace = world.index.trace(process.pid)
        pane = places.of(process, trace.pane if trace.tmux == server_name == reach.tmux else None)
        return (
            f"in the pane {pane} of another"
            if pane is not None and pane not in own_ids
            else spare(process)
        )

    return owned(world.index, reach, reason)


def _session_still_there(first: Sight, server: ServerLook, world: World) -> Session | None:
    session = first.session
    if session is None or not isinstance(server, Server) or not _same_server(first, server):
        return None
    return world.sessions.get((server.socket, session.id, session.created))


def _same_server(first: Sight, server: ServerLook) -> bool:
    if not isinstance(server, Server) or not isinstance(first.server, Server):
        return False
    return (server.pid, server.started) == (first.server.pid, first.server.started)


def _see_headless(
    row: Row, socket: str, profile: Profile | None, spares: Spares, world: World, past: Past
) -> Sight:
    """Judge a session without tmux, identified by its process and its start time, or by our
    mark."""
    leader = _tracked(row, world)
    known = row.pane.pid is not None and row.pane.created_epoch is not None
    reach = Reach(
        tmux=None,
        panes=frozenset(),
        leaders=frozenset({leader.id}) if leader else frozenset(),
        # On a terminal that it did not open, the shell and other processes belong to the user.
        ttys=(
            frozenset({leader.tty})
            if leader and leader.tty and leader.pid == leader.sid
            else frozenset()
        ),
        terminals=_terminal_of(leader),
        mark=past.mark,
        remembered=past.remembered,
        registry=past.registry,
    )
    belongings = owned(world.index, reach, spare_reason(spares, world))
    trouble = None if known or past.mark or row.status.ended else _untracked(row)
    server = world.servers[socket]
    if trouble is not None:
        return Sight(Live.UNKNOWN, socket, server, trouble=trouble)
    agent = agent_among([belonging.process for belonging in belongings.own], profile, world)
    # Processes left behind are not the agent, where the profile can tell them apart.
    marked = past.mark and (agent or (profile is None and belongings.own))
    live = Live.ALIVE if leader or marked else Live.GONE
    inside = _contains_caller(belongings, world)
    return Sight(
        live, socket, server, agent=agent, owned=belongings, reach=reach, contains_caller=inside
    )


def _terminal_of(leader: Process | None) -> frozenset[str]:
    """Return the path of the terminal that the process leads, from its device number."""
    if leader is None or leader.pid != leader.sid or (leader.tty >> 8) & 0xFFF != PTS_MAJOR:
        return frozenset()
    return frozenset({f"/dev/pts/{(leader.tty & 0xFF) | ((leader.tty >> 12) & 0xFFF00)}"})


def _tracked(row: Row, world: World) -> Process | None:
    """Return the recorded process, if the process with that pid has the recorded start time."""
    process = world.index.processes.get(row.pane.pid or 0)
    if process is None or row.pane.created_epoch is None or not row.tmux.of_boot(world.boot_id):
        return None
    same = abs(world.epochs[process.pid] - row.pane.created_epoch) <= SAME_START_S
    return process if same else None


def _untracked(row: Row) -> Failure:
    return Failure(
        Code.NO_TRACKED_PID,
        f"could not look at {row.name}: its row has no process that could be told from a stranger"
        " with its pid",
        "record pane.pid together with pane.created_epoch (the start of that process, in seconds)",
    )


def _reach(
    row: Row,
    server: ServerLook,
    session: Session | None,
    world: World,
    past: Past,
    *,
    foreign_seen: bool = False,
) -> Reach:
    panes = session.panes if session else ()
    alive = [pane for pane in panes if not pane.dead]
    planned = past.first.session.panes if past.first and past.first.session else ()
    leaders = {leader.id for pane in alive if (leader := leader_of(pane, world))} | past.leaders
    traces = _traces_of(leaders, world)
    before = [row.pane.id] if row.tmux.known and row.pane.id else []
    server_pid = _server_pid(row, server, world, past)
    ids = {pane.id for pane in panes}
    # A terminal's number may be reused once its pane is gone: only descriptors of the deleted one
    # count.
    vanished = [f"{pane.tty} (deleted)" for pane in planned if pane.id not in ids]
    return Reach(
        tmux=f"{world.paths[server.socket]},{server_pid}" if server_pid else None,
        panes=frozenset([*ids, *(pane.id for pane in planned), *before]),
        leaders=frozenset([*leaders, *_recorded_leader(row, world)]),
        ttys=frozenset([tty for pane in alive if (tty := world.tty_of(pane))]),
        terminals=frozenset([*(pane.tty for pane in alive), *vanished]),
        mark=(
            None
            if past.pane_only or past.foreign_seen or foreign_seen
            else past.mark or _mark_of(traces)
        ),
        remembered=past.remembered,
        registry=past.registry,
        scopes=past.scopes.union(trace.scope for trace in traces if trace.scope),
    )


def _server_pid(row: Row, server: ServerLook, world: World, past: Past) -> int | None:
    """Return the pid of the server that the session was on, or None if that is not certain: a new
    server on the socket counts panes from %0 again, and may even have the same pid after a boot."""
    first = past.first.server if past.first else server
    if not row.tmux.known:
        return (first.pid or None) if isinstance(first, Server) else None
    again = isinstance(server, Server) and server.pid == row.tmux.server_pid
    if not row.tmux.of_boot(world.boot_id) or (again and not same_server(row, server, world)):
        return None
    return row.tmux.server_pid


def _recorded_leader(row: Row, world: World) -> set[ProcessId]:
    """Return the recorded leader of the pane: it belongs to the session as long as it lives, with
    or without the pane. Other tools record its start in seconds."""
    if row.pane.pid is None or row.pane.start_ticks is None or row.tmux.boot_id != world.boot_id:
        tracked = _tracked(row, world)
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
    return [
        index.traces[leader.pid]
        for leader in leaders
        if leader.pid in index.traces and index.living(leader)
    ]


def spare_reason(spares: Spares, world: World) -> Callable[[Process], str | None]:
    def reason(process: Process) -> str | None:
        if process.comm == TMUX_SERVER:
            return "a tmux server"
        names = world.names_of(process)
        match = spares.matching(
            program_names(names.argv[:1], process.comm, names.executable), names.argv
        )
        return f"a shared {match.program}" if match else None

    return reason
