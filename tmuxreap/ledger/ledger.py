"""The ledger: events, intents in progress, and a mirror of the rows for readers of SQL.

Owns the queries and transactions. Never decides: rows, owners and times are passed in, and where it
differs from the registry, the registry is right. A Ledger belongs to one thread of one process.

`mirror` and `intents` are imported late: many commands only look."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tmuxreap.core.cache import CacheEntry
from tmuxreap.core.model import ProcessId
from tmuxreap.core.times import iso
from tmuxreap.ledger import records as records
from tmuxreap.ledger import schema as schema
from tmuxreap.ledger.database import Connection, Database, supports_json
from tmuxreap.ledger.records import (
    Begun,
    Busy,
    Closing,
    Event,
    Heartbeat,
    Intent,
    Mirror,
    NewEvent,
    NewIntent,
    Pulse,
    Survivor,
    to_json,
)

if TYPE_CHECKING:
    from typing_extensions import Self

FEW_NAMES = 100  # at most these are named in a query; for more, all rows are read and filtered


class Ledger(Database):
    @classmethod
    def open(cls, path: Path, *, now: float, busy_s: float = 2.0) -> Self:
        """Open or create a ledger. An unreadable one is set aside and replaced, with a warning."""
        ledger = cls(path, now, busy_s)
        ledger.run(lambda db: None)
        return ledger

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The mirror and the events

    def mirrored_digest(self) -> str | None:
        rows = self.fetch(schema.SHOWN_DIGEST)
        return str(rows[0][0]) if rows else None

    def reading(self, what: str, stamp: str) -> str | None:
        query = "SELECT data FROM readings WHERE what = ? AND stamp = ?"
        rows = self.fetch(query, (what, stamp))
        return str(rows[0][0]) if rows else None

    def write(
        self,
        mirror: Mirror | None,
        events: Iterable[NewEvent] = (),
        closings: Iterable[Closing] = (),
        cache_entries: Iterable[CacheEntry] = (),
        *,
        now: float,
    ) -> frozenset[int]:
        """Write rows, events, closed intents and cache entries in one transaction. Return the
        intents that were not closed before."""
        new_events, closed = tuple(events), tuple(closings)
        cached = [(one.what, one.stamp, one.data) for one in cache_entries]
        cache = "INSERT OR REPLACE INTO readings (what, stamp, data) VALUES (?, ?, ?)"

        def work(db: Connection) -> frozenset[int]:
            if mirror is not None:
                from tmuxreap.ledger.mirror import update

                update(db, mirror)
            db.executemany(cache, cached)
            _note(db, new_events, now)
            if not closed:
                return frozenset()
            from tmuxreap.ledger.intents import close

            return frozenset(closing.id for closing in closed if close(db, closing, now))

        return self.transact(work)

    def note_unless(
        self, event: NewEvent, unless: Callable[[Sequence[Event]], bool], now: float
    ) -> bool:
        """Record an event unless earlier ones forbid it, in one transaction."""

        def work(db: Connection) -> bool:
            found = db.execute(f"{schema.EVENT} WHERE name = ? ORDER BY id", (event.name,))
            if unless([records.event_of(row) for row in found.fetchall()]):
                return False
            _note(db, (event,), now)
            return True

        return self.transact(work)

    def events(
        self, names: Collection[str] | None = None, since: float | None = None, after_id: int = 0
    ) -> list[Event]:
        """Return events in the order in which they were recorded."""
        start = since if since is not None else float("-inf")
        wanted = None if names is None else frozenset(names)
        few = sorted(wanted) if wanted is not None and len(wanted) <= FEW_NAMES else []
        of_them = f"AND name IN ({', '.join('?' * len(few))}) " if few else ""
        query = f"{schema.EVENT} WHERE id > ? AND at >= ? {of_them}ORDER BY id"
        rows = self.fetch(query, (after_id, start, *few))
        return [records.event_of(row) for row in rows if wanted is None or row[3] in wanted]

    def retire(self, before: float) -> None:
        """Delete old heartbeats and state events, but keep the last one that names a row's
        conversation, and all those of sessions with an open intent or survivors."""

        def work(db: Connection) -> None:
            db.execute(schema.RETIRE_HEARTBEATS, (before,))
            db.execute(schema.RETIRE_STATES, (before,))

        self.transact(work)

    def drop_events(self, name: str) -> None:
        """Delete a session's history. Open intents and survivors are kept."""

        def work(db: Connection) -> None:
            db.execute("DELETE FROM events WHERE name = ?", (name,))
            db.execute("DELETE FROM heartbeats WHERE name = ?", (name,))
            db.execute("DELETE FROM intents WHERE name = ? AND outcome IS NOT NULL", (name,))

        self.transact(work)

    # Intents: one ending at a time

    def begin_intents(
        self,
        new_intents: Sequence[NewIntent],
        *,
        owner_alive: Callable[[Intent], bool],
        take_over: bool,
        now: float,
    ) -> list[Begun | Busy]:
        """Record that endings begin. `owner_alive` is called within the transaction: it must be
        fast.

        The open intent of a dead owner is always taken over, that of a living one only with
        `take_over`. Durable: after a power failure every agent is dead, and only the intent tells
        that it was to be ended."""

        def work(db: Connection) -> list[Begun | Busy]:
            from tmuxreap.ledger.intents import begin

            return [begin(db, new, owner_alive, take_over, now) for new in new_intents]

        return self.transact(work, durable=True)

    def open_intents(self) -> list[Intent]:
        rows = self.fetch(f"{schema.INTENT} WHERE outcome IS NULL ORDER BY id")
        return [records.intent_of(row) for row in rows]

    def latest_intent(self) -> int:
        """Return the highest number of any intent, open or closed; 0 before the first."""
        ((number,),) = self.fetch("SELECT coalesce(max(id), 0) FROM intents")
        return int(number)

    def begun_since(self, number: int) -> set[str]:
        """Return the names of sessions that have an intent with a higher number, open or closed."""
        rows = self.fetch("SELECT name FROM intents WHERE id > ?", (number,))
        return {str(name) for (name,) in rows}

    def intent(self, number: int) -> Intent | None:
        rows = self.fetch(f"{schema.INTENT} WHERE id = ?", (number,))
        return records.intent_of(rows[0]) if rows else None

    def still_open(self, number: int) -> bool:
        """Tell whether an intent is still open. One lost with a broken ledger counts as open: its
        owner goes on."""
        closed = "SELECT 1 FROM intents WHERE id = ? AND outcome IS NOT NULL"
        return not self.fetch(closed, (number,))

    def hand_over(self, number: int, owner: ProcessId) -> bool:
        """Give an intent to another process of the same boot; return False if it is closed."""
        change = """UPDATE intents SET handed_from = owner_pid, owner_pid = ?, owner_start = ?
            WHERE id = ? AND outcome IS NULL"""
        values = (owner.pid, owner.start, number)
        return self.transact(lambda db: db.execute(change, values).rowcount == 1)

    # Survivors and marks

    def remember_survivors(
        self, name: str, survivors: Iterable[Survivor], *, now: float, intent_id: int | None = None
    ) -> None:
        """Add survivors; known ones keep the time when they were first seen."""
        rows = [(name, *s.process, s.boot_id, s.comm, now, intent_id) for s in survivors]
        self.transact(lambda db: db.executemany(schema.ADD_SURVIVOR, rows))

    def all_survivors(self) -> dict[str, tuple[Survivor, ...]]:
        query = "SELECT name, pid, start, boot_id, comm FROM survivors ORDER BY since, pid"
        alive: dict[str, tuple[Survivor, ...]] = {}
        for name, pid, start, boot_id, comm in self.fetch(query):
            survivor = Survivor(ProcessId(pid, start), boot_id, comm)
            alive[name] = (*alive.get(name, ()), survivor)
        return alive

    def remember_mark(self, name: str, mark: str, now: float) -> None:
        """Record the mark in a session's environment; each start has its own."""
        add = "INSERT OR REPLACE INTO marks (mark, name, created_at) VALUES (?, ?, ?)"
        self.transact(lambda db: db.execute(add, (mark, name, now)))

    def marks_of(self, names: Collection[str]) -> dict[str, str]:
        """Return the latest mark of each name."""
        few = tuple(names) if len(names) <= FEW_NAMES else ()
        only = f"WHERE name IN ({', '.join('?' * len(few))}) " if few else ""
        query = f"SELECT name, mark FROM marks {only}ORDER BY created_at, rowid"  # noqa: S608
        return {str(name): str(mark) for name, mark in self.fetch(query, few)}

    def name_of(self, mark: str) -> str | None:
        rows = self.fetch("SELECT name FROM marks WHERE mark = ?", (mark,))
        return str(rows[0][0]) if rows else None

    # Heartbeats and tasks

    def record_heartbeat(self, beat: Heartbeat) -> None:
        values = (beat.name, beat.at, beat.state, beat.kind, beat.conversation_id)
        self.transact(lambda db: db.execute(schema.ADD_HEARTBEAT, (*values, to_json(beat.data))))

    def heartbeats(self, name: str) -> list[Heartbeat]:
        """Return a session's heartbeats, the latest first; about fifty are kept."""
        rows = self.fetch(f"{schema.HEARTBEAT} AND name = ? ORDER BY id DESC", (name,))
        return [records.heartbeat_of(row) for row in rows]

    def last_heartbeats(self) -> dict[str, Heartbeat]:
        latest = "id IN (SELECT max(id) FROM heartbeats GROUP BY name)"
        found = self.fetch(f"{schema.HEARTBEAT} AND {latest}")
        return {row[0]: records.heartbeat_of(row) for row in found}

    def pulses(self) -> dict[str, Pulse]:
        """Return each agent's latest pulse, its own or that in another tool's table."""
        latest = {row[0]: records.pulse_of(row[1:]) for row in self.fetch(schema.PULSE)}
        for name, kind, state, at in self.run(_other_tools_heartbeats):
            before = latest.get(name)
            if before is None or before.at < at or (state and before.at <= at):
                latest[name] = Pulse(kind, state, at, before.conversation_id if before else None)
        return latest

    def set_task(self, task_id: str, status: str, error_message: str | None, now: float) -> None:
        from tmuxreap.ledger import lifecycle  # imported late: few sessions have a task

        self.transact(lambda db: lifecycle.set_task(db, task_id, status, error_message, iso(now)))

    def lifecycle_problems(self) -> list[str]:
        """Report what cannot be written to other tools' tables."""
        from tmuxreap.ledger import lifecycle

        return self.run(lambda db: lifecycle.find_problems(db, supports_json(db)))


def _other_tools_heartbeats(db: Connection) -> list[tuple[str, str, str, float]]:
    if not db.execute(schema.LIFECYCLE_IS_TABLE).fetchone():
        return []
    from tmuxreap.ledger import lifecycle  # imported late: few ledgers have another tool's table

    return lifecycle.read_heartbeats(db)


def _note(db: Connection, events: Iterable[NewEvent], now: float) -> None:
    rows = [(now, iso(now), e.name, e.kind, to_json(e.data), e.before) for e in events]
    db.executemany(schema.ADD_EVENT, rows)
