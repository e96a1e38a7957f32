"""One ending at a time: a second stop waits for the first and tells what came of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tmuxreap.core.errors import Code, Failure, LockIsHeld, command
from tmuxreap.core.model import Row
from tmuxreap.core.results import Item
from tmuxreap.core.values import replace
from tmuxreap.ending.plan import PaneOption, Plan
from tmuxreap.ledger.records import START, Intent
from tmuxreap.ledger.records import PaneOption as RecordedOption
from tmuxreap.registry.transitions import is_lost, wants_restart
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.shown import BANNER_OPTION, SIBLINGS_OPTION

JOIN_LOOK_S = 0.05
SUSPENDED = frozenset("Tt")  # states of a process: C-z, SIGSTOP, a debugger


_under_way: set[tuple[Path, int]] = set()  # in this very process, in whatever thread


def owner_alive(context: Context, intent: Intent) -> bool:
    """Also of one that lives on as a server: what it does no more has no owner."""
    if intent.boot_id != context.place.boot_id or context.processes.again(intent.owner) is None:
        return False
    return intent.owner.pid != context.place.pid or (context.books.path, intent.id) in _under_way


def busy_names(context: Context, intents: Mapping[str, Intent]) -> set[str]:
    """Whom another is ending, or starting, at this moment: they are his."""
    return {name for name, intent in intents.items() if owner_alive(context, intent)}


def called_off(context: Context, rows: Sequence[Row], verb: str) -> list[Row]:
    """The rows as they stand when no restart of them is to come any more, nor under way."""
    return [
        _called_off(context, row, verb) if is_lost(row) and wants_restart(row) else row
        for row in rows
    ]


def _called_off(context: Context, row: Row, verb: str) -> Row:
    from tmuxreap.sessions.restarts import cancel  # few rows ask for it

    if cancel(context, row, verb):
        context.warnings.append(f"restart_cancelled: {row.name} will not be started again")
    while (intent := context.books.open_intents().get(row.name)) is not None:
        late = context.clock.now() > intent.deadline
        if late or intent.verb != START or not owner_alive(context, intent):
            break
        if context.lock_held:
            raise LockIsHeld(f"wait for the start of {row.name}")
        context.processes.wait({intent.owner}, JOIN_LOOK_S)
    return context.registry.look().named(row.name) or row


@contextlib.contextmanager
def under_way(context: Context) -> Iterator[Callable[[Iterable[Intent]], None]]:
    """What is begun in here is ours until here; what was not brought to its end is nobody's from
    then on."""
    ours: set[tuple[Path, int]] = set()

    def begin(intents: Iterable[Intent]) -> None:
        ours.update((context.books.path, intent.id) for intent in intents)
        _under_way.update(ours)

    try:
        yield begin
    finally:
        _under_way.difference_update(ours)


def join(context: Context, intent: Intent) -> Item | None:
    """Another stop is at it: send nothing, wait, report what came of it. None when its owner died.
    Nobody waits for ever for one that does not come to its end."""
    from tmuxreap.ending.results import failed_target

    told = False
    while True:
        now = context.books.intent(intent.id)
        if now is None or now.outcome is not None:
            return _joined(now)
        if not owner_alive(context, now):
            return None
        late = context.clock.now() > now.deadline
        if late:
            return failed_target(now.name, _stuck(now, suspended=_is_suspended(context, now)))
        if not told and context.progress is not None and _is_suspended(context, now):
            told = True
            stuck = _stuck(now, suspended=True)
            context.progress.waits(now.name, f"{stuck.message}; {stuck.hint}")
        context.processes.wait({now.owner}, JOIN_LOOK_S)


def _is_suspended(context: Context, intent: Intent) -> bool:
    owner = context.processes.again(intent.owner)
    return owner is not None and owner.state in SUSPENDED


def _stuck(intent: Intent, *, suspended: bool) -> Failure:
    state = "is suspended" if suspended else "did not end in its time"
    message = (
        f"could not end {intent.name}: another {intent.verb} of it (pid {intent.owner.pid}) {state}"
    )
    if intent.verb == START:  # there is nothing yet to end
        return Failure(
            Code.STILL_RUNNING, message, f"end that start first: kill {intent.owner.pid}"
        )
    return Failure(
        Code.STILL_RUNNING, message, f"take it over with: {command('kill', intent.name)}"
    )


def outcome_of_taker(context: Context, number: int) -> Item | None:
    """What came of a session at the hands of who took it over; None when nobody did, or did not
    live to say."""
    intent = context.books.intent(number)
    while intent is not None and intent.taken_over_by is not None:
        intent = context.books.intent(intent.taken_over_by)
    return join(context, intent) if intent is not None and intent.id != number else None


def _joined(closed: Intent | None) -> Item | None:
    recorded = dict(closed.result or {}) if closed else {}
    if "outcome" not in recorded:
        return None  # taken over, or lost: look again
    from tmuxreap.core.answers.base import read
    from tmuxreap.ending.results import EndResult

    return replace(read(EndResult, recorded), joined=True)


def with_options(plan: Plan, inherited: Intent) -> Plan:
    """What a dead owner had changed on this pane is put back by who goes on with its ending."""
    if plan.pane is None:
        return plan
    known = {option.option for option in plan.options}
    older = [
        one for one in inherited.options if one.pane == plan.pane.id and one.socket == plan.socket
    ]
    if (
        inherited.verb == START and plan.pane.remain_on_exit == "on"
    ):  # for the time of its confirmation
        older = [RecordedOption(plan.socket, plan.pane.id, BANNER_OPTION, None)]
    values = {BANNER_OPTION: "on", SIBLINGS_OPTION: "off"}
    more = [
        PaneOption(o.pane, o.option, o.before, values[o.option])
        for o in older
        if o.option not in known
    ]
    return replace(plan, options=(*plan.options, *more))
