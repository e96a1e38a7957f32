"""`watch`: reconciles when something happens, and in full at every interval; after a death, only
the rows that it affects.

Owns the schedule of the looks and the segment of the status line, which a user option enables on a
tmux server. Never judges a row itself."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any

from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.commands.reconcile.reconcile import Seen
from tmuxreap.commands.watch.deaths import Deaths
from tmuxreap.commands.watch.restarting import Restarts
from tmuxreap.commands.watch.telling import Reporter, Tell, ledger_drift, notice
from tmuxreap.commands.watch.waiting import Waiter
from tmuxreap.core.answers import Change, Drift
from tmuxreap.core.defaults import RETENTION_S
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import AgentState, Live, ProcessId, Row, Server, SetStatus
from tmuxreap.core.ports import Clock
from tmuxreap.core.times import iso
from tmuxreap.core.values import frozen
from tmuxreap.ledger.records import NewEvent
from tmuxreap.proof.sight import Sight
from tmuxreap.proof.state import NOTHING, StateReport
from tmuxreap.registry.rows import wants_restart
from tmuxreap.sessions.context import Context
from tmuxreap.system import files


class Segment:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._texts: dict[str, str] = {}

    def show(self, seen: Sequence[tuple[Row, Sight]], *, again: bool) -> Mapping[str, StateReport]:
        """Update the segments, and return each row's state. `again`: also unchanged segments."""
        rows = [row for row, _ in seen]
        sights = [sight for _, sight in seen]
        alive = any(sight.live is Live.ALIVE for sight in sights)
        if alive:
            states = self._context.states.of(rows, sights)
        else:
            states = [NOTHING] * len(sights)
        segments = self._texts_of(rows, sights, states)
        for socket in self._texts.keys() - segments.keys():
            segments[socket] = ""  # no session of the registry is left on it
        for socket, text in segments.items():
            if again or self._texts.get(socket) != text:
                self._set(socket, text)
                self._texts[socket] = text
        return {row.name: state for row, state in zip(rows, states, strict=True)}

    def _texts_of(
        self, rows: Sequence[Row], sights: Sequence[Sight], states: Sequence[StateReport]
    ) -> dict[str, str]:
        """Return the texts. An agent that is away because it is being stopped or restarted right
        now is not missed."""
        busy: set[str] = set()
        if any(sight.live is not Live.ALIVE for sight in sights):
            busy = self._context.active.busy()
        counted_sights = []
        counted_states = []
        for row, sight, state in zip(rows, sights, states, strict=True):
            if sight.live is Live.ALIVE or row.name not in busy:
                counted_sights.append(sight)
                counted_states.append(state)
        return texts(counted_sights, counted_states)

    def unset(self) -> None:
        """Unset the segments: nothing updates them from now on."""
        for socket in self._texts:
            self._set(socket, None)

    def _set(self, socket: str, text: str | None) -> None:
        self._context.tmux.do(socket, [SetStatus(str(self._context.registry.path), text)])


def texts(sights: Sequence[Sight], states: Sequence[StateReport]) -> dict[str, str]:
    """Return for each server how many agents are in which state (`3 working, 1 waiting`), and how
    many should run and do not. Never a name: tmux would expand it."""
    counts: dict[str, Counter[AgentState | None]] = {}
    for sight, report in zip(sights, states, strict=True):
        if isinstance(sight.server, Server):
            state = report.state if sight.live is Live.ALIVE else None
            counts.setdefault(sight.socket, Counter())[state] += 1
    return {socket: _text(count) for socket, count in counts.items()}


def _text(count: Counter[AgentState | None]) -> str:
    parts = []
    for state in AgentState:
        if count[state]:
            parts.append(f"{count[state]} {state.value}")
    text = ", ".join(parts) or "no agents"
    return f"{text} !{count[None]}" if count[None] else text


INTERVAL_S = 10.0
LEAST_INTERVAL_S = 0.1
RETIRE_EVERY_S = 86400.0
AGAIN_S = 0.1  # until the next look, if the last one left something open


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
    segment = Segment(context)
    try:
        _Watch(context, request, tell, waiter, segment).run()
    finally:
        segment.unset()
        waiter.close()


