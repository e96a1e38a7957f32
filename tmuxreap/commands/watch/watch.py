"""`watch`: reconciles when something happens, and in full at every interval.

After a death only the affected rows are looked at; all are when the registry changes or the
interval is over."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.commands.reconcile.find import Seen
from tmuxreap.commands.watch.restarting import Restarts
from tmuxreap.commands.watch.status_line import Segment
from tmuxreap.commands.watch.telling import Reporter, Tell, ledger_drift, notice
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
from tmuxreap.sessions.state import AgentState, StateReport
from tmuxreap.sessions.world import panes_of
from tmuxreap.system import files
from tmuxreap.system.files import Stamp
from tmuxreap.system.processes.procfs import is_exiting

INTERVAL_S = 10.0
LEAST_INTERVAL_S = 0.1
# tmux takes a moment to close what is left of an agent
SETTLE_S = (0.0, 0.002, 0.004, 0.008, 0.016, 0.032)
RETENTION_S, RETIRE_EVERY_S = 90 * 86400.0, 86400.0
AGAIN_S = 0.1  # until the next look, if the last one left something open
LEAVING_S = 10.0  # a process that closed its files is soon gone, except on a busy machine


@frozen
class WatchRequest:
    # at least LEAST_INTERVAL_S: a full look costs more than the rest of the watch
    interval_s: float = INTERVAL_S
    command: str | None = None
    reap: tuple[Kind, ...] = ()  # verdicts that are carried out after each full look
    settle: bool = True  # otherwise it reports only, and writes nothing
    notify: bool = False  # messages to the attached clients


def run(context: Context, request: WatchRequest, tell: Tell, waiter: Waiter | None = None) -> None:
    """Watch until asked to end. `waiter`: lets the caller end the watch."""
    waiter = waiter or Waiter(context.processes, context.registry.resolved)
    segment = Segment(context) if request.settle else None
    try:
        reporter = Reporter(
            tell, request.command, str(context.registry.path), settles=request.settle
        )
        watch = _Watch(context, waiter, reporter, segment, request.reap)
        if request.notify:
            reporter.show = watch.notify
        watch.run(request.interval_s)
    finally:
        if segment is not None:
            segment.unset()
        waiter.close()


@frozen
class _Watched:
    """Processes whose end affects a row: its agent, its pane's first process, and the server."""

    socket: str
    agent: tuple[ProcessId, ...]
    server: ProcessId | None
    alone: bool = False  # the server's only session: the server ends with it

    @property
    def all(self) -> frozenset[ProcessId]:
        return frozenset((*self.agent, self.server) if self.server else self.agent)


