"""`heartbeat`, the slow path: works through the registry, or tells why it failed."""

from __future__ import annotations

from collections.abc import Sequence

from tmuxreap.agents.hooks import events
from tmuxreap.core.answers import Beat
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Row
from tmuxreap.core.results import Result
from tmuxreap.ledger.records import Heartbeat, Moment
from tmuxreap.sessions.context import Context


def run(context: Context, name: str | None, state: str | None) -> Result:
    if state is not None and state not in events.STATES:
        reason = f"could not read --state: {state!r} is not a state"
        raise Failure(Code.USAGE, reason, f"give one of {', '.join(events.STATES)}")
    look = context.registry.look()
    if name is not None:
        target = name
    else:
        target = _caller(context, look.usable)
    if look.named(target) is None:
        reason = f"could not record a heartbeat of {target!r}: there is no row of that name"
        raise Failure(Code.SESSION_NOT_REGISTERED, reason, "see the names with: tmuxreap list")
    recorded = state or events.WORKING
    moment = Moment.now(context.place.boot_id, context.clock)
    context.books.beat(
        Heartbeat(target, context.clock.now(), recorded, events.HEARTBEAT, None, moment.as_data())
    )
    item = Beat(target, recorded)
    return context.result("heartbeat", [item])


def _caller(context: Context, rows: Sequence[Row]) -> str:
    """Return the caller's name, from its mark or from the session that this process runs in."""
    marked = None
    if context.settings.mark:
        marked = context.books.name_of(context.settings.mark)
    if marked is not None:
        return marked
    running = [row for row in rows if not row.status.ended]
    enclosing = context.caller.rows_around(running)
    if len(enclosing) == 1:
        return enclosing[0].name
    reason = "could not attribute the heartbeat: this command runs in no registered session"
    hint = "give its name: tmuxreap heartbeat NAME"
    raise Failure(Code.SESSION_NOT_REGISTERED, reason, hint)
