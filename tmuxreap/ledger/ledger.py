"""The ledger: events, intents in progress, and a mirror of the rows for readers of SQL.

Owns the queries and transactions. Never decides: rows, owners and times are passed in, and where it
differs from the registry, the registry is right. A Ledger belongs to one thread of one process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from tmuxreap.core.cache import CacheEntry
from tmuxreap.core.model import ProcessId
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
    MirrorRow,
    NewEvent,
    NewIntent,
    Pulse,
    Survivor,
    timestamp,
    to_json,
)

FEW_NAMES = 100  # at most these are named in a query; for more, all rows are read and filtered
T = TypeVar("T")


class Ledger:
    def __init__(self, database: Database) -> None:
        self._db = database

    @classmethod
    def open(cls, path: Path, *, now: float, busy_s: float = 2.0) -> Ledger:
        """Open or create a ledger. An unreadable one is set aside and replaced, with a warning."""
        database = Database(path, now, busy_s)
        database.run(lambda db: None)
        return cls(database)

    @property
    def warnings(self) -> list[str]:
        return self._db.warnings

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The mirror and the events

    def mirrored_digest(self) -> str | None:
        """Return the digest of the registry that the mirror shows; None if it is empty."""
        return self._db.run(_digest)

    def mirror(self, rows: Iterable[MirrorRow], digest: str) -> None:
        """Replace the mirror's rows."""
        mirror = Mirror(tuple(rows), digest)
        self._db.write(lambda db: _mirror(db, mirror))

    def reading(self, what: str, stamp: str) -> str | None:
        rows = self._db.fetch(
            "SELECT data FROM readings WHERE what = ? AND stamp = ?", (what, stamp)
        )
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
        new_events, closed, cached = (
            tuple(events),
            tuple(closings),
            [(one.what, one.stamp, one.data) for one in cache_entries],
        )

        def work(db: Connection) -> frozenset[int]:
            if mirror is not None:
                _mirror(db, mirror)
            db.executemany(
                "INSERT OR REPLACE INTO readings (what, stamp, data) VALUES (?, ?, ?)", cached
            )
            _note(db, new_events, now)
            return frozenset(closing.id for closing in closed if _close(db, closing, now))

        return self._db.write(work)

    def record_event(self, event: NewEvent, now: float) -> None:
        self._db.write(lambda db: _note(db, (event,), now))

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

        return self._db.write(work)

    def events(
        self, names: Collection[str] | None = None, since: float | None = None, after_id: int = 0
    ) -> list[Event]:
        """Return events in the order in which they were recorded."""
        start = since if since is not None else float("-inf")
        wanted = None if names is None else frozenset(names)
        few = sorted(wanted) if wanted is not None and len(wanted) <= FEW_NAMES else []
        of_them = f"AND name IN ({', '.join('?' * len(few))}) " if few else ""
        query = f"{schema.EVENT} WHERE id > ? AND at >= ? {of_them}ORDER BY id"
        rows = self._db.fetch(query, (after_id, start, *few))
        return [records.event_of(row) for row in rows if wanted is None or row[3] in wanted]

    def retire(self, before: float) -> None:
        """Delete old heartbeats and state events, but keep the last one that names a row's
        conversation, and all those of sessions with an open intent or survivors."""

        def work(db: Connection) -> None:
            db.execute(schema.RETIRE_HEARTBEATS, (before,))
            db.execute(schema.RETIRE_STATES, (before,))

        self._db.write(work)

    def drop_events(self, name: str) -> None:
        """Delete a session's history. Open intents and survivors are kept."""

        def work(db: Connection) -> None:
            db.execute("DELETE FROM events WHERE name = ?", (name,))
            db.execute("DELETE FROM heartbeats WHERE name = ?", (name,))
            db.execute("DELETE FROM intents WHERE name = ? AND outcome IS NOT NULL", (name,))

        self._db.write(work)

    # Intents: one ending at a time

    def begin_intent(
        self, new: NewIntent, *, owner_alive: Callable[[Intent], bool], take_over: bool, now: float
    ) -> Begun | Busy:
        return self.begin_intents((new,), owner_alive=owner_alive, take_over=take_over, now=now)[0]

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
            return [_begin(db, new, owner_alive, take_over, now) for new in new_intents]

        return self._db.write(work, durable=True)

    def open_intent(self, name: str) -> Intent | None:
        return self._db.run(lambda db: _open_intent(db, name))

    def open_intents(self) -> list[Intent]:
        rows = self._db.fetch(f"{schema.INTENT} WHERE outcome IS NULL ORDER BY id")
        return [records.intent_of(row) for row in rows]

    def latest_intent(self) -> int:
        """Return the highest number of any intent, open or closed; 0 before the first."""
        ((number,),) = self._db.fetch("SELECT coalesce(max(id), 0) FROM intents")
        return int(number)

    def begun_since(self, number: int) -> set[str]:
        """Return the names of sessions that have an intent with a higher number, open or closed."""
        return {
            str(name)
            for (name,) in self._db.fetch("SELECT name FROM intents WHERE id > ?", (number,))
        }

    def intent(self, number: int) -> Intent | None:
        return self._db.run(lambda db: _find_intent(db, number))

    def still_open(self, number: int) -> bool:
        """Tell whether an intent is still open. One lost with a broken ledger counts as open: its
        owner goes on."""
        return not self._db.fetch(
            "SELECT 1 FROM intents WHERE id = ? AND outcome IS NOT NULL", (number,)
        )

    def close_intent(self, closing: Closing, now: float) -> bool:
        """Close an intent; return False, without effect, if another process has already."""
        return self._db.write(lambda db: _close(db, closing, now))

    def hand_over(self, number: int, owner: ProcessId) -> bool:
        """Give an intent to another process of the same boot; return False if it is closed."""
        change = """UPDATE intents SET handed_from = owner_pid, owner_pid = ?, owner_start = ?
            WHERE id = ? AND outcome IS NULL"""
        values = (owner.pid, owner.start, number)
        return self._db.write(lambda db: db.execute(change, values).rowcount == 1)

    # Survivors and marks

    def remember_survivors(
        self, name: str, survivors: Iterable[Survivor], *, now: float, intent_id: int | None = None
    ) -> None:
        """Add survivors; known ones keep the time when they were first seen."""
        rows = [
            (name, s.process.pid, s.process.start, s.boot_id, s.comm, now, intent_id)
            for s in survivors
        ]
        self._db.write(lambda db: db.executemany(schema.ADD_SURVIVOR, rows))

    def survivors(self, name: str) -> tuple[Survivor, ...]:
        return self.all_survivors().get(name, ())

    def all_survivors(self) -> dict[str, tuple[Survivor, ...]]:
        alive: dict[str, tuple[Survivor, ...]] = {}
        for name, *rest in self._db.fetch(
            "SELECT name, pid, start, boot_id, comm FROM survivors ORDER BY since, pid"
        ):
            pid, start, boot_id, comm = rest
            alive[name] = (
                *alive.get(name, ()),
                Survivor(ProcessId(pid, start), boot_id, comm),
            )
        return alive

    def forget_survivors(self, name: str, gone: Iterable[Survivor]) -> None:
        rows = [(name, s.process.pid, s.process.start, s.boot_id) for s in gone]
        drop = "DELETE FROM survivors WHERE name = ? AND pid = ? AND start = ? AND boot_id = ?"
        self._db.write(lambda db: db.executemany(drop, rows))

    def remember_mark(self, name: str, mark: str, now: float) -> None:
        """Record the mark in a session's environment; each start has its own."""
        add = "INSERT OR REPLACE INTO marks (mark, name, created_at) VALUES (?, ?, ?)"
        self._db.write(lambda db: db.execute(add, (mark, name, now)))

    def mark_of(self, name: str) -> str | None:
        """Return the latest mark of a name."""
        rows = self._db.fetch(
            "SELECT mark FROM marks WHERE name = ? ORDER BY created_at DESC, rowid DESC", (name,)
        )
        return str(rows[0][0]) if rows else None

    def marks_of(self, names: Collection[str]) -> dict[str, str]:
        """Return the latest mark of each name."""
        few = tuple(names) if len(names) <= FEW_NAMES else ()
        only = f"WHERE name IN ({', '.join('?' * len(few))}) " if few else ""
        query = f"SELECT name, mark FROM marks {only}ORDER BY created_at, rowid"  # noqa: S608
        return {str(name): str(mark) for name, mark in self._db.fetch(query, few)}

    def name_of(self, mark: str) -> str | None:
        rows = self._db.fetch("SELECT name FROM marks WHERE mark = ?", (mark,))
        return str(rows[0][0]) if rows else None

    # Heartbeats and tasks

    def record_heartbeat(self, beat: Heartbeat) -> None:
        values = (
            beat.name,
            beat.at,
            beat.state,
            beat.kind,
            beat.conversation_id,
            to_json(beat.data),
        )
        self._db.write(lambda db: db.execute(schema.ADD_HEARTBEAT, values))

    def heartbeats(self, name: str) -> list[Heartbeat]:
        """Return a session's heartbeats, the latest first; about fifty are kept."""
        rows = self._db.fetch(f"{schema.HEARTBEAT} AND name = ? ORDER BY id DESC", (name,))
        return [records.heartbeat_of(row) for row in rows]

    def last_heartbeat(self, name: str) -> Heartbeat | None:
        rows = self._db.fetch(f"{schema.HEARTBEAT} AND name = ? ORDER BY id DESC LIMIT 1", (name,))
        return records.heartbeat_of(rows[0]) if rows else None

    def last_heartbeats(self) -> dict[str, Heartbeat]:
        latest = "id IN (SELECT max(id) FROM heartbeats GROUP BY name)"
        found = self._db.fetch(f"{schema.HEARTBEAT} AND {latest}")
        return {row[0]: records.heartbeat_of(row) for row in found}

    def pulses(self) -> dict[str, Pulse]:
        """Return each agent's latest pulse, its own or that in another tool's table."""
        latest = {row[0]: records.pulse_of(row[1:]) for row in self._db.fetch(schema.PULSE)}
        for name, kind, state, at in self._db.run(_other_tools_heartbeats):
            before = latest.get(name)
            if before is None or before.at < at or (state and before.at <= at):
                latest[name] = Pulse(kind, state, at, before.conversation_id if before else None)
        return latest

    def set_task(self, task_id: str, status: str, error_message: str | None, now: float) -> None:
        from tmuxreap.ledger import lifecycle  # imported late: few sessions have a task

        self._db.write(
            lambda db: lifecycle.set_task(db, task_id, status, error_message, timestamp(now))
        )

    def transact(self, work: Callable[[Connection], T]) -> T:
        """Do work on a table that few ledgers have: see `requests` and `surroundings`."""
        return self._db.write(work, durable=True)

    def lifecycle_problems(self) -> list[str]:
        """Report what cannot be written to other tools' tables."""
        from tmuxreap.ledger import lifecycle

        return self._db.run(lambda db: lifecycle.find_problems(db, with_json=supports_json(db)))


