"""Owns the restarts of lost sessions: when each is due, the processes that carry it out, and what
each does (`_bring_back`): it starts one lost session again. It claims the attempt in the ledger
first, so that of two watches only one goes on, and a canceled restart stays canceled.

The watch never starts a session itself: it must hear deaths meanwhile. The ledger has the
outcome."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from tmuxreap.commands.start import spec_of
from tmuxreap.commands.starting.comeback import take_up
from tmuxreap.commands.starting.launch import launch, make_way
from tmuxreap.commands.starting.row import Again, Launch, NoPlace, save_environment, surroundings
from tmuxreap.core.answers import Change
from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.model import ProcessId, Row
from tmuxreap.core.results import Item, Result
from tmuxreap.core.times import short_duration
from tmuxreap.core.values import frozen, replace
from tmuxreap.ending.end import popen_outside
from tmuxreap.ledger.records import NewEvent, RecordedEvent
from tmuxreap.ledger.schema import BEGINNINGS
from tmuxreap.registry.rows import Restart, loss_key, pause_s, wants_restart
from tmuxreap.registry.transitions import is_lost
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.under_way import (
    FAILED,
    GIVEN_UP,
    RESTARTING,
    LedgerUnreadable,
    Pending,
)

BRING_BACK = "_bring_back"
AT_ONCE = 4
RESTARTED = "restarted"


@frozen
class _Due:
    loss: str
    tried: int
    at: float  # by the monotonic clock


class RestartProcess:
    """The process of one restart."""

    def __init__(self, context: Context, known: Pending) -> None:
        registry = str(context.registry.resolved)
        words = (BRING_BACK, "--", registry, known.name, known.loss, str(known.tried))
        self._process = popen_outside(words, context.settings.environ)
        identity = context.processes.identify(self._process.pid)
        self.id = identity or ProcessId(self._process.pid, 0)

    def close(self) -> None:
        """Reap the finished process."""
        self._process.wait()


Begin = Callable[[Context, Pending], RestartProcess]


@frozen
class _Running:
    child: RestartProcess
    name: str
    latest: int  # ID of the last event before it


class Restarts:
    def __init__(
        self, context: Context, say: Callable[[Change], None], begin: Begin = RestartProcess
    ) -> None:
        self._context = context
        self._say = say
        self._begin = begin
        self._due: dict[str, _Due] = {}
        self._settled: dict[str, str] = {}  # by name: the loss after which no restart follows
        self._running: dict[ProcessId, _Running] = {}
        self._silent: Counter[str] = Counter()  # attempts without a record in the ledger
        self._kept: dict[str, int | None] = {}  # pids whose environment was saved

    @property
    def processes(self) -> frozenset[ProcessId]:
        return frozenset(self._running)

    @property
    def next_at(self) -> float:
        """When the next restart is due; infinite if none is, or none may start now."""
        if len(self._running) >= AT_ONCE:
            return float("inf")
        return min((due.at for due in self._due.values()), default=float("inf"))

    def see(self, rows: Iterable[Row]) -> None:
        """Update what is due from all current rows."""
        wanting = [row for row in rows if wants_restart(row)]
        lost = {row.name: row for row in wanting if is_lost(row)}
        losses = {name: loss_key(row) for name, row in lost.items()}
        self._due = {name: due for name, due in self._due.items() if losses.get(name) == due.loss}
        self._silent = Counter({name: self._silent[name] for name in lost if self._silent[name]})
        busy = {one.name for one in self._running.values()}
        for name, row in lost.items():
            if not (name in self._due or name in busy or self._settled.get(name) == losses[name]):
                self._schedule(row)
        for row in wanting:  # also sessions that no `start` made
            if not row.status.ended and self._kept.get(row.name) != row.pane.pid:
                self._kept[row.name] = row.pane.pid
                save_environment(self._context, row)

    def run_due(self) -> None:
        now = self._context.clock.monotonic()
        ready = sorted((due.at, name) for name, due in self._due.items() if due.at <= now)
        ready = ready[: AT_ONCE - len(self._running)]
        if not ready:
            return
        look = self._context.registry.look()
        for _, name in ready:
            due = self._due.pop(name)
            row = look.named(name)
            known = None
            if row is not None and is_lost(row):
                known = self._pending(row)
            if known is not None and (known.loss, known.tried) == (due.loss, due.tried):
                self._start(known)
            elif known is not None:  # another watch took the attempt
                self._await(known)

    def ended(self, gone: Iterable[ProcessId]) -> None:
        """Report the outcome of these processes, and schedule the next attempts."""
        for restart in [self._running.pop(process) for process in gone]:
            restart.child.close()
            events = self._context.books.events({restart.name}, None, restart.latest)
            outcomes = [event for event in events if _is_outcome(event)]
            if outcomes:
                self._silent[restart.name] = 0
            else:
                self._silent[restart.name] = self._silent[restart.name] + 1
            pids = [event.data.get("pid") for event in events if event.kind == RESTARTING]
            if restart.child.id.pid in pids:  # otherwise another watch reports it
                for event in outcomes:
                    self._say(_change_of(event))
        self.see(self._context.registry.look().usable)

    def _start(self, known: Pending) -> None:
        latest = self._latest_event(known.name) or 0
        try:
            child = self._begin(self._context, known)
        except OSError:  # no process can be started: retry later
            self._silent[known.name] += 1
            self._await(known)
            return
        self._running[child.id] = _Running(child, known.name, latest)

    def _schedule(self, row: Row) -> None:
        known = self._pending(row)
        if known is None:
            return
        if not known.used_up:
            self._await(known)
            return
        within = short_duration(known.policy.limit.within_s)
        self._give_up(row, f"it was started again {known.recent} times within {within}")

    def _await(self, known: Pending) -> None:
        pause = pause_s(max(known.recent, self._silent[known.name]))
        at = self._context.clock.monotonic() + pause
        self._due[known.name] = _Due(known.loss, known.tried, at)

    def _pending(self, row: Row) -> Pending | None:
        try:
            known = self._context.restarts.pending(row)
        except LedgerUnreadable:
            return None  # asked again at the next look
        except ValueError as error:
            self._give_up(row, str(error))
            return None
        if known is None:
            self._settled[row.name] = loss_key(row)
        return known

    def _give_up(self, row: Row, reason: str) -> None:
        latest = self._latest_event(row.name)
        if latest is None:
            return
        self._settled[row.name] = loss_key(row)
        if give_up(self._context, row.name, loss_key(row), reason):
            for event in self._context.books.events({row.name}, None, latest):
                self._say(_change_of(event))

    def _latest_event(self, name: str) -> int | None:
        """Return the ID of its last event, 0 without one; None if the ledger cannot be read."""
        history = self._context.books.history(name)
        if history is None:
            return None
        return history[-1].id if history else 0


def _is_outcome(event: RecordedEvent) -> bool:
    return event.kind in (FAILED, GIVEN_UP) or "restart" in event.data


def _change_of(event: RecordedEvent) -> Change:
    data = event.data
    if event.kind in BEGINNINGS:
        news = Change(event.name, RESTARTED, event.timestamp, settled=True, by="watch")
        attempt = data.get("restart")
        return replace(news, attempt=attempt, evidence=f"attempt {attempt}, {event.kind}")
    error = data.get("error")
    details = error if isinstance(error, dict) else {}
    news = Change(event.name, event.kind, event.timestamp)
    return replace(
        news,
        evidence=data.get("reason") or details.get("message"),
        hint=data.get("hint") or details.get("hint"),
        attempt=data.get("attempt"),
    )


def bring_back(context: Context, name: str, loss: str, tried: int) -> Result:
    """Restart the session, unless `tried` is out of date: then another watch may be at it."""
    row = context.registry.look().named(name)
    items: list[Item] = []
    if row is not None and name not in context.active.busy():
        with contextlib.suppress(ValueError, LedgerUnreadable):  # the watch reports it
            known = context.restarts.pending(row)
            is_same = known is not None and (known.loss, known.tried) == (loss, tried)
            if known is not None and is_same and context.restarts.claim(known):
                items = _tried(context, row, known)
    return context.result("bring_back", items)


def _tried(context: Context, row: Row, known: Pending) -> list[Item]:
    try:
        spec = _spec(context, row, known)
        make_way(context, context.registry.look(), row, spec, replace=False)
        return [launch(context, spec)]
    except (_Moot, KeyboardInterrupt):
        return []
    except Failure as failure:
        _failed(context, known, failure)
        return []


def _failed(context: Context, known: Pending, failure: Failure) -> None:
    facts: dict[str, object] = {"attempt": known.tried + 1, "error": failure.as_json()}
    if failure.code is Code.NOT_RESUMABLE or isinstance(failure, NoPlace):
        if failure.code is Code.NOT_RESUMABLE:  # a resume would be refused for the same reason
            facts["hint"] = command("start", known.name)
        give_up(context, known.name, known.loss, failure.message, facts)
    else:
        context.books.note_all([NewEvent(known.name, FAILED, {"loss": known.loss, **facts})])


def give_up(
    context: Context, name: str, loss: str, reason: str, facts: Mapping[str, object] | None = None
) -> bool:
    """Record that no restart follows; False if it was canceled or another watch gave up first."""
    data = {"reason": reason, "hint": command("resume", name), **(facts or {})}
    return context.restarts.decide(name, loss, GIVEN_UP, data)


def _spec(context: Context, row: Row, known: Pending) -> Launch:
    """Resume the conversation; run the command again, which may hold a prompt, only if asked to."""
    row = context.restarts.as_begun(row)
    try:
        spec = take_up(context, row)
    except Failure as failure:
        if failure.code is not Code.NOT_RESUMABLE or known.policy.when is not Restart.ALWAYS:
            raise
        spec = spec_of(context, row)
    socket = row.tmux.socket or spec.socket

    def check() -> None:
        now = context.registry.look().named(row.name)
        still = now is not None and loss_key(now) == known.loss and context.restarts.pending(now)
        if not still or row.name not in context.books.open_intents():
            raise _Moot(Code.SESSION_EXISTS, f"could not start {row.name} again: not any more")

    again = Again(known.tried + 1, surroundings(context, row, socket), check)
    return replace(spec, socket=socket, again=again)


class _Moot(Failure):
    """It was canceled, or runs already, or nothing can be recorded: nothing is reported."""