class Schedule:
    """When the next full look is due, and when the ledger is cleared next."""

    def __init__(self, clock: Clock, interval_s: float) -> None:
        self._clock = clock
        self._interval_s = interval_s
        self._look_at = clock.monotonic()
        self._retire_at = clock.monotonic()
        self._soon = False

    @property
    def is_look_due(self) -> bool:
        return self._clock.monotonic() >= self._look_at

    def begin_look(self) -> None:
        self._look_at = self._clock.monotonic() + self._interval_s

    def look_soon(self) -> None:
        """Let the next pause be a short one: the last look left something open."""
        self._soon = True

    def takes_retirement(self) -> bool:
        """Tell whether the ledger is to be cleared now; then not again for a day."""
        due = self._clock.monotonic() >= self._retire_at
        if due:
            self._retire_at = self._clock.monotonic() + RETIRE_EVERY_S
        return due

    def pause_s(self, restart_at: float) -> float:
        """Return how long to wait for the next look, or for a restart that is due before."""
        now = self._clock.monotonic()
        if self._soon:
            self._look_at = min(self._look_at, now + AGAIN_S)
            self._soon = False
        return min(self._look_at, restart_at) - now

    def waited(self, restart_at: float) -> None:
        """Take it that the pause is over, by a clock that runs while the machine sleeps."""
        if self._look_at <= restart_at:
            self._look_at = self._clock.monotonic()