def _digest(db: Connection) -> str | None:
    row = db.execute("SELECT digest FROM mirrored").fetchone()
    return str(row[0]) if row else None


def _other_tools_heartbeats(db: Connection) -> list[tuple[str, str, str, float]]:
    if not db.execute(schema.LIFECYCLE_IS_TABLE).fetchone():
        return []
    from tmuxreap.ledger import lifecycle  # imported late: few ledgers have another tool's table

    return lifecycle.read_heartbeats(db)


def _mirror(db: Connection, mirror: Mirror) -> None:
    """Update the mirror. A partial change to a state that it does not show is skipped: the digests
    differ then, and the mirror is rebuilt."""
    partial = mirror.base is not None
    if (partial and mirror.base != _digest(db)) or not mirror.is_current():
        return
    wanted: dict[str, tuple[str, str, str | None, str]] = {}
    for row in mirror.rows:
        wanted.setdefault(row.name, (row.name, row.status, row.pane_cwd, to_json(row.data)))
    present = (
        {}
        if partial
        else {
            row[0]: row for row in db.execute("SELECT name, status, pane_cwd, data FROM sessions")
        }
    )
    changed = [row for name, row in wanted.items() if present.get(name) != row]
    gone = [*mirror.gone, *(name for name in present if name not in wanted)]
    stale = [(name,) for name in (*gone, *(row[0] for row in changed))]
    db.executemany("DELETE FROM sessions WHERE name = ?", stale)
    db.executemany(
        "INSERT INTO sessions (name, status, pane_cwd, data) VALUES (?, ?, ?, ?)", changed
    )
    names = [row[0] for row in changed]
    if db.execute("SELECT 1 FROM lifecycle_words LIMIT 1").fetchone():
        words = [(name,) for name in names]
        db.executemany("DELETE FROM lifecycle_words WHERE agent_id = ?", words)
    if db.execute(schema.LIFECYCLE_IS_TABLE).fetchone():
        from tmuxreap.ledger import lifecycle  # imported late: few have another tool's table

        lifecycle.follow(db, names, with_json=supports_json(db))
    db.execute("INSERT OR REPLACE INTO mirrored (id, digest) VALUES (1, ?)", (mirror.digest,))


