"""`wait`: waits until sessions reach a state or are gone. Never changes anything. The kernel
reports deaths and writes to registry and ledger; if only screens can tell, they are read every
second."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from typing import Protocol

from tmuxreap.commands.targets import choose_rows, not_chosen
from tmuxreap.commands.watch.waiting import Waiter, Woken
from tmuxreap.core.answers import Awaited
from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.model import AgentState, Live, ProcessId, Row
from tmuxreap.core.results import Item, Result, problem_of
from tmuxreap.core.values import frozen, slotted
from tmuxreap.proof.identity import Moved
from tmuxreap.proof.sight import Sight
from tmuxreap.proof.state import StateReport
from tmuxreap.registry.targets import Wanted
from tmuxreap.sessions.context import Context

SCREENS_EVERY_S = 1.0
CLOSING_S = 0.5  # how long tmux may take to close what a death leaves
CLOSING_STEP_S = 0.01
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
    state: AgentState | None = None
    reached: bool = False
    died: bool = False
    waited_s: float = 0.0
    processes: frozenset[ProcessId] = frozenset()
    unsure: bool = False  # only another look can tell
    unseen: str | None = None  # why it could not be looked at
    moved: Moved | None = None  # it lives on under another name

    @property
    def pending(self) -> bool:
        return not (self.reached or self.died)


def run(context: Context, request: WaitRequest, waiter: AnyWaiter | None = None) -> Result:
    look = context.registry.look()
    chosen = choose_rows(context, look, request.targets, Wanted.RUNNING)
    awaited = [_Awaited(row) for row in chosen.rows]
    if waiter is not None:
        in_time = _wait(context, request, awaited, waiter)
    else:
        with event_waiter(context) as events:
            in_time = _wait(context, request, awaited, events)
    done = request.any and any(one.reached for one in awaited)
    items: list[Item] = []
    for one in awaited:
        items.append(_answer(one, request, in_time=in_time, done=done))
    items += not_chosen(look, chosen, Awaited)
    nobody = f"nothing to wait for: no session in {look.path} is running"
    return context.result("wait", items, greeting=None if items else nobody)


def event_waiter(context: Context, kind: type[Waiter] = Waiter) -> AbstractContextManager[Waiter]:
    """Return a waiter for deaths, the registry and the ledger."""
    ledger = context.books.path
    files = (ledger, ledger.with_name(f"{ledger.name}-wal"))
    registry = context.registry.resolved
    return contextlib.closing(kind(context.processes, registry, signals=False, more=files))


def pause(context: Context, waiter: AnyWaiter | None, seconds: float) -> None:
    """Wait for a word of the agents' hooks, or for a while: only a screen may tell."""
    if waiter is not None:
        waiter.arm()
        waiter.wait((), seconds)
        return
    with event_waiter(context) as own:
        own.arm()
        own.wait((), seconds)


def _wait(
    context: Context, request: WaitRequest, awaited: Sequence[_Awaited], waiter: AnyWaiter
) -> bool:
    """Wait; tell whether the state was reached in time."""
    clock = context.clock
    start = closing = clock.monotonic()
    while True:
        waiter.arm()  # before the look: later changes then wake us up
        pending = [one for one in awaited if one.pending]
        _look(context, request.until, pending, clock.monotonic() - start)
        pending = [one for one in pending if one.pending]
        if not pending or (request.any and any(one.reached for one in awaited)):
            return True
        pause_s = LONG_S
        if closing > clock.monotonic():
            pause_s = CLOSING_STEP_S
        elif request.until.of_the_living or any(one.unsure for one in pending):
            pause_s = SCREENS_EVERY_S
        if request.timeout_s is not None:
            pause_s = min(pause_s, start + request.timeout_s - clock.monotonic())
        if pause_s <= 0:
            return False
        woken = waiter.wait(frozenset().union(*(one.processes for one in pending)), pause_s)
        if woken.gone:
            closing = clock.monotonic() + CLOSING_S


def _look(context: Context, until: Until, pending: Sequence[_Awaited], waited_s: float) -> None:
    # while the registry cannot be read, keep the rows
    with contextlib.suppress(Failure):
        look = context.registry.look()
        for one in pending:
            row = look.named(one.row.name)
            one.row = row or one.row
            one.reached = until is Until.ENDED and (row is None or row.status.ended)
    rows = [one.row for one in pending]
    # Only once: the waiter hears every write to the ledger, and would wake for our own.
    sights = context.sights.of(rows, remembers=waited_s == 0)
    states: Sequence[StateReport]
    if rows:
        states = context.states.of(rows, sights)
    else:
        states = ()
    for one, sight, report in zip(pending, sights, states, strict=True):
        one.waited_s = waited_s
        _judge(one, until, sight, report)


def _judge(one: _Awaited, until: Until, sight: Sight, report: StateReport) -> None:
    unknown = sight.live is Live.UNKNOWN
    one.state = report.state
    one.processes = sight.owned.ids.union(process.id for process in sight.unproven)
    if sight.trouble and (unknown or isinstance(sight.trouble, Moved)):
        one.unseen = sight.trouble.message
    else:
        one.unseen = None
    one.moved = sight.trouble if isinstance(sight.trouble, Moved) else None
    one.unsure = unknown or not one.processes
    if until is Until.GONE:
        elsewhere = unknown or one.moved is not None
        one.reached = not elsewhere and sight.session is None and not one.processes
    elif until.of_the_living:
        one.reached = one.state == until.value
        one.died = not one.reached and sight.live in DEAD


def _answer(one: _Awaited, request: WaitRequest, *, in_time: bool, done: bool) -> Awaited:
    if one.reached or done:
        failure = None
    else:
        failure = _why_not(one, request, in_time)
    waited_ms = round(one.waited_s * 1000)
    return Awaited(one.row.name, one.state, one.reached, waited_ms, error=problem_of(failure))


def _why_not(one: _Awaited, request: WaitRequest, in_time: bool) -> Failure | None:
    name = one.row.name
    until = request.until.value
    if one.died and one.moved is not None:
        return one.moved
    if one.died:
        reason = f"could not wait until {name} is {until}: it is gone"
        hint = "see what became of it: tmuxreap reconcile, then tmuxreap list"
        return Failure(Code.GONE, reason, hint)
    if in_time:
        return None
    state = f"still {one.state or 'there'}"
    if not one.state and request.until.of_the_living:
        state = "not alive"
    seen = one.unseen or f"it is {state}"
    reason = f"could not wait until {name} is {until}: after {request.timeout_s:g} s {seen}"
    hint = f"wait longer with --timeout, or look at it: {command('show', name)}"
    return Failure(Code.TIMED_OUT, reason, hint)
