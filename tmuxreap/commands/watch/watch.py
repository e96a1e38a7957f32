"""`watch`: what `reconcile` does, at the moment that something happens, and in full every interval.

After a death only the rows that it touches are looked at; the whole is looked at when the registry
changed and when the time is up."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.commands.reconcile.reconcile import Seen
from tmuxreap.commands.watch.restarting import Restarts
from tmuxreap.commands.watch.status_line import Segment
from tmuxreap.commands.watch.telling import Tell, Told, notice, troubles
from tmuxreap.commands.watch.waiting import Waiter
from tmuxreap.core.answers.changes import Change
from tmuxreap.core.answers.news import Drift
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import Live, ProcessId, Row, Server
from tmuxreap.core.times import iso
from tmuxreap.core.values import frozen
from tmuxreap.ledger.records import NewEvent
from tmuxreap.registry.transitions import wants_restart
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.restarts import GOOD_EXIT, SERVER
from tmuxreap.sessions.sight import Sight
from tmuxreap.sessions.state import AgentState
from tmuxreap.sessions.state import Told as Shown
from tmuxreap.sessions.world import panes_of
from tmuxreap.system import files
from tmuxreap.system.files import Stamp
from tmuxreap.system.processes.procfs import is_leaving

INTERVAL_S = 10.0
LEAST_INTERVAL_S = 0.1
SETTLE_S = (
    0.0,
    0.002,
    0.004,
    0.008,
    0.016,
    0.032,
)  # tmux takes a moment to close what is left of an agent
RETENTION_S, RETIRE_EVERY_S = 90 * 86400.0, 86400.0
AGAIN_S = 0.1  # and sometimes a longer one
LEAVING_S = 10.0  # what has closed its files is gone in no time, but on a busy machine


@frozen
class WatchRequest:
    interval_s: float = (
        INTERVAL_S  # at least LEAST_INTERVAL_S: a full look costs more than the rest of the watch
    )
    command: str | None = None
    reap: tuple[Kind, ...] = ()  # whom to end, after each full look
    settle: bool = True  # else it only tells, and writes nothing
    notify: bool = False  # the clients that are attached to the session


def run(context: Context, request: WatchRequest, tell: Tell, waiter: Waiter | None = None) -> None:
    """Until it is asked to end. `waiter`: the caller's, who ends the watch by it."""
    waiter = waiter or Waiter(context.processes, context.registry.resolved)
    segment = Segment(context) if request.settle else None
    try:
        told = Told(tell, request.command, str(context.registry.path), settles=request.settle)
        watch = _Watch(context, waiter, told, segment, request.reap)
        if request.notify:
            told.show = watch.notify
        watch.run(request.interval_s)
    finally:
        if segment is not None:
            segment.leave()
        waiter.close()


@frozen
class _Watched:
    """The processes whose end is one of this row: its agent, what tmux started in its pane, and the
    server."""

    socket: str
    agent: tuple[ProcessId, ...]
    server: ProcessId | None
    alone: bool = False  # the only session there: with it the server goes

    @property
    def all(self) -> frozenset[ProcessId]:
        return frozenset((*self.agent, self.server) if self.server else self.agent)


