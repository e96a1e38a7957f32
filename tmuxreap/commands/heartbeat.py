"""`heartbeat`, where the quick way could not: says why, or does it by way of the registry."""

from __future__ import annotations

from collections.abc import Sequence

from tmuxreap import hookwords
from tmuxreap.app import App
from tmuxreap.errors import Code, Failure
from tmuxreap.ledger_records import Heartbeat, Moment
from tmuxreap.looking import look_at
from tmuxreap.model import Row
from tmuxreap.results import PlainResult, Result


def run(app: App, name: str | None, state: str | None) -> Result:
    if state is not None and state not in hookwords.STATES:
        reason = f"could not read --state: {state!r} is no state"
        raise Failure(Code.USAGE, reason, f"give one of {', '.join(hookwords.STATES)}")
    look = app.registry.look()
    meant = name if name is not None else _caller(app, look.usable)
    if look.named(meant) is None:
        reason = f"could not record a heartbeat of {meant!r}: there is no row of that name"
        raise Failure(Code.SESSION_NOT_REGISTERED, reason, "see the names with: tmuxreap list")
    told = state or hookwords.WORKING
    moment = Moment(app.place.boot_id, app.clock.uptime(), app.clock.monotonic())
    app.books.beat(Heartbeat(meant, app.clock.now(), told, hookwords.HEARTBEAT, None, moment.as_data()))
    item = PlainResult(meant, {"state": told})
    return Result("heartbeat", app.registry_name, app.clock.now(), [item], tuple(app.warnings))


def _caller(app: App, rows: Sequence[Row]) -> str:
    """By its mark; else by the session that this very process sits in."""
    marked = app.books.name_of(app.settings.mark) if app.settings.mark else None
    if marked is not None:
        return marked
    running = [row for row in rows if not row.status.ended]
    mine = [row.name for row, (sight, _) in zip(running, look_at(app, running), strict=True) if sight.mine]
    if len(mine) == 1:
        return mine[0]
    raise Failure(
        Code.SESSION_NOT_REGISTERED,
        "could not tell whose heartbeat this is: the caller sits in no registered session",
        "name it: tmuxreap heartbeat NAME",
    )
