"""`events`: shows what happened, from the ledger."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator

from tmuxreap.core.answers import news as answers
from tmuxreap.core.answers.base import problem_of
from tmuxreap.core.results import Result
from tmuxreap.core.values import frozen
from tmuxreap.ledger.records import Event
from tmuxreap.registry.targets import Chosen
from tmuxreap.sessions.context import Context

FOLLOW_LOOK_S = 0.25


@frozen
class EventsRequest:
    targets: tuple[str, ...] = ()
    since_s: float | None = None


def run(context: Context, request: EventsRequest) -> Result:
    recorded = [_result(event) for event in _events(context, request, 0)]
    items = [*recorded, *_unknown_targets(context, request, {event.name for event in recorded})]
    return context.result("events", items)


def follow(
    context: Context, request: EventsRequest, keep_going: Callable[[], bool] = lambda: True
) -> Iterator[answers.Event]:
    """Yield the recorded events, then new ones as they are written."""
    last = 0
    while keep_going():
        for event in _events(context, request, last):
            last = event.id
            yield _result(event)
        context.processes.wait((), FOLLOW_LOOK_S)


def _events(context: Context, request: EventsRequest, after: int) -> list[Event]:
    since = None if request.since_s is None else context.clock.now() - request.since_s
    return context.books.events(_names(context, request), since, after)


def _names(context: Context, request: EventsRequest) -> Collection[str] | None:
    """Return the names to look for; the events of a forgotten session need no row."""
    if not request.targets or "all" in request.targets:
        return None
    chosen = _chosen(context, request)
    bad = {row.name for row in chosen.bad if row.name is not None}
    return {row.name for row in chosen.rows} | bad | {missing.target for missing in chosen.missing}


def _unknown_targets(
    context: Context, request: EventsRequest, told: Container[str]
) -> Iterator[answers.Event]:
    """Yield an error for each target with neither a row nor an event."""
    for missing in _chosen(context, request).missing if request.targets else ():
        if missing.target not in told and not context.books.events({missing.target}, None):
            yield answers.Event(missing.target, error=problem_of(missing.failure))


def _chosen(context: Context, request: EventsRequest) -> Chosen:
    from tmuxreap.commands.targets import choose_rows
    from tmuxreap.registry.targets import Wanted

    return choose_rows(context, context.registry.look(), request.targets, Wanted.ALL)


def _result(event: Event) -> answers.Event:
    values = (event.id, event.timestamp, event.kind, event.data, event.before)
    return answers.Event(event.name, *values)
