"""Collects what `verdicts` judges: what is known of running rows, and the processes that ended
sessions left behind. Never ends anything.

Unrelated processes inherit a mark, too: it is not enough for a process that has a terminal, belongs
to a pane that still exists, or got it from a tmux server that carries it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property, partial

from tmuxreap.agents.programs import Spares
from tmuxreap.commands.reap.verdicts import (
    SAME_MOMENT_S,
    Age,
    CloserLook,
    Kind,
    Limits,
    Probes,
    RowFacts,
    Verdict,
    judge,
    offspring,
    why_exempt,
)
from tmuxreap.core.answers import Kept
from tmuxreap.core.model import (
    AgentState,
    Live,
    Process,
    ProcessId,
    RecordedPane,
    Row,
    Server,
    Status,
    Terminal,
    Unreachable,
)
from tmuxreap.core.results import megabytes
from tmuxreap.core.times import parse_duration
from tmuxreap.core.values import frozen
from tmuxreap.ledger.records import Heartbeat, Pulse
from tmuxreap.ledger.schema import BEGINNINGS
from tmuxreap.proof.observe import canonical
from tmuxreap.proof.ownership import TMUX_SERVER, Belonging, Reach, World, owned, panes_of
from tmuxreap.proof.reach import spare_reason
from tmuxreap.proof.sight import Past, Sight
from tmuxreap.proof.state import state_by, visible_screen, with_record
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.conversation import record_of
from tmuxreap.system.environment import MARK, PARENT, REGISTRY_MARK, pane_word


@frozen
class Candidate:
    """A verdict, and what is to be ended. Processes without a row have a stand-in, and a `past`
    that names them."""

    verdict: Verdict
    row: Row
    past: Past | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Return what a later verdict on the same subject has, too."""
        evidence = self.verdict.evidence
        return self.verdict.kind, self.row.name, evidence.get("registered"), evidence.get("mark")


def judge_rows(
    context: Context, rows: Sequence[Row], kinds: Collection[Kind], limits: Limits
) -> tuple[list[Candidate], list[Kept]]:
    """Judge each of these running rows."""
    found: list[Candidate] = []
    kept: list[Kept] = []
    wanted = [kind for kind in kinds if kind is not Kind.ORPHAN]
    if not wanted or not rows:
        return found, kept
    sights = context.sights.of(rows)
    alive = {
        row.name: sight for row, sight in zip(rows, sights, strict=True) if sight.live is Live.ALIVE
    }
    family = _Family(context, alive)
    beginnings = _beginnings(context, [row for row in rows if row.ttl is not None])
    pulses = context.books.pulses()
    busy = context.active.busy()
    for row, sight in zip(rows, sights, strict=True):
        exempt = why_exempt(sight, under_way=row.name in busy)
        if exempt is not None:
            kept.append(Kept(row.name, exempt))
            continue
        said = pulses.get(row.name)
        seen = _seen(context, row, sight, said, beginnings.get(row.name))
        verdict = judge(wanted, seen, limits, partial(_closer, context, row, sight, said, family))
        if isinstance(verdict, Kept):
            kept.append(verdict)
        else:
            found.append(Candidate(verdict, row))
    return found, kept


def _seen(
    context: Context, row: Row, sight: Sight, said: Pulse | None, began: float | None
) -> RowFacts:
    starts = []
    for process in _this_run(sight):
        starts.append(context.processes.started_epoch(process.id))
    since = min(starts, default=None)
    activity = sight.session.activity if sight.session else None
    return RowFacts(
        name=row.name,
        now=context.clock.now(),
        agent_since=since,
        output_at=None if activity is None else float(activity),
        said=said,
        age=_age(context, said) if said else None,
        ttl=None if row.ttl is None else str(row.ttl),
        ttl_s=_seconds(row.ttl),
        ttl_since=max((moment for moment in (began, since) if moment is not None), default=None),
    )


