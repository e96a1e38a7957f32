"""`wait`: waits until sessions reach a state or are gone. Never changes anything. The kernel
reports deaths and writes to registry and ledger; if only screens can tell, they are read every
second."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Protocol

from tmuxreap.commands.targets import choose_rows, not_chosen
from tmuxreap.commands.watch.waiting import Waiter, Woken
from tmuxreap.core.answers.base import problem_of
from tmuxreap.core.answers.endings import Awaited
from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.model import Live, ProcessId, Row
from tmuxreap.core.results import Item, Result
from tmuxreap.core.values import frozen, replace, slotted
from tmuxreap.registry.targets import Wanted
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.look import sights_of
from tmuxreap.sessions.sight import Sight
from tmuxreap.sessions.state import StateReport

SCREENS_EVERY_S = 1.0
CLOSING_S, CLOSING_STEP_S = 0.5, 0.01  # how long tmux may take to close what a death leaves
LONG_S = 3600.0  # if only kernel events matter
DEAD = (Live.GONE, Live.AGENT_GONE, Live.REPLACED)


class Until(Enum):
    IDLE = "idle"
    WAITING = "waiting"
    WORKING = "working"
    LIMITED = "limited"
    GONE = "gone"
    ENDED = "ended"

    @property
    def of_the_living(self) -> bool:
        return self not in (Until.GONE, Until.ENDED)


@frozen
class WaitRequest:
    targets: tuple[str, ...]
    until: Until
    any: bool = False
    timeout_s: float | None = None


class AnyWaiter(Protocol):
    """The part of `Waiter` that a wait needs."""

    def arm(self) -> None: ...

    def wait(self, processes: Iterable[ProcessId], timeout_s: float) -> Woken: ...


@slotted
class _Awaited:
    row: Row
    state: str | None = None
    reached: bool = False
    died: bool = False
    waited_s: float = 0.0
    processes: frozenset[ProcessId] = frozenset()
    unsure: bool = False  # only another look can tell
    unseen: str | None = None  # why it could not be looked at

    @property
    def pending(self) -> bool:
        return not (self.reached or self.died)


def run(context: Context, request: WaitRequest, waiter: AnyWaiter | None = None) -> Result:
    look = context.registry.look()
    chosen = choose_rows(context, look, request.targets, Wanted.RUNNING)
    awaited = [_Awaited(row) for row in chosen.rows]
    with contextlib.nullcontext(waiter) if waiter else event_waiter(context) as waiter:
        in_time = _Wait(context, request, awaited, waiter).run()
    done = request.any and any(one.reached for one in awaited)
    answers = [_answer(one, request, in_time=in_time or done) for one in awaited]
    items: list[Item] = [replace(one, error=None) if done else one for one in answers]
    items += not_chosen(look, chosen, Awaited)
    return context.result("wait", items)


@contextlib.contextmanager
def event_waiter(context: Context) -> Iterator[Waiter]:
    """Yield a waiter for deaths, the registry and the ledger."""
    ledger = context.books.path
    ledger_files = (ledger, ledger.with_name(f"{ledger.name}-wal"))
    waiter = Waiter(context.processes, context.registry.resolved, signals=False, more=ledger_files)
    try:
        yield waiter
    finally:
        waiter.close()


class _Wait:
    def __init__(
        self, context: Context, request: WaitRequest, awaited: Sequence[_Awaited], waiter: AnyWaiter
    ) -> None:
        self._context = context
        self._request = request
        self._awaited = awaited
        self._waiter = waiter
        self._states = context.states

    def run(self) -> bool:
        """Wait; tell whether the state was reached in time."""
        clock = self._context.clock
        start = clock.monotonic()
        limit_s = self._request.timeout_s
        closing = start
        while True:
            self._waiter.arm()  # before the look: later changes then wake us up
            self._look(clock.monotonic() - start)
            pending = [one for one in self._awaited if one.pending]
            reached = any(one.reached for one in self._awaited)
            if not pending or (self._request.any and reached):
                return True
            left_s = LONG_S if limit_s is None else start + limit_s - clock.monotonic()
            if left_s <= 0:
                return False
            pause_s = min(left_s, self._pause(pending, closing - clock.monotonic()))
            woken = self._waiter.wait(
                frozenset().union(*(one.processes for one in pending)), pause_s
            )
            if woken.gone:
                closing = clock.monotonic() + CLOSING_S

    def _pause(self, pending: Sequence[_Awaited], closing_s: float) -> float:
        if closing_s > 0:
            return CLOSING_STEP_S
        looks = self._request.until.of_the_living or any(one.unsure for one in pending)
        return SCREENS_EVERY_S if looks else LONG_S

    def _look(self, waited_s: float) -> None:
        pending = [one for one in self._awaited if one.pending]
        # while the registry cannot be read, keep the rows
        with contextlib.suppress(Failure):
            look = self._context.registry.look()
            for one in pending:
                one.row = look.named(one.row.name) or one.row
                one.reached = self._request.until is Until.ENDED and _has_ended(
                    look.named(one.row.name)
                )
        rows = [one.row for one in pending]
        sights = sights_of(self._context, rows)
        states: Sequence[StateReport] = self._states.of(rows, sights) if rows else ()
        for one, sight, report in zip(pending, sights, states, strict=True):
            one.waited_s = waited_s
            self._judge(one, sight, report)

    def _judge(self, one: _Awaited, sight: Sight, report: StateReport) -> None:
        until = self._request.until
        one.state = report.state.value if report.state else None
        one.processes = frozenset(own.process.id for own in sight.owned.own)
        one.unseen = sight.trouble.message if sight.live is Live.UNKNOWN and sight.trouble else None
        one.unsure = sight.live is Live.UNKNOWN or not one.processes
        if until is Until.GONE:
            one.reached = (
                sight.live is not Live.UNKNOWN and sight.session is None and not sight.owned.own
            )
        elif until.of_the_living:
            one.reached = one.state == until.value
            one.died = not one.reached and sight.live in DEAD


def _has_ended(row: Row | None) -> bool:
    return row is None or row.status.ended


def _answer(one: _Awaited, request: WaitRequest, *, in_time: bool) -> Awaited:
    failure = None if one.reached else _why_not(one, request, in_time)
    waited_ms = round(one.waited_s * 1000)
    return Awaited(one.row.name, one.state, one.reached, waited_ms, problem_of(failure))


def _why_not(one: _Awaited, request: WaitRequest, in_time: bool) -> Failure | None:
    name, until = one.row.name, request.until.value
    if one.died:
        reason = f"could not wait until {name} is {until}: it is gone"
        return Failure(
            Code.GONE, reason, "see what became of it: tmuxreap reconcile, then tmuxreap list"
        )
    if in_time:
        return None
    state = one.state or ("not alive" if request.until.of_the_living else "still there")
    seen = one.unseen or f"it is {state}"
    reason = f"could not see {name} {until} in {request.timeout_s:g} s: {seen}"
    hint = f"wait longer with --timeout, or look at it: {command('show', name)}"
    return Failure(Code.TIMED_OUT, reason, hint)