class _Watch:
    def __init__(
        self,
        context: Context,
        waiter: Waiter,
        reporter: Reporter,
        segment: Segment | None,  # None: it writes nothing at all
        reap: tuple[Kind, ...],
    ) -> None:
        self._app = context
        self._waiter = waiter
        self._reporter = reporter
        self._segment = segment
        self._reap = reap
        self._stuck: set[str] = set()  # names whose reaping failed: one attempt is enough
        self._seen: dict[str, tuple[Row, Sight]] = {}  # the running rows
        self._rows: dict[str, _Watched] = {}
        self._causes: dict[str, str] = {}
        self._states: dict[str, str] = {}  # the state last reported or first seen
        self._known: Stamp | None = None
        kept_s = context.default_seconds("retention")
        self._retention_s = RETENTION_S if kept_s is None else kept_s
        self._again = False  # another look is needed soon
        self._restarts = Restarts(context, reporter.say) if segment is not None else None

    def run(self, interval_s: float) -> None:
        clock = self._app.clock
        due = retired = clock.monotonic()
        while True:
            self._waiter.arm()  # before the look: later writes then wake us up
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
            watched = self._children.union(*(one.all for one in self._rows.values()))
            woken = self._waiter.wait(watched, min(due, restart_at) - clock.monotonic())
            if woken.ending:
                self._reporter.flush()
                return
            if woken.gone:
                self._again = self._ended(woken.gone) or self._again
            elif not woken.changed and due <= restart_at:
                # the time is up, by a clock that runs while the machine sleeps
                due = clock.monotonic()

    @property
    def _children(self) -> frozenset[ProcessId]:
        return frozenset() if self._restarts is None else self._restarts.processes

    def _run_restarts(self) -> float:
        """Start what is due; return when to do so again."""
        if self._restarts is None:
            return math.inf
        with contextlib.suppress(Failure):  # the look reports it
            self._restarts.run_due()
        return self._restarts.next_at

    def _ended(self, gone: frozenset[ProcessId]) -> bool:
        """Handle the deaths; tell whether rows may have changed, which needs another look soon."""
        children = gone & self._children
        if children and self._restarts is not None:
            with contextlib.suppress(Failure):
                self._restarts.ended(children)
        if gone - children:
            self._look_after_deaths(gone - children)
        return bool(gone - children)

    def notify(self, event: Change) -> None:
        """Show the event to the clients of the session."""
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
            self._reporter.say(event)
            if event.error is not None:
                self._stuck.add(event.name)

    def _look_after_deaths(self, gone: frozenset[ProcessId]) -> None:
        """Look at the rows that these deaths affect."""
        touched = {name: row for name, row in self._rows.items() if row.all & gone}
        # tmux may hear that a terminal closed before the process that closed it is dead.
        agents = set(chain.from_iterable(row.agent for row in touched.values()))
        dying = gone.union(agent for agent in agents if is_exiting(agent))
        for row in touched.values():
            if row.server in gone:  # its agents got a hangup, and take a moment to exit
                self._await_exit(set(row.agent) - gone)
        _let_tmux_close(self._app, {row.socket for row in touched.values()}, gone)
        self._causes.update(
            (name, cause)
            for name, row in touched.items()
            if (cause := self._cause(row, dying))
            and not (cause == GOOD_EXIT and name in self._causes)
        )
        self._waiter.remember_memory()
        self._look(frozenset(touched))

    def _await_exit(self, left: set[ProcessId]) -> None:
        until = self._app.clock.monotonic() + AGAIN_S
        while left and self._app.clock.monotonic() < until:
            left -= self._app.processes.wait(left, until - self._app.clock.monotonic())

    def _cause(self, row: _Watched, gone: frozenset[ProcessId]) -> str | None:
        """Tell how the row ended. A server closes its files before it exits, so its agents' deaths
        may be reported first; and the server of the last agent ends after that agent."""
        causes = [
            how
            for process in row.agent
            if process in gone and (how := self._waiter.how_ended(process))
        ]
        # A process that was killed is the cause; the others then exited cleanly on the hangup.
        own = min(causes, key=lambda how: how == GOOD_EXIT, default=None)
        server = row.server
        if server is None or not (server in gone or self._is_over(server)):
            return own
        self._app.processes.wait({server}, LEAVING_S)  # it is exiting: how it ends tells more
        how = self._waiter.how_ended(server)
        if row.alone and own == GOOD_EXIT and how in (None, GOOD_EXIT):
            return own
        return f"{SERVER}{f' ({how})' if how else ''}"

    def _is_over(self, process: ProcessId) -> bool:
        return self._app.processes.refresh(process) is None or is_exiting(process)

    def _cause_of(self, name: str) -> str | None:
        """Return the cause of the row's end, even if it was not reported yet."""
        row = self._rows.get(name)
        if name not in self._causes and row is not None:
            return self._cause(row, frozenset(filter(self._is_over, row.agent)))
        return self._causes.get(name)

    def _look(self, only: frozenset[str] | None) -> None:
        """Reconcile and update what is watched. Causes are kept until a full look: the end of a row
        may not be certain at the first look after it."""
        context, at = self._app, self._app.clock.now()
        context.books.ledger.retry()
        before = _stamp(context)
        try:
            settled = reconcile.settle(
                context, dry_run=self._segment is None, only=only, cause_of=self._cause_of
            )
        except Failure as failure:
            self._reporter.trouble(at, failure)
            self._rows, self._known = {}, before
            return
        if only is None:
            self._causes.clear()
        # Our own write is no news; a write by others in the meantime needs another look.
        self._known = settled.written or before
        self._again = self._again or settled.again
        drifts = [item for item in settled.result.results if isinstance(item, Drift)]
        if only is None:
            drifts += ledger_drift(context.warnings)
        self._follow(settled.seen, only, {drift.name for drift in drifts if _is_over(drift)})
        self._reporter.drifts(at, drifts, only)
        if self._reporter.delays_alarms(self._app.clock.monotonic()):
            self._again = True
        self._update_restarts(settled, only, any(map(_is_over, drifts)))
        if self._segment is not None:
            states = self._segment.show(list(self._seen.values()), again=only is None)
            if only is None:
                self._report_states(at, states or {})

    def _update_restarts(
        self, settled: reconcile.Settled, only: frozenset[str] | None, changed: bool
    ) -> None:
        """Let the restarts see the rows as they stand after this look."""
        rows = [row for row, _ in settled.seen]
        if self._restarts is None or not (only is None or any(map(wants_restart, rows))):
            return
        if only is not None or (changed and any(map(wants_restart, rows))):
            with contextlib.suppress(Failure):  # the next look reports it
                self._restarts.see(self._app.registry.look().usable)
            return
        self._restarts.see(rows)

    def _report_states(self, at: float, states: Mapping[str, StateReport]) -> None:
        """Report each state that changed since the last full look; unknown is no change."""
        known = {
            name: shown
            for name, shown in states.items()
            if shown.state not in (None, AgentState.UNKNOWN)
        }
        changed: dict[str, dict[str, Any]] = {
            name: {**_state(shown), "before": self._states[name]}
            for name, shown in known.items()
            if name in self._states and self._states[name] != _state(shown)["state"]
        }
        last = {name: state for name, state in self._states.items() if name in states}
        self._states = {
            **last,
            **{name: str(_state(shown)["state"]) for name, shown in known.items()},
        }
        if changed:
            self._app.books.note_all(
                [NewEvent(name, "state", facts) for name, facts in changed.items()]
            )
        for name, facts in changed.items():
            self._reporter.say(Change(name, "state", iso(at), **facts))

    def _follow(self, seen: Seen, only: frozenset[str] | None, over: Iterable[str]) -> None:
        for name in self._seen.keys() if only is None else only:
            self._rows.pop(name, None)
        current = {
            row.name: (row, sight)
            for row, sight in seen
            if not row.status.ended and row.name not in over
        }
        kept = (
            {}
            if only is None
            else {name: kept_entry for name, kept_entry in self._seen.items() if name not in only}
        )
        self._seen = {**kept, **current}
        self._rows.update({name: self._watched(sight) for name, (_, sight) in current.items()})

    def _watched(self, sight: Sight) -> _Watched:
        server = (
            self._app.processes.identify(sight.server.pid)
            if isinstance(sight.server, Server)
            else None
        )
        if server is None and isinstance(sight.server, Server):
            self._again = True  # it died since: its death would not be reported
        alone = isinstance(sight.server, Server) and len(sight.server.sessions) == 1
        agent = {one.id: None for one in sight.agent}  # first, because its own end is the cause
        living = (*agent, *(_living(sight) - agent.keys()))
        return _Watched(sight.socket, living, server, alone)


