"""Finds processes that ended sessions left behind. Never ends anything.

A process is tied to an ended session by the evidence that a stop uses, by a survivor record in the
ledger, or by our mark in its environment together with this registry's path. Unrelated processes
inherit a mark too, so a mark is not enough for a process that has a terminal, belongs to a pane
that still exists, or got it from a tmux server that carries it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from tmuxreap.agents.spared import Spares
from tmuxreap.commands.reap.candidates import agent_of
from tmuxreap.commands.reap.verdicts import Kind, Verdict
from tmuxreap.core.answers.endings import Kept
from tmuxreap.core.model import (
    Live,
    ProcessId,
    RecordedPane,
    Row,
    Server,
    Status,
    Terminal,
    Unreachable,
)
from tmuxreap.core.results import megabytes
from tmuxreap.core.values import frozen
from tmuxreap.ending.one_at_a_time import ActiveIntents
from tmuxreap.registry.rows import bare_row
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.look import sights_of
from tmuxreap.sessions.observe import canonical
from tmuxreap.sessions.ownership import TMUX_SERVER, Belonging, Reach, owned
from tmuxreap.sessions.sight import Past, Sight, spare_reason
from tmuxreap.sessions.world import World
from tmuxreap.system.environment import REGISTRY_MARK


@frozen
class Remnant:
    """The processes left of a session. `row` is None if it has none, or only one of a later run."""

    name: str
    row: Row | None
    own: tuple[Belonging, ...]
    mark: str | None = None

    @property
    def key(self) -> tuple[str, bool, str | None]:
        return self.name, self.row is not None, self.mark

    @property
    def past(self) -> Past:
        """Return these very processes, for a look that also finds what they start."""
        return Past(remembered=frozenset(one.process.id for one in self.own))


def find_remnants(context: Context, rows: Sequence[Row]) -> tuple[list[Remnant], list[Kept]]:
    names = [row.name for row in rows]
    sights = dict(zip(names, sights_of(context, rows), strict=True))
    busy = ActiveIntents.of(context).busy()
    remnants: list[Remnant] = []
    kept: list[Kept] = []
    for row in rows:
        sight = sights[row.name]
        if not sight.owned.own or not _is_over(row, sight):
            continue
        if row.name in busy:
            kept.append(Kept(row.name, "it is being ended by another"))
        elif sight.contains_caller:
            kept.append(Kept(row.name, "this command runs inside it"))
        else:
            remnants.append(Remnant(row.name, row, sight.owned.own))
    unknown = {name for name, sight in sights.items() if sight.live is Live.UNKNOWN}
    strays = _Strays(context, [*sights.values()], busy | unknown)
    return [*remnants, *strays.of_ledger(set(sights)), *strays.of_marks()], kept


def _is_over(row: Row, sight: Sight) -> bool:
    """Tell whether the session itself is gone, and neither alive nor unknown."""
    if sight.trouble is not None or sight.session is not None:
        return False
    return row.status.ended or sight.live is Live.GONE


class _Strays:
    """Leftovers of sessions without a row, and of earlier runs of those with one."""

    def __init__(self, context: Context, sights: Sequence[Sight], left_alone: set[str]) -> None:
        self._app = context
        self._left_alone = left_alone
        self._sights = sights
        self._claimed = {
            one.process.id
            for one in chain.from_iterable((*it.owned.own, *it.owned.spared) for it in sights)
        }
        self._world: World = context.observer.look({sight.socket for sight in sights}, 0)
        agents = context.profiles.agents.values()
        spares = Spares.of(
            *context.profiles.common_spare,
            *chain.from_iterable(profile.spare for profile in agents),
        )
        self._spare = spare_reason(spares, self._world)
        self._panes: dict[str, frozenset[tuple[str, str]] | None] = {}

    def of_ledger(self, registered: set[str]) -> list[Remnant]:
        survivors = self._app.books.survivors(self._app.place.boot_id)
        unregistered = {
            name: ids
            for name, ids in survivors.items()
            if name not in registered | self._left_alone
        }
        remnants = self._remnants(
            {(name, None): ids - self._claimed for name, ids in unregistered.items()}
        )
        self._claimed |= {one.process.id for one in chain.from_iterable(it.own for it in remnants)}
        return remnants

    def of_marks(self) -> list[Remnant]:
        living = {sight.reach.mark for sight in self._sights if sight.reach is not None}
        strays: dict[tuple[str, str | None], frozenset[ProcessId]] = {}
        for mark, pids in self._world.index.by_mark.items():
            ids = frozenset(
                self._world.index.processes[pid].id for pid in pids if self._is_stray(pid)
            )
            if mark in living or not ids - self._claimed:
                continue
            name = self._app.books.name_of(mark)
            if name in self._left_alone or not self._same_place(mark, name, ids):
                continue
            strays[(name or f"mark:{mark[:8]}", mark)] = ids - self._claimed
        return self._remnants(strays)

    def _remnants(
        self, found: Mapping[tuple[str, str | None], frozenset[ProcessId]]
    ) -> list[Remnant]:
        remnants = [
            Remnant(name, None, self._own(ids), mark) for (name, mark), ids in found.items()
        ]
        return [one for one in remnants if one.own and not self._contains_us(one.own)]

    def _own(self, ids: frozenset[ProcessId]) -> tuple[Belonging, ...]:
        nothing: frozenset[str] = frozenset()
        reach = Reach(None, nothing, frozenset(), frozenset(), nothing, None, ids)
        own = owned(self._world.index, reach, self._spare).own
        # processes of a live session are among them
        if any(one.process.id in self._claimed for one in own):
            return ()
        return own

    def _contains_us(self, own: Iterable[Belonging]) -> bool:
        return any(one.process.pid in self._world.protected for one in own)

    def _is_stray(self, pid: int) -> bool:
        """Tell whether it has this registry's mark, no terminal, and no pane that still exists."""
        process, trace = (self._world.index.processes[pid], self._world.index.trace(pid))
        environ = self._app.processes.environ(process.id) or {}
        if environ.get(REGISTRY_MARK) != str(self._app.registry.resolved) or process.tty:
            return False
        if trace.tmux is None or trace.pane is None:
            return True
        panes = self._panes_of(trace.tmux)
        return panes is not None and (trace.tmux, trace.pane) not in panes

    def _panes_of(self, tmux: str) -> frozenset[tuple[str, str]] | None:
        """Return the live panes of that server; None if it cannot be asked, or if its own
        environment has a mark, which every pane inherits."""
        if tmux not in self._panes:
            self._panes[tmux] = self._ask(tmux)
        return self._panes[tmux]

    def _ask(self, tmux: str) -> frozenset[tuple[str, str]] | None:
        socket, _, pid = tmux.rpartition(",")
        server = self._world.index.processes.get(int(pid)) if pid.isdigit() else None
        if server is None or server.comm != TMUX_SERVER:
            return frozenset()
        if self._world.index.trace(server.pid).mark is not None:
            return None
        look = self._app.tmux.look(socket)
        if isinstance(look, Unreachable) or (
            isinstance(look, Server) and look.pid not in (0, server.pid)
        ):
            return None
        if isinstance(look, Server) and look.unread:
            return None
        sessions = look.sessions if isinstance(look, Server) else ()
        panes = chain.from_iterable(session.panes for session in sessions)
        return frozenset((tmux, pane.id) for pane in panes)

    def _same_place(self, mark: str, name: str | None, ids: frozenset[ProcessId]) -> bool:
        """Tell whether the processes come from the server where the ledger saw this mark, if
        any."""
        events = self._app.books.events({name}, None) if name is not None else []
        places = {event.data.get("tmux") for event in events if event.data.get("mark") == mark} - {
            None
        }
        traces = (self._world.index.trace(one.pid) for one in ids)
        came_from = {trace.tmux for trace in traces if trace.tmux is not None}
        known = {_canonical(str(place)) for place in places}
        return not known or came_from <= known