def _age(context: Context, said: Pulse) -> Age:
    clock = context.clock
    moment = said.moment
    wall_s = clock.now() - said.at
    # any sleep since boot may be later than the event
    if moment is None or moment.boot_id != context.place.boot_id:
        slept_s = max(0.0, clock.uptime() - clock.monotonic())
        return Age(wall_s - slept_s, said.at, slept_s, in_order=False)
    awake_s = clock.monotonic() - moment.awake
    up_s = clock.uptime() - moment.uptime
    no_time_s = max(0.0, up_s - awake_s) + max(0.0, wall_s - up_s)
    return Age(awake_s, clock.now() - up_s, no_time_s, in_order=wall_s > up_s - SAME_MOMENT_S)


def _this_run(sight: Sight) -> list[Process]:
    """Return the processes whose start began this run: the pane's first process and the agent."""
    leaders = sight.reach.leaders if sight.reach else ()
    firsts = []
    for one in sight.owned.own:
        if one.process.id in leaders:
            firsts.append(one.process)
    return [*firsts, *sight.agent]


def _seconds(ttl: object) -> float | None:
    try:
        return parse_duration(str(ttl))  # a row may hold any YAML
    except ValueError:
        return None


def _beginnings(context: Context, rows: Sequence[Row]) -> dict[str, float]:
    """Return when each row was last started, resumed or adopted."""
    names = {row.name for row in rows}
    events = context.books.events(names, None) if names else []
    return {event.name: event.at for event in events if event.kind in BEGINNINGS}


def _closer(
    context: Context, row: Row, sight: Sight, said: Pulse | None, family: _Family
) -> CloserLook:
    profile = context.agents.profile(row, sight)
    known = context.finder.known_of(row, sight, profile)
    text = None
    if sight.pane:
        text = context.tmux.capture(sight.socket, sight.pane.id)
    carriers = context.agents.spares(profile).carriers
    record = record_of(profile, known)
    screen = visible_screen(profile, sight, carriers, text)
    doing = state_by(context.processes, context.clock, sight, profile, said, screen, record)
    return CloserLook(
        state=with_record(screen, record, sight.agent).state,
        doing=doing.state or AgentState.UNKNOWN,
        limited=screen.limit is not None,
        tool_since=running_since(context.books.heartbeats_of(row.name)),
        children=offspring(sight, _probes(context)),
        sub_agents=family.of(row.name),
    )


def running_since(beats: Iterable[Heartbeat]) -> float:
    """Return since when a new process belongs to a running tool. Of several open tools (`beats`:
    latest first) the first counts; with none, the last event."""
    open_tools = 0
    since = 0.0
    last = 0.0
    for beat in reversed(list(beats)):
        last = beat.at
        if beat.kind == "tool_before":
            open_tools += 1
            since = beat.at if open_tools == 1 else since
        elif beat.kind == "tool_after":
            open_tools = max(0, open_tools - 1)
        elif beat.kind in TURN_ENDS:
            open_tools = 0
    return since if open_tools else last


TURN_ENDS = ("prompt", "turn_end", "session_start", "session_end")


def _probes(context: Context) -> Probes:
    processes = context.processes

    def is_connected(process: Process) -> bool:
        paths = processes.open_files(process.id)
        return any(path.startswith(("pipe:", "socket:")) for path in paths)

    return Probes(
        lambda process: processes.started_epoch(process.id),
        lambda process: agent_of(context, process) is not None,
        is_connected,
    )


def agent_of(context: Context, process: Process) -> str | None:
    """Return the known agent that this process is."""
    argv, executable = context.processes.argv_and_executable(process.id)
    agents = context.profiles.agents.values()
    names = (one.name for one in agents if one.recognises(argv, process.comm, executable))
    return next(names, None)


class _Family:
    """Which session was started from within which, from the environment that `start` sets."""

    def __init__(self, context: Context, alive: Mapping[str, Sight]) -> None:
        self._processes = context.processes
        self._alive = alive

    @cached_property
    def _parents(self) -> Mapping[str, str | None]:
        return {name: self._word(sight, PARENT) for name, sight in self._alive.items()}

    def of(self, name: str) -> tuple[str, ...]:
        words = self._words(self._alive[name])
        children = (child for child, parent in self._parents.items() if parent in words)
        return tuple(child for child in children if child != name)

    def _words(self, sight: Sight) -> set[str]:
        """Return how its children name this session as their parent: by its mark or by its pane."""
        own = {self._word(sight, MARK)}
        if isinstance(sight.server, Server) and sight.pane is not None:
            own.add(pane_word(sight.server.pid, sight.pane.id))
        return {word for word in own if word}

    def _word(self, sight: Sight, variable: str) -> str | None:
        for leader in sight.reach.leaders if sight.reach else ():
            environ = self._processes.environ(leader)
            if environ is not None:
                return environ.get(variable)
        return None


