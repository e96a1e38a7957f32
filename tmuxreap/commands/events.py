"""`events`: shows what happened, from the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tmuxreap.core import answers
from tmuxreap.core.results import Result, problem_of
from tmuxreap.core.values import frozen
from tmuxreap.ledger.records import RecordedEvent
from tmuxreap.registry.targets import Chosen, Wanted
from tmuxreap.sessions.context import Context

FOLLOW_LOOK_S = 0.25


@frozen
class EventsRequest:
    targets: tuple[str, ...] = ()
    since_s: float | None = None


def run(context: Context, request: EventsRequest) -> Result:
    chosen = _chosen(context, request)
    events = _events(context, request, chosen, 0)
    recorded = {event.name for event in events}
    items = [_result(event) for event in events]
    missing = () if chosen is None else chosen.missing
    for one in missing:
        if one.target not in recorded and not context.books.events({one.target}, None):
            items.append(answers.Event(one.target, error=problem_of(one.failure)))
    return context.result("events", items)


def follow(
    context: Context, request: EventsRequest, keep_going: Callable[[], bool] = lambda: True
) -> Iterator[answers.Event]:
    """Yield the recorded events, then new ones as they are written."""
    last = 0
    while keep_going():
        for event in _events(context, request, _chosen(context, request), last):
            last = event.id
            yield _result(event)
        context.processes.wait((), FOLLOW_LOOK_S)


def _events(
    context: Context, request: EventsRequest, chosen: Chosen | None, after: int
) -> list[RecordedEvent]:
    """Return the events of the chosen names; those of a forgotten session need no row."""
    if request.since_s is None:
        since = None
    else:
        since = context.clock.now() - request.since_s
    names = None
    if chosen is not None and "all" not in request.targets:
        names = {row.name for row in chosen.rows}.union(one.target for one in chosen.missing)
        names.update(row.name for row in chosen.bad if row.name is not None)
    return context.books.events(names, since, after)


def _chosen(context: Context, request: EventsRequest) -> Chosen | None:
    if not request.targets:
        return None
    from tmuxreap.commands.targets import choose_rows

    return choose_rows(context, context.registry.look(), request.targets, Wanted.ALL)


def _result(event: RecordedEvent) -> answers.Event:
    values = (event.id, event.timestamp, event.kind, event.data, event.before)
    return answers.Event(event.name, *values)
