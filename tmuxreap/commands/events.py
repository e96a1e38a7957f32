"""`events`: what happened, as the ledger has it."""

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
    found = [_result(event) for event in _events(context, request, 0)]
    items = [*found, *_unheard_of(context, request, {event.name for event in found})]
    return Result(
        "events", context.registry_name, context.clock.now(), items, tuple(context.warnings)
    )


def follow(
    context: Context, request: EventsRequest, goes_on: Callable[[], bool] = lambda: True
) -> Iterator[answers.Event]:
    """What is there, and then what comes."""
    last = 0
    while goes_on():
        for event in _events(context, request, last):
            last = event.id
            yield _result(event)
        context.processes.wait((), FOLLOW_LOOK_S)


def _events(context: Context, request: EventsRequest, after: int) -> list[Event]:
    since = None if request.since_s is None else context.clock.now() - request.since_s
    return context.books.events(_names(context, request), since, after)


def _names(context: Context, request: EventsRequest) -> Collection[str] | None:
    """Names need no row: the events of a forgotten session are still there."""
    if not request.targets or "all" in request.targets:
        return None
    chosen = _chosen(context, request)
    bad = {row.name for row in chosen.bad if row.name is not None}
    return {row.name for row in chosen.rows} | bad | {one.target for one in chosen.missing}


def _unheard_of(
    context: Context, request: EventsRequest, told: Container[str]
) -> Iterator[answers.Event]:
    """What has neither a row nor ever an event."""
    for one in _chosen(context, request).missing if request.targets else ():
        if one.target not in told and not context.books.events({one.target}, None):
            yield answers.Event(one.target, error=problem_of(one.failure))


def _chosen(context: Context, request: EventsRequest) -> Chosen:
    from tmuxreap.commands.targets import choose_rows
    from tmuxreap.registry.targets import Wanted

    return choose_rows(context, context.registry.look(), request.targets, Wanted.ALL)


def _result(event: Event) -> answers.Event:
    told = (event.id, event.timestamp, event.kind, event.data, event.before)
    return answers.Event(event.name, *told)