def _note(db: Connection, events: Iterable[NewEvent], now: float) -> None:
    moment = now, timestamp(now)
    db.executemany(
        schema.ADD_EVENT,
        [(*moment, e.name, e.kind, to_json(e.data), e.before) for e in events],
    )


def _begin(
    db: Connection,
    new: NewIntent,
    owner_alive: Callable[[Intent], bool],
    take_over: bool,
    now: float,
) -> Begun | Busy:
    before = _open_intent(db, new.name)
    if before is None:
        return Begun(_insert(db, new, now), None)
    alive = owner_alive(before)
    # A start in progress cannot be taken over: there is nothing to end yet.
    if alive and (not take_over or before.verb == records.START):
        return Busy(before)
    _close(
        db, Closing(before.id, "taken_over", {"by_verb": new.verb, "owner_was_alive": alive}), now
    )
    begun = _insert(db, records.with_inherited_options(before, new), now)
    db.execute("UPDATE intents SET taken_over_by = ? WHERE id = ?", (begun.id, before.id))
    return Begun(begun, before)


def _insert(db: Connection, new: NewIntent, now: float) -> Intent:
    owner = (new.owner.pid, new.owner.start, new.boot_id)
    options = records.options_to_json(new.options)
    values = (
        new.name,
        new.verb,
        new.reason,
        new.scope,
        *owner,
        now,
        new.deadline,
        options,
        new.plan,
    )
    intent = _find_intent(db, db.execute(schema.ADD_INTENT, values).lastrowid)
    assert intent is not None  # noqa: S101 - inserted in this transaction
    return intent


def _close(db: Connection, closing: Closing, now: float) -> bool:
    """Close an intent; return False if another process already has. One lost with a broken ledger
    returns True, as its owner has finished."""
    change = (
        "UPDATE intents SET outcome = ?, result = ?, closed_at = ? WHERE id = ? AND outcome IS NULL"
    )
    done = db.execute(change, (closing.outcome, to_json(closing.result), now, closing.id)).rowcount
    return done == 1 or _find_intent(db, closing.id) is None


def _open_intent(db: Connection, name: str) -> Intent | None:
    row = db.execute(f"{schema.INTENT} WHERE name = ? AND outcome IS NULL", (name,)).fetchone()
    return records.intent_of(row) if row else None


def _find_intent(db: Connection, number: int | None) -> Intent | None:
    row = db.execute(f"{schema.INTENT} WHERE id = ?", (number,)).fetchone()
    return records.intent_of(row) if row else None
