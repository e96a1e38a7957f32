"""The intents in the ledger: at most one of a session is open. Never decides whether an owner
lives: the caller says so."""

from __future__ import annotations

from collections.abc import Callable

from tmuxreap.ledger import records as records
from tmuxreap.ledger import schema as schema
from tmuxreap.ledger.database import Connection
from tmuxreap.ledger.records import Begun, Busy, Closing, Intent, NewIntent


def begin(
    db: Connection,
    new: NewIntent,
    owner_alive: Callable[[Intent], bool],
    take_over: bool,
    now: float,
) -> Begun | Busy:
    """Record that an ending begins, or return the one that stands in its way."""
    before = find_open(db, new.name)
    if before is None:
        return Begun(_add(db, new, now), None)
    alive = owner_alive(before)
    # A start in progress cannot be taken over: there is nothing to end yet.
    if alive and (not take_over or before.verb == records.START):
        return Busy(before)
    result = {"by_verb": new.verb, "owner_was_alive": alive}
    close(db, Closing(before.id, "taken_over", result), now)
    begun = _add(db, records.with_inherited_options(before, new), now)
    db.execute("UPDATE intents SET taken_over_by = ? WHERE id = ?", (begun.id, before.id))
    return Begun(begun, before)


def close(db: Connection, closing: Closing, now: float) -> bool:
    """Close an intent; return False if another process already has. One lost with a broken ledger
    returns True, as its owner has finished."""
    change = """UPDATE intents SET outcome = ?, result = ?, closed_at = ?
        WHERE id = ? AND outcome IS NULL"""
    values = (closing.outcome, records.to_json(closing.result), now, closing.id)
    return db.execute(change, values).rowcount == 1 or find(db, closing.id) is None


def find_open(db: Connection, name: str) -> Intent | None:
    row = db.execute(f"{schema.INTENT} WHERE name = ? AND outcome IS NULL", (name,)).fetchone()
    return records.intent_of(row) if row else None


def find(db: Connection, number: int | None) -> Intent | None:
    row = db.execute(f"{schema.INTENT} WHERE id = ?", (number,)).fetchone()
    return records.intent_of(row) if row else None


def _add(db: Connection, new: NewIntent, now: float) -> Intent:
    what = (new.name, new.verb, new.reason, new.scope)
    owner = (new.owner.pid, new.owner.start, new.boot_id)
    values = (*what, *owner, now, new.deadline, records.options_to_json(new.options), new.plan)
    intent = find(db, db.execute(schema.ADD_INTENT, values).lastrowid)
    assert intent is not None  # noqa: S101 - inserted in this transaction
    return intent