def find_leftovers(context: Context, rows: Sequence[Row]) -> tuple[list[Candidate], list[Kept]]:
    names = [row.name for row in rows]
    sights = dict(zip(names, context.sights.of(rows), strict=True))
    busy = context.active.busy()
    found: list[Candidate] = []
    kept: list[Kept] = []
    for row in rows:
        sight = sights[row.name]
        if sight.unproven:
            hint = sight.adopts_unproven(row.name)
            who = ", ".join(f"{one.comm} ({one.pid})" for one in sight.unproven)
            kept.append(Kept(row.name, f"{who} may be its own; if so: {hint}"))
        if not sight.owned.own or not _is_over(row, sight):
            continue
        if row.name in busy:
            kept.append(Kept(row.name, "it is being ended by another"))
        elif sight.contains_caller:
            kept.append(Kept(row.name, "this command runs inside it"))
        else:
            found.append(Candidate(_verdict(context, row.name, sight.owned.own, row=row), row))
    unknown = {name for name, sight in sights.items() if sight.live is Live.UNKNOWN}
    strays = _Strays(context, [*sights.values()], busy | unknown)
    return [*found, *strays.of_ledger(set(sights)), *strays.of_marks()], kept


def _is_over(row: Row, sight: Sight) -> bool:
    """Tell whether the session itself is gone, and neither alive nor unknown."""
    if sight.trouble is not None or sight.session is not None:
        return False
    return row.status.ended or sight.live is Live.GONE