def _living(sight: Sight) -> frozenset[ProcessId]:
    """Return the processes whose end may end the row, live ones only: a dead one would wake every
    wait. If the session is gone, return its remaining processes."""
    if sight.live is Live.GONE:
        return sight.owned.ids
    leaders = sight.reach.leaders if sight.reach else frozenset[ProcessId]()
    seen = sight.owned.ids.union(one.process.id for one in sight.owned.spared)
    return (leaders & seen).union(one.id for one in sight.agent)


def _state(report: StateReport) -> dict[str, str | None]:
    return {
        "state": report.state.value if report.state else None,
        "source": report.source,
        "until": report.until,
    }


def _stamp(context: Context) -> Stamp | None:
    try:
        return files.stamp_of(context.registry.resolved)
    except OSError:
        return None


def _is_over(drift: Drift) -> bool:
    return drift.drift == "dead" and drift.settled


def _let_tmux_close(context: Context, sockets: Iterable[str], gone: Iterable[ProcessId]) -> None:
    """Wait a moment until tmux closed the panes of dead processes, except those set to remain."""
    pids = {process.pid for process in gone}
    for pause_s in SETTLE_S:
        context.processes.wait((), pause_s)
        servers = [
            server for socket in sockets if isinstance(server := context.tmux.look(socket), Server)
        ]
        panes = [pane for _, _, pane in panes_of(servers)]
        if not any(pane.pid in pids and pane.remain_on_exit == "off" for pane in panes):
            return
