"""`events`: what happened, as the ledger has it."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator

from tmuxreap.app import App
from tmuxreap.ledger_records import Event
from tmuxreap.results import PlainResult, Result
from tmuxreap.selectors import Chosen
from tmuxreap.values import frozen

FOLLOW_LOOK_S = 0.25


@frozen
class EventsRequest:
    targets: tuple[str, ...] = ()
    since_s: float | None = None


def run(app: App, request: EventsRequest) -> Result:
    found = [_result(event) for event in _events(app, request, 0)]
    items = [*found, *_unheard_of(app, request, {event.name for event in found})]
    return Result("events", app.registry_name, app.clock.now(), items, tuple(app.warnings))


def follow(app: App, request: EventsRequest) -> Iterator[PlainResult]:
    """What is there, and then what comes."""
    last = 0
    while True:
        for event in _events(app, request, last):
            last = event.id
            yield _result(event)
        app.processes.wait((), FOLLOW_LOOK_S)


def _events(app: App, request: EventsRequest, after: int) -> list[Event]:
    since = None if request.since_s is None else app.clock.now() - request.since_s
    return app.books.events(_names(app, request), since, after)


def _names(app: App, request: EventsRequest) -> Collection[str] | None:
    """Names need no row: the events of a forgotten session are still there."""
    if not request.targets or "all" in request.targets:
        return None
    chosen = _chosen(app, request)
    bad = {row.name for row in chosen.bad if row.name is not None}
    return {row.name for row in chosen.rows} | bad | {one.target for one in chosen.missing}


def _unheard_of(app: App, request: EventsRequest, told: Container[str]) -> Iterator[PlainResult]:
    """What has neither a row nor ever an event."""
    for one in _chosen(app, request).missing if request.targets else ():
        if one.target not in told and not app.books.events({one.target}, None):
            yield PlainResult(one.target, {}, one.failure)


def _chosen(app: App, request: EventsRequest) -> Chosen:
    from tmuxreap.choosing import choose_rows
    from tmuxreap.selectors import Wanted

    return choose_rows(app, app.registry.look(), request.targets, Wanted.ALL)


def _result(event: Event) -> PlainResult:
    facts = {"id": event.id, "timestamp": event.timestamp, "kind": event.kind, "data": event.data}
    return PlainResult(event.name, {**facts, "before": event.before})
