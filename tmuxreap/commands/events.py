"""`events`: what happened, as the ledger has it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tmuxreap.app import App
from tmuxreap.ledger_records import Event
from tmuxreap.results import PlainResult, Result
from tmuxreap.selectors import is_pattern, is_sweeping
from tmuxreap.values import frozen

FOLLOW_LOOK_S = 0.25


@frozen
class EventsRequest:
    targets: tuple[str, ...] = ()
    since_s: float | None = None


def run(app: App, request: EventsRequest) -> Result:
    found = [_result(event) for event in _events(app, request, 0)]
    return Result("events", app.registry_name, app.clock.now(), found, tuple(app.warnings))


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
    if not any(is_pattern(target) or is_sweeping(target) for target in request.targets):
        app.registry.look()  # a registry that cannot be read is said, not passed over
        return set(request.targets)
    from tmuxreap.choosing import choose_rows
    from tmuxreap.selectors import Wanted

    chosen = choose_rows(app, app.registry.look(), request.targets, Wanted.ALL)
    return {row.name for row in chosen.rows} | {one.target for one in chosen.missing}


def _result(event: Event) -> PlainResult:
    facts = {"id": event.id, "timestamp": event.timestamp, "kind": event.kind, "data": event.data}
    return PlainResult(event.name, {**facts, "before": event.before})