def _canonical(tmux: str) -> str:
    socket, _, pid = tmux.rpartition(",")
    return f"{canonical(socket)},{pid}"


def verdict_of(context: Context, remnant: Remnant) -> Verdict:
    now, row = context.clock.now(), remnant.row
    processes = [_process(context, one, now) for one in remnant.own]
    ended = row.ended_at if row is not None else None
    evidence: dict[str, object] = {
        "processes": processes,
        "memory_mb": megabytes(
            sum(context.processes.memory(one.process.id) for one in remnant.own)
        ),
        "age_s": max(
            (round(now - context.processes.started_epoch(one.process.id)) for one in remnant.own),
            default=0,
        ),
        "ended_at": None if ended is None else str(ended),
        "registered": row is not None,
        "mark": remnant.mark,
    }
    return Verdict(remnant.name, Kind.ORPHAN, evidence)


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


def row_of(context: Context, remnant: Remnant) -> Row:
    """Return a stand-in row: an ended session without a terminal, known only by its processes."""
    agents = (agent_of(context, one.process) for one in remnant.own)
    agent = next((agent for agent in agents if agent is not None), None)
    pane = RecordedPane(pid=remnant.own[0].process.pid)
    return bare_row(
        remnant.name, status=Status.STOPPED, agent=agent, terminal=Terminal.NONE, pane=pane
    )