class _Watch:
    def __init__(
        self,
        context: Context,
        waiter: Waiter,
        told: Told,
        segment: Segment | None,  # None: it writes nothing at all
        reap: tuple[Kind, ...],
    ) -> None:
        self._app = context
        self._waiter = waiter
        self._told = told
        self._segment = segment
        self._reap = reap
        self._stuck: set[str] = set()  # whom to end was tried in vain: once is enough
        self._seen: dict[str, tuple[Row, Sight]] = {}  # of running rows
        self._rows: dict[str, _Watched] = {}
        self._causes: dict[str, str] = {}
        self._states: dict[str, str] = {}  # the last that was told of each, or seen first
        self._known: Stamp | None = None
        kept_s = context.default_seconds("retention")
        self._retention_s = RETENTION_S if kept_s is None else kept_s
        self._again = False  # what the last look could not tell shows a moment later
        self._restarts = Restarts(context, told.say) if segment is not None else None

    def run(self, interval_s: float) -> None:
        clock = self._app.clock
        due = retired = clock.monotonic()
        while True:
            self._waiter.arm()  # before we look: what is written after that wakes us up
            if clock.monotonic() >= due or _stamp(self._app) != self._known:
                due = clock.monotonic() + interval_s
                self._look(None)
                self._reap_some()
                if self._segment is not None and clock.monotonic() >= retired:
                    retired = clock.monotonic() + RETIRE_EVERY_S
                    self._app.books.retire(self._retention_s)
            if self._again:
                due, self._again = min(due, clock.monotonic() + AGAIN_S), False
            restart_at = self._run_restarts()
            self._waiter.arm()
            if _stamp(self._app) != self._known:
                continue
            everybody = self._children.union(*(one.all for one in self._rows.values()))
            woken = self._waiter.wait(everybody, min(due, restart_at) - clock.monotonic())
            if woken.ending:
                self._told.flush()
                return
            if woken.gone:
                self._again = self._ended(woken.gone) or self._again
            elif not woken.changed and due <= restart_at:
                due = (
                    clock.monotonic()
                )  # the time is up, by a clock that went on while the machine slept

    @property
    def _children(self) -> frozenset[ProcessId]:
        return frozenset() if self._restarts is None else self._restarts.processes

    def _run_restarts(self) -> float:
        """When it is to be done again."""
        if self._restarts is None:
            return math.inf
        with contextlib.suppress(Failure):  # told by the look
            self._restarts.run_due()
        return self._restarts.next_at

    def _ended(self, gone: frozenset[ProcessId]) -> bool:
        """Whether rows can have changed by it, which a moment later shows whole."""
        children = gone & self._children
        if children and self._restarts is not None:
            with contextlib.suppress(Failure):
                self._restarts.ended(children)
        if gone - children:
            self._after(gone - children)
        return bool(gone - children)

    def notify(self, event: Change) -> None:
        """To those who look at the session: what is told of it."""
        known = self._seen.get(event.name)
        if known is None:
            return
        server, session = known[1].server, known[1].session
        if isinstance(server, Server) and session is not None:
            self._app.tmux.notify(known[1].socket, server, session, notice(event))

    def _reap_some(self) -> None:
        if not self._reap:
            return
        from tmuxreap.commands.reap.reap import sweep_for_watch

        for event in sweep_for_watch(self._app, self._reap, self._stuck):
            self._told.say(event)
            if event.error is not None:
                self._stuck.add(event.name)

    def _after(self, gone: frozenset[ProcessId]) -> None:
        """Only these rows can have changed; the file is written first, the rest is looked at a
        moment later."""
        touched = {name: one for name, one in self._rows.items() if one.all & gone}
        # tmux hears that a terminal was closed before who closed it is dead.
        agents = set(chain.from_iterable(one.agent for one in touched.values()))
        going = gone.union(agent for agent in agents if is_leaving(agent))
        for one in touched.values():
            if one.server in gone:  # its agents were hung up on, and take a moment to leave
                self._leave(set(one.agent) - gone)
        _let_tmux_close(self._app, {one.socket for one in touched.values()}, gone)
        self._causes.update(
            (name, cause)
            for name, one in touched.items()
            if (cause := self._cause(one, going))
            and not (cause == GOOD_EXIT and name in self._causes)
        )
        self._waiter.remember_memory()
        self._look(frozenset(touched))

    def _leave(self, left: set[ProcessId]) -> None:
        until = self._app.clock.monotonic() + AGAIN_S
        while left and self._app.clock.monotonic() < until:
            left -= self._app.processes.wait(left, until - self._app.clock.monotonic())

    def _cause(self, row: _Watched, gone: frozenset[ProcessId]) -> str | None:
        """A server closes its files before it is dead, so its agents may be heard of first; and the
        server of the last agent leaves after it."""
        ends = [said for one in row.agent if one in gone and (said := self._waiter.how_ended(one))]
        # Who was killed is the cause, not who left in good order when that hung up on him.
        own = min(ends, key=lambda said: said == GOOD_EXIT, default=None)
        server = row.server
        if server is None or not (server in gone or self._is_over(server)):
            return own
        self._app.processes.wait({server}, LEAVING_S)  # on its way out: its own end tells more
        said = self._waiter.how_ended(server)
        if row.alone and own == GOOD_EXIT and said in (None, GOOD_EXIT):
            return own
        return f"{SERVER}{f' ({said})' if said else ''}"

    def _is_over(self, process: ProcessId) -> bool:
        return self._app.processes.again(process) is None or is_leaving(process)

    def _cause_of(self, name: str) -> str | None:
        """What was heard of its end; who died while we looked has not been heard of yet."""
        row = self._rows.get(name)
        if name not in self._causes and row is not None:
            return self._cause(row, frozenset(filter(self._is_over, row.agent)))
        return self._causes.get(name)

    def _look(self, only: frozenset[str] | None) -> None:
        """Reconcile, and who is to be watched from now on. What was heard of a cause counts until
        everything was seen: the end of a row may not be certain at the first look after it."""
        context, at = self._app, self._app.clock.now()
        context.books.hope()
        before = _stamp(context)
        try:
            settled = reconcile.settle(
                context, dry_run=self._segment is None, only=only, cause_of=self._cause_of
            )
        except Failure as failure:
            self._told.trouble(at, failure)
            self._rows, self._known = {}, before
            return
        if only is None:
            self._causes.clear()
        # What we have written ourselves is no news; what another wrote meanwhile is looked at next.
        self._known = settled.written or before
        self._again = self._again or settled.again
        drifts = [item for item in settled.result.results if isinstance(item, Drift)]
        if only is None:
            drifts += troubles(context.warnings)
        self._follow(settled.seen, only, {drift.name for drift in drifts if _is_over(drift)})
        self._told.drifts(at, drifts, only)
        if self._told.mourns(self._app.clock.monotonic()):
            self._again = True
        self._see_lost(settled, only, any(map(_is_over, drifts)))
        if self._segment is not None:
            states = self._segment.tell(list(self._seen.values()), again=only is None)
            if only is None:
                self._tell_states(at, states or {})

    def _see_lost(
        self, settled: reconcile.Settled, only: frozenset[str] | None, changed: bool
    ) -> None:
        """What is to be started again, by the rows as they stand after this look."""
        rows = [row for row, _ in settled.seen]
        if self._restarts is None or not (only is None or any(map(wants_restart, rows))):
            return
        if only is not None or (changed and any(map(wants_restart, rows))):
            with contextlib.suppress(Failure):  # told by the next look
                self._restarts.see(self._app.registry.look().usable)
            return
        self._restarts.see(rows)

    def _tell_states(self, at: float, states: Mapping[str, Shown]) -> None:
        """What each is at now and was not at the last full look, once; what cannot be told is no
        change."""
        known = {
            name: told
            for name, told in states.items()
            if told.state not in (None, AgentState.UNKNOWN)
        }
        changed: dict[str, dict[str, Any]] = {
            name: {**_state(told), "before": self._states[name]}
            for name, told in known.items()
            if name in self._states and self._states[name] != _state(told)["state"]
        }
        there = {name: word for name, word in self._states.items() if name in states}
        self._states = {
            **there,
            **{name: str(_state(told)["state"]) for name, told in known.items()},
        }
        if changed:
            self._app.books.note_all(
                [NewEvent(name, "state", facts) for name, facts in changed.items()]
            )
        for name, facts in changed.items():
            self._told.say(Change(name, "state", iso(at), **facts))

    def _follow(self, seen: Seen, only: frozenset[str] | None, over: Iterable[str]) -> None:
        for name in self._seen.keys() if only is None else only:
            self._rows.pop(name, None)
        found = {
            row.name: (row, sight)
            for row, sight in seen
            if not row.status.ended and row.name not in over
        }
        kept = (
            {}
            if only is None
            else {name: one for name, one in self._seen.items() if name not in only}
        )
        self._seen = {**kept, **found}
        self._rows.update({name: self._watched(sight) for name, (_, sight) in found.items()})

    def _watched(self, sight: Sight) -> _Watched:
        server = (
            self._app.processes.identify(sight.server.pid)
            if isinstance(sight.server, Server)
            else None
        )
        if server is None and isinstance(sight.server, Server):
            self._again = True  # it has died since: nobody would tell of that
        alone = isinstance(sight.server, Server) and len(sight.server.sessions) == 1
        agent = {one.id: None for one in sight.agent}  # first: its own end is the cause
        living = (*agent, *(_living(sight) - agent.keys()))
        return _Watched(sight.socket, living, server, alone)


