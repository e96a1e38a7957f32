"""Finds processes that ended sessions left behind. Never ends anything.

A process is tied to an ended session by the evidence that a stop uses, by a survivor record in the
ledger, or by our mark in its environment together with this registry's path. Unrelated processes
inherit a mark too, so a mark is not enough for a process that has a terminal, belongs to a pane
that still exists, or got it from a tmux server that carries it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain

from tmuxreap.agents.profiles import Spares
from tmuxreap.commands.reap.candidates import Found, agent_of
from tmuxreap.commands.reap.verdicts import Kind, Verdict
from tmuxreap.core.answers import Kept
from tmuxreap.core.model import (
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
from tmuxreap.ending.one_at_a_time import ActiveIntents
from tmuxreap.proof.observe import canonical
from tmuxreap.proof.ownership import TMUX_SERVER, Belonging, Reach, World, owned, panes_of
from tmuxreap.proof.reach import spare_reason
from tmuxreap.proof.sight import Past, Sight
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.look import sights_of
from tmuxreap.system.environment import REGISTRY_MARK


def find_leftovers(context: Context, rows: Sequence[Row]) -> tuple[list[Found], list[Kept]]:
    names = [row.name for row in rows]
    sights = dict(zip(names, sights_of(context, rows), strict=True))
    busy = ActiveIntents.of(context).busy()
    found: list[Found] = []
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
            found.append(Found(_verdict(context, row.name, sight.owned.own, row=row), row))
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
        self._claimed = {
            one.process.id
            for one in chain.from_iterable((*it.owned.own, *it.owned.spared) for it in sights)
        }
        self._world: World = context.observer.look({sight.socket for sight in sights}, 0)
        agents = context.profiles.agents.values()
        spared = chain.from_iterable(profile.spare for profile in agents)
        spares = Spares.of(*context.profiles.common_spare, *spared)
        self._spare = spare_reason(spares, self._world)
        self._panes_of = cache(self._ask)

    def of_ledger(self, registered: set[str]) -> list[Found]:
        """Return the recorded survivors of sessions without a row."""
        found: list[Found] = []
        for name, ids in self._context.books.survivors(self._context.place.boot_id).items():
            if name not in registered | self._left_alone:
                found += self._found(name, ids - self._claimed)
        for one in found:
            self._claimed |= one.past.remembered if one.past else set()
        return found

    def of_marks(self) -> list[Found]:
        """Return the processes with a mark of this registry that no living session has."""
        found: list[Found] = []
        living = {sight.reach.mark for sight in self._sights if sight.reach is not None}
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

    def _found(self, name: str, ids: frozenset[ProcessId], mark: str | None = None) -> list[Found]:
        """Judge these processes and what they started; nothing if we, or processes of a live
        session, are among them."""
        nothing: frozenset[str] = frozenset()
        reach = Reach(None, nothing, frozenset(), frozenset(), nothing, None, ids)
        own = owned(self._world.index, reach, self._spare).own
        processes = [one.process for one in own]
        ours = {one for one in processes if one.pid in self._world.protected}
        if not own or ours or any(one.id in self._claimed for one in processes):
            return []
        past = Past(remembered=frozenset(one.id for one in processes))
        verdict = _verdict(self._context, name, own, mark=mark)
        return [Found(verdict, _stand_in(self._context, name, processes), past)]

    def _is_stray(self, pid: int) -> bool:
        """Tell whether it has this registry's mark, no terminal, and no pane that still exists."""
        process, trace = self._world.index.processes[pid], self._world.index.trace(pid)
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
        server = self._world.index.processes.get(int(pid)) if pid.isdigit() else None
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
        events = self._context.books.events({name}, None) if name is not None else []
        places = [event.data.get("tmux") for event in events if event.data.get("mark") == mark]
        known = {_canonical(str(place)) for place in places if place is not None}
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
    now, ids = context.clock.now(), [one.process.id for one in own]
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