class _Strays:
    """Leftovers of sessions without a row, and of earlier runs of those with one."""

    def __init__(self, context: Context, sights: Sequence[Sight], left_alone: set[str]) -> None:
        self._context = context
        self._left_alone = left_alone
        self._sights = sights
        self._claimed: set[ProcessId] = set()
        for sight in sights:
            self._claimed.update(one.process.id for one in sight.owned.own)
            self._claimed.update(one.process.id for one in sight.owned.spared)
        self._world: World = context.observer.look({sight.socket for sight in sights}, 0)
        spared = list(context.profiles.common_spare)
        for profile in context.profiles.agents.values():
            spared += profile.spare
        spares = Spares.of(*spared)
        self._spare = spare_reason(spares, self._world)
        self._panes_of = cache(self._ask)

    def of_ledger(self, registered: set[str]) -> list[Candidate]:
        """Return the recorded survivors of sessions without a row."""
        found: list[Candidate] = []
        for name, ids in self._context.books.survivors(self._context.place.boot_id).items():
            if name not in registered | self._left_alone:
                found += self._found(name, ids - self._claimed)
        for one in found:
            self._claimed |= one.past.remembered if one.past else set()
        return found

    def of_marks(self) -> list[Candidate]:
        """Return the processes with a mark of this registry that no living session has."""
        found: list[Candidate] = []
        living = set()
        for sight in self._sights:
            if sight.reach is not None:
                living.add(sight.reach.mark)
        index = self._world.index
        for mark, pids in index.by_mark.items():
            if mark in living:
                continue
            ids = frozenset(index.processes[pid].id for pid in pids if self._is_stray(pid))
            if not ids - self._claimed:
                continue
            name = self._context.books.name_of(mark)
            if name not in self._left_alone and self._same_place(mark, name, ids):
                found += self._found(name or f"mark:{mark[:8]}", ids - self._claimed, mark)
        return found

    def _found(
        self, name: str, ids: frozenset[ProcessId], mark: str | None = None
    ) -> list[Candidate]:
        """Judge these processes and what they started; nothing if we, or processes of a live
        session, are among them."""
        nothing: frozenset[str] = frozenset()
        reach = Reach(None, nothing, frozenset(), frozenset(), {}, None, ids)
        own = owned(self._world.index, reach, self._spare).own
        processes = [one.process for one in own]
        ours = {one for one in processes if one.pid in self._world.protected}
        if not own or ours or any(one.id in self._claimed for one in processes):
            return []
        past = Past(remembered=frozenset(one.id for one in processes))
        verdict = _verdict(self._context, name, own, mark=mark)
        return [Candidate(verdict, _stand_in(self._context, name, processes), past)]

    def _is_stray(self, pid: int) -> bool:
        """Tell whether it has this registry's mark, no terminal, and no pane that still exists."""
        process = self._world.index.processes[pid]
        trace = self._world.index.trace(pid)
        environ = self._context.processes.environ(process.id) or {}
        if environ.get(REGISTRY_MARK) != str(self._context.registry.resolved) or process.tty:
            return False
        if trace.tmux is None or trace.pane is None:
            return True
        panes = self._panes_of(trace.tmux)
        return panes is not None and (trace.tmux, trace.pane) not in panes

    def _ask(self, tmux: str) -> frozenset[tuple[str, str]] | None:
        """Return the live panes of that server; None if it cannot be asked, or if its own
        environment has a mark, which every pane inherits."""
        socket, _, pid = tmux.rpartition(",")
        server = None
        if pid.isdigit():
            server = self._world.index.processes.get(int(pid))
        if server is None or server.comm != TMUX_SERVER:
            return frozenset()
        if self._world.index.trace(server.pid).mark is not None:
            return None
        look = self._context.tmux.look(socket)
        if isinstance(look, Unreachable):
            return None
        if not isinstance(look, Server):
            return frozenset()
        if look.unread or look.pid not in (0, server.pid):
            return None
        return frozenset((tmux, pane.id) for _, _, pane in panes_of([look]))

    def _same_place(self, mark: str, name: str | None, ids: frozenset[ProcessId]) -> bool:
        """Tell whether the processes come from the server where the ledger saw this mark, if
        any."""
        if name is not None:
            events = self._context.books.events({name}, None)
        else:
            events = []
        places = []
        for event in events:
            if event.data.get("mark") == mark:
                places.append(event.data.get("tmux"))
        known = set()
        for place in places:
            if place is not None:
                known.add(_canonical(str(place)))
        came_from = {self._world.index.trace(one.pid).tmux for one in ids} - {None}
        return not known or came_from <= known


def _canonical(tmux: str) -> str:
    socket, _, pid = tmux.rpartition(",")
    return f"{canonical(socket)},{pid}"


def _verdict(
    context: Context,
    name: str,
    own: Sequence[Belonging],
    *,
    row: Row | None = None,
    mark: str | None = None,
) -> Verdict:
    now = context.clock.now()
    ids = [one.process.id for one in own]
    ended = row.ended_at if row is not None else None
    evidence: dict[str, object] = {
        "processes": [_process(context, one, now) for one in own],
        "memory_mb": megabytes(sum(map(context.processes.memory, ids))),
        "age_s": round(now - min(map(context.processes.started_epoch, ids))),
        "ended_at": None if ended is None else str(ended),
        "registered": row is not None,
        "mark": mark,
    }
    return Verdict(name, Kind.ORPHAN, evidence)


def _process(context: Context, one: Belonging, now: float) -> dict[str, object]:
    started = context.processes.started_epoch(one.process.id)
    return {
        "pid": one.process.pid,
        "name": one.process.comm,
        "started": round(started, 2),
        "age_s": round(now - started),
        "memory_mb": megabytes(context.processes.memory(one.process.id)),
        "why": one.why,
    }


def _stand_in(context: Context, name: str, processes: Sequence[Process]) -> Row:
    """Return the row of an ended session without a terminal, known only by its processes."""
    agents = (agent_of(context, process) for process in processes)
    agent = next((agent for agent in agents if agent is not None), None)
    pane = RecordedPane(pid=processes[0].pid)
    return Row(name, status=Status.STOPPED, agent=agent, terminal=Terminal.NONE, pane=pane)