def _living(sight: Sight) -> frozenset[ProcessId]:
    """Return whose end can be that of the row: never one that is dead, of whom a wait would tell at
    once and again. Where the session is gone, who is left of it."""
    if sight.live is Live.GONE:
        return sight.owned.ids
    leaders = sight.reach.leaders if sight.reach else frozenset[ProcessId]()
    seen = sight.owned.ids.union(one.process.id for one in sight.owned.spared)
    return (leaders & seen).union(one.id for one in sight.agent)


def _state(told: Shown) -> dict[str, str | None]:
    return {
        "state": told.state.value if told.state else None,
        "source": told.source,
        "until": told.until,
    }


def _stamp(context: Context) -> Stamp | None:
    try:
        return files.stamp_of(context.registry.resolved)
    except OSError:
        return None


def _is_over(drift: Drift) -> bool:
    return drift.drift == "dead" and drift.settled


def _let_tmux_close(context: Context, sockets: Iterable[str], gone: Iterable[ProcessId]) -> None:
    """Until no pane names a process that is gone, but for those that are to stay; not longer than a
    moment."""
    pids = {process.pid for process in gone}
    for pause_s in SETTLE_S:
        context.processes.wait((), pause_s)
        servers = [
            server for socket in sockets if isinstance(server := context.tmux.look(socket), Server)
        ]
        panes = [pane for _, _, pane in panes_of(servers)]
        if not any(pane.pid in pids and pane.remain_on_exit == "off" for pane in panes):
            return