class _Watch:
    def __init__(
        self, context: Context, request: WatchRequest, tell: Tell, waiter: Waiter, segment: Segment
    ) -> None:
        self._context = context
        self._request = request
        self._waiter = waiter
        self._segment = segment
        registry = str(context.registry.path)
        notify = self._notify if request.notify else None
        self._reporter = Reporter(
            tell, request.command, registry, settles=request.settle, notify=notify
        )
        self._stuck: set[str] = set()  # names whose reaping failed: one attempt is enough
        self._seen: dict[str, tuple[Row, Sight]] = {}  # the running rows
        self._deaths = Deaths(context, waiter)
        self._states: dict[str, str | None] = {}  # the state last reported or first seen
        self._known: files.Stamp | None = None
        kept_s = context.default_seconds("retention")
        if kept_s is None:
            self._retention_s = RETENTION_S
        else:
            self._retention_s = kept_s
        self._schedule = Schedule(context.clock, request.interval_s)
        # none is due if it writes nothing
        self._restarts = Restarts(context, self._reporter.say)

    def run(self) -> None:
        schedule = self._schedule
        while True:
            self._waiter.arm()  # before the look: later writes then wake us up
            if schedule.is_look_due or _stamp(self._context) != self._known:
                schedule.begin_look()
                self._look(None)
                self._reap_some()
                self._retire_some()
            with contextlib.suppress(Failure):  # the look reports it
                self._restarts.run_due()
            restart_at = self._restarts.next_at
            self._waiter.arm()
            if _stamp(self._context) != self._known:
                continue
            awaited = self._restarts.processes | self._deaths.awaited
            woken = self._waiter.wait(awaited, schedule.pause_s(restart_at))
            if woken.ending:
                self._reporter.flush()
                return
            if woken.gone:
                self._end(woken.gone)
            elif not woken.changed:
                schedule.waited(restart_at)

    def _end(self, gone: frozenset[ProcessId]) -> None:
        """Look at the rows that these deaths affect, and soon again: they may have changed."""
        children = gone & self._restarts.processes
        if children:
            with contextlib.suppress(Failure):
                self._restarts.ended(children)
        if gone - children:
            self._look(self._deaths.hear(gone - children))
            self._schedule.look_soon()

    def _notify(self, event: Change) -> None:
        """Show the event to the clients of the session."""
        known = self._seen.get(event.name)
        if known is None:
            return
        server = known[1].server
        session = known[1].session
        if isinstance(server, Server) and session is not None:
            self._context.tmux.notify(known[1].socket, server, session, notice(event))

    def _reap_some(self) -> None:
        if not self._request.reap:
            return
        from tmuxreap.commands.reap.reap import sweep_for_watch

        for event in sweep_for_watch(self._context, self._request.reap, self._stuck):
            self._reporter.say(event)
            if event.error is not None:
                self._stuck.add(event.name)

    def _retire_some(self) -> None:
        """Clear the ledger of what is older than the user keeps it."""
        if not self._request.settle or not self._schedule.takes_retirement():
            return
        if self._context.unread is None:  # else it may be meant to be kept longer
            self._context.books.retire(self._retention_s)

    def _look(self, only: frozenset[str] | None) -> None:
        """Reconcile and update what is watched. Causes are kept until a full look: the end of a row
        may not be certain at the first look after it."""
        context = self._context
        at = self._context.clock.now()
        context.books.retry()
        before = _stamp(context)
        try:
            settled = reconcile.settle(
                context,
                dry_run=not self._request.settle,
                only=only,
                cause_of=self._deaths.cause_of,
            )
        except Failure as failure:
            self._reporter.trouble(at, failure)
            self._deaths.follow({}, self._seen)
            self._known = before
            return
        # Our own write is no news; a write by others in the meantime needs another look.
        self._known = settled.written or before
        if settled.again:
            self._schedule.look_soon()
        drifts = [item for item in settled.result.results if isinstance(item, Drift)]
        if only is None:
            self._deaths.forget_causes()
            drifts += ledger_drift(context.warnings)
        over = set()
        for drift in drifts:
            if drift.drift == "dead" and drift.settled:
                over.add(drift.name)
        self._follow(settled.seen, only, over)
        self._reporter.drifts(at, drifts, only)
        if self._reporter.delays_alarms(context.clock.monotonic()):
            self._schedule.look_soon()
        if not self._request.settle:
            return
        self._update_restarts(settled.seen, only, changed=bool(over))
        states = self._segment.show(list(self._seen.values()), again=only is None)
        if only is None:
            self._report_states(at, states)

    def _follow(self, seen: Seen, only: frozenset[str] | None, over: Container[str]) -> None:
        """Watch the running rows from now on; without a full look, the others as before."""
        looked_at = list(self._seen) if only is None else only
        for name in looked_at:
            self._seen.pop(name, None)
        running = {}
        for row, sight in seen:
            if not row.status.ended and row.name not in over:
                running[row.name] = (row, sight)
        self._seen.update(running)
        sights = {name: sight for name, (_, sight) in running.items()}
        if self._deaths.follow(sights, looked_at):
            self._schedule.look_soon()

    def _update_restarts(self, seen: Seen, only: frozenset[str] | None, *, changed: bool) -> None:
        """Let the restarts see the rows as they stand after this look."""
        rows = [row for row, _ in seen]
        wanted = (only is not None or changed) and any(map(wants_restart, rows))
        if only is None and not wanted:
            self._restarts.see(rows)
        elif wanted:
            with contextlib.suppress(Failure):  # the next look reports it
                self._restarts.see(self._context.registry.look().usable)

    def _report_states(self, at: float, states: Mapping[str, StateReport]) -> None:
        """Report each state that changed since the last full look; unknown is no change."""
        changed: dict[str, dict[str, Any]] = {}
        last = self._states
        self._states = {}
        for name, report in states.items():
            before = last.get(name)
            if report.state in (None, AgentState.UNKNOWN):
                self._states[name] = before
                continue
            facts = _state(report)
            self._states[name] = facts["state"]
            if before not in (None, facts["state"]):
                changed[name] = {**facts, "before": before}
        if changed:
            events = [NewEvent(name, "state", facts) for name, facts in changed.items()]
            self._context.books.note_states(events)
        for name, facts in changed.items():
            self._reporter.say(Change(name, "state", iso(at), **facts))


def _state(report: StateReport) -> dict[str, Any]:
    return {
        "state": report.state.value if report.state else None,
        "source": report.source,
        "until": report.until,
        "waiting_for": report.waiting_for,
    }


def _stamp(context: Context) -> files.Stamp | None:
    try:
        return files.stamp_of(context.registry.resolved)
    except OSError:
        return None
