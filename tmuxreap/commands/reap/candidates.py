"""Collects what `verdicts` judges about running rows. Never ends anything."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial

from tmuxreap.commands.reap.children import Probes, offspring
from tmuxreap.commands.reap.verdicts import (
    SAME_MOMENT_S,
    Age,
    CloserLook,
    Kind,
    Limits,
    Seen,
    Verdict,
    judge,
    why_exempt,
)
from tmuxreap.core.answers import Kept
from tmuxreap.core.model import Live, Process, Row, Server
from tmuxreap.core.times import parse_duration
from tmuxreap.core.values import frozen
from tmuxreap.ending.one_at_a_time import ActiveIntents
from tmuxreap.ledger.records import Heartbeat, Pulse
from tmuxreap.proof.sight import Past, Sight
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.conversation import read_agent_screen
from tmuxreap.sessions.look import sights_of
from tmuxreap.sessions.restarts import START_EVENTS
from tmuxreap.system.environment import MARK, PARENT, pane_word


@frozen
class Found:
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
) -> tuple[list[Found], list[Kept]]:
    """Judge each of these running rows."""
    found: list[Found] = []
    kept: list[Kept] = []
    wanted = [kind for kind in kinds if kind is not Kind.ORPHAN]
    if not wanted or not rows:
        return found, kept
    sights = sights_of(context, rows)
    alive = {
        row.name: sight for row, sight in zip(rows, sights, strict=True) if sight.live is Live.ALIVE
    }
    family = _Family(context, alive)
    beginnings = _beginnings(context, [row for row in rows if row.ttl is not None])
    pulses, busy = context.books.pulses(), ActiveIntents.of(context).busy()
    for row, sight in zip(rows, sights, strict=True):
        exempt = why_exempt(sight, under_way=row.name in busy)
        if exempt is not None:
            kept.append(Kept(row.name, exempt))
            continue
        seen = _seen(context, row, sight, pulses.get(row.name), beginnings.get(row.name))
        verdict = judge(wanted, seen, limits, partial(_closer, context, row, sight, family))
        if isinstance(verdict, Kept):
            kept.append(verdict)
        else:
            found.append(Found(verdict, row))
    return found, kept


def _seen(
    context: Context, row: Row, sight: Sight, said: Pulse | None, began: float | None
) -> Seen:
    starts = [context.processes.started_epoch(process.id) for process in _this_run(sight)]
    since = min(starts, default=None)
    activity = sight.session.activity if sight.session else None
    return Seen(
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
    clock, moment = context.clock, said.moment
    wall_s = clock.now() - said.at
    # any sleep since boot may be later than the event
    if moment is None or moment.boot_id != context.place.boot_id:
        slept_s = max(0.0, clock.uptime() - clock.monotonic())
        return Age(wall_s - slept_s, said.at, slept_s, in_order=False)
    awake_s, up_s = clock.monotonic() - moment.awake, clock.uptime() - moment.uptime
    no_time_s = max(0.0, up_s - awake_s) + max(0.0, wall_s - up_s)
    return Age(awake_s, clock.now() - up_s, no_time_s, in_order=wall_s > up_s - SAME_MOMENT_S)


def _this_run(sight: Sight) -> list[Process]:
    """Return the processes whose start began this run: the pane's first process and the agent."""
    leaders = sight.reach.leaders if sight.reach else ()
    firsts = [one.process for one in sight.owned.own if one.process.id in leaders]
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
    return {event.name: event.at for event in events if event.kind in START_EVENTS}


def _closer(context: Context, row: Row, sight: Sight, family: _Family) -> CloserLook:
    profile = context.agents.profile(row)
    known = context.finder.known_of(row, sight, profile)
    text = context.tmux.capture(sight.socket, sight.pane.id) if sight.pane else None
    screen = read_agent_screen(profile, known, text)
    return CloserLook(
        state=screen.state,
        limited=screen.limit is not None,
        tool_since=running_since(context.books.heartbeats_of(row.name)),
        children=offspring(sight, _probes(context)),
        sub_agents=family.of(row.name),
    )


def running_since(beats: Iterable[Heartbeat]) -> float:
    """Return since when a new process belongs to a running tool. Of several open tools (`beats`:
    latest first) the first counts; with none, the last event."""
    open_tools, since, last = 0, 0.0, 0.0
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
