"""The ledger beside the registry: what happened, what is under way, and a mirror of the rows for
those who read SQL.

Owns what is written there and when it counts. It never decides: rows, owners and times are given to
it, and where it differs from the registry, the registry is right. One ledger object belongs to one
thread of one process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from tmuxreap.core.cache import Reading
from tmuxreap.core.model import ProcessId
from tmuxreap.ledger import records as records
from tmuxreap.ledger import schema as schema
from tmuxreap.ledger.database import Connection, Database, speaks_json
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

FEW_NAMES = 100  # that a query may name; more are looked for among all
T = TypeVar("T")


class Ledger:
    def __init__(self, database: Database) -> None:
        self._db = database

    @classmethod
    def open(cls, path: Path, *, now: float, busy_s: float = 2.0) -> Ledger:
        """Open, or create. One that cannot be read is set aside and made anew; `warnings` says
        so."""
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
        """The digest of the registry that the mirror shows; None before the first."""
        return self._db.run(_digest)

    def mirror(self, rows: Iterable[MirrorRow], digest: str) -> None:
        """Make the mirror show these rows and no others."""
        mirror = Mirror(tuple(rows), digest)
        self._db.write(lambda db: _mirror(db, mirror))

    def reading(self, what: str, stamp: str) -> str | None:
        found = self._db.fetch(
            "SELECT data FROM readings WHERE what = ? AND stamp = ?", (what, stamp)
        )
        return str(found[0][0]) if found else None

    def write(
        self,
        mirror: Mirror | None,
        events: Iterable[NewEvent] = (),
        closings: Iterable[Closing] = (),
        readings: Iterable[Reading] = (),
        *,
        now: float,
    ) -> frozenset[int]:
        """Rows, events, ends of intents, readings: all or none. Returns the intents that nobody had
        closed before."""
        noted, ended, read = (
            tuple(events),
            tuple(closings),
            [(one.what, one.stamp, one.data) for one in readings],
        )

        def work(db: Connection) -> frozenset[int]:
            if mirror is not None:
                _mirror(db, mirror)
            db.executemany(
                "INSERT OR REPLACE INTO readings (what, stamp, data) VALUES (?, ?, ?)", read
            )
            _note(db, noted, now)
            return frozenset(closing.id for closing in ended if _close(db, closing, now))

        return self._db.write(work)

    def record_event(self, event: NewEvent, now: float) -> None:
        self._db.write(lambda db: _note(db, (event,), now))

    def note_unless(
        self, event: NewEvent, unless: Callable[[Sequence[Event]], bool], now: float
    ) -> bool:
        """Record it in the same step in which it is seen that nothing stands against it."""

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
        """In the order in which they were recorded."""
        start = since if since is not None else float("-inf")
        wanted = None if names is None else frozenset(names)
        few = sorted(wanted) if wanted is not None and len(wanted) <= FEW_NAMES else []
        of_them = f"AND name IN ({', '.join('?' * len(few))}) " if few else ""
        query = f"{schema.EVENT} WHERE id > ? AND at >= ? {of_them}ORDER BY id"
        found = self._db.fetch(query, (after_id, start, *few))
        return [records.event_of(row) for row in found if wanted is None or row[3] in wanted]

    def retire(self, before: float) -> None:
        """Drop what was said and which states were seen before then, but for what may still be
        needed: of a row that stands the last word on its conversation, all of who is being ended,
        or has left survivors."""

        def work(db: Connection) -> None:
            db.execute(schema.RETIRE_HEARTBEATS, (before,))
            db.execute(schema.RETIRE_STATES, (before,))

        self._db.write(work)

    def drop_events(self, name: str) -> None:
        """Forget what happened to a session. What is under way, and who survived, stays known."""

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
        news: Sequence[NewIntent],
        *,
        owner_alive: Callable[[Intent], bool],
        take_over: bool,
        now: float,
    ) -> list[Begun | Busy]:
        """Record that endings begin. `owner_alive` is asked inside the transaction: it must be
        quick.

        The open intent of a dead owner is taken over in any case, that of a living one with
        `take_over` only. Durable against a power cut: after one every agent is dead, and the intent
        alone knows why one should be."""

        def work(db: Connection) -> list[Begun | Busy]:
            return [_begin(db, new, owner_alive, take_over, now) for new in news]

        return self._db.write(work, durable=True)

    def open_intent(self, name: str) -> Intent | None:
        return self._db.run(lambda db: _standing(db, name))

    def open_intents(self) -> list[Intent]:
        found = self._db.fetch(f"{schema.INTENT} WHERE outcome IS NULL ORDER BY id")
        return [records.intent_of(row) for row in found]

    def latest_intent(self) -> int:
        """The highest number of an intent, also of a closed one; 0 before the first."""
        ((number,),) = self._db.fetch("SELECT coalesce(max(id), 0) FROM intents")
        return int(number)

    def begun_since(self, number: int) -> set[str]:
        """Whose intents have a higher number, whatever became of them."""
        return {
            str(name)
            for (name,) in self._db.fetch("SELECT name FROM intents WHERE id > ?", (number,))
        }

    def intent(self, number: int) -> Intent | None:
        return self._db.run(lambda db: _numbered(db, number))

    def still_open(self, number: int) -> bool:
        """Nobody closed it. One that was lost with a broken ledger was not closed: its owner goes
        on."""
        return not self._db.fetch(
            "SELECT 1 FROM intents WHERE id = ? AND outcome IS NOT NULL", (number,)
        )

    def close_intent(self, closing: Closing, now: float) -> bool:
        """False, and without effect, when another closed it before."""
        return self._db.write(lambda db: _close(db, closing, now))

    def hand_over(self, number: int, owner: ProcessId) -> bool:
        """To another process of the same boot; False when it is no longer open."""
        change = """UPDATE intents SET handed_from = owner_pid, owner_pid = ?, owner_start = ?
            WHERE id = ? AND outcome IS NULL"""
        values = (owner.pid, owner.start, number)
        return self._db.write(lambda db: db.execute(change, values).rowcount == 1)

    # Survivors and marks

    def remember_survivors(
        self, name: str, survivors: Iterable[Survivor], *, now: float, intent_id: int | None = None
    ) -> None:
        """Those known already keep the time at which they were first seen to survive."""
        rows = [
            (name, s.process.pid, s.process.start, s.boot_id, s.comm, now, intent_id)
            for s in survivors
        ]
        self._db.write(lambda db: db.executemany(schema.ADD_SURVIVOR, rows))

    def survivors(self, name: str) -> tuple[Survivor, ...]:
        return self.all_survivors().get(name, ())

    def all_survivors(self) -> dict[str, tuple[Survivor, ...]]:
        known: dict[str, tuple[Survivor, ...]] = {}
        for name, *rest in self._db.fetch(
            "SELECT name, pid, start, boot_id, comm FROM survivors ORDER BY since, pid"
        ):
            pid, start, boot_id, comm = rest
            known[name] = (*known.get(name, ()), Survivor(ProcessId(pid, start), boot_id, comm))
        return known

    def forget_survivors(self, name: str, gone: Iterable[Survivor]) -> None:
        rows = [(name, s.process.pid, s.process.start, s.boot_id) for s in gone]
        drop = "DELETE FROM survivors WHERE name = ? AND pid = ? AND start = ? AND boot_id = ?"
        self._db.write(lambda db: db.executemany(drop, rows))

    def remember_mark(self, name: str, mark: str, now: float) -> None:
        """What the environment of a session carries; each start has its own."""
        add = "INSERT OR REPLACE INTO marks (mark, name, created_at) VALUES (?, ?, ?)"
        self._db.write(lambda db: db.execute(add, (mark, name, now)))

    def mark_of(self, name: str) -> str | None:
        """The latest."""
        found = self._db.fetch(
            "SELECT mark FROM marks WHERE name = ? ORDER BY created_at DESC, rowid DESC", (name,)
        )
        return str(found[0][0]) if found else None

    def marks_of(self, names: Collection[str]) -> dict[str, str]:
        """The latest of each."""
        few = tuple(names) if len(names) <= FEW_NAMES else ()
        only = f"WHERE name IN ({', '.join('?' * len(few))}) " if few else ""
        query = f"SELECT name, mark FROM marks {only}ORDER BY created_at, rowid"  # noqa: S608
        return {str(name): str(mark) for name, mark in self._db.fetch(query, few)}

    def name_of(self, mark: str) -> str | None:
        found = self._db.fetch("SELECT name FROM marks WHERE mark = ?", (mark,))
        return str(found[0][0]) if found else None

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
        """The latest first; some fifty are kept."""
        found = self._db.fetch(f"{schema.HEARTBEAT} AND name = ? ORDER BY id DESC", (name,))
        return [records.heartbeat_of(row) for row in found]

    def last_heartbeat(self, name: str) -> Heartbeat | None:
        found = self._db.fetch(f"{schema.HEARTBEAT} AND name = ? ORDER BY id DESC LIMIT 1", (name,))
        return records.heartbeat_of(found[0]) if found else None

    def last_heartbeats(self) -> dict[str, Heartbeat]:
        latest = "id IN (SELECT max(id) FROM heartbeats GROUP BY name)"
        found = self._db.fetch(f"{schema.HEARTBEAT} AND {latest}")
        return {row[0]: records.heartbeat_of(row) for row in found}

    def pulses(self) -> dict[str, Pulse]:
        """The last that each agent said of itself, or that another tool's table says of it."""
        said = {row[0]: records.pulse_of(row[1:]) for row in self._db.fetch(schema.PULSE)}
        for name, kind, state, at in self._db.run(_heard):
            before = said.get(name)
            if before is None or before.at < at or (state and before.at <= at):
                said[name] = Pulse(kind, state, at, before.conversation_id if before else None)
        return said

    def set_task(self, task_id: str, status: str, error_message: str | None, now: float) -> None:
        from tmuxreap.ledger import lifecycle  # few sessions have a task

        self._db.write(
            lambda db: lifecycle.set_task(db, task_id, status, error_message, timestamp(now))
        )

    def requested(self, work: Callable[[Connection], T]) -> T:
        """Do some work on a table that few registries have: see `requests`, `surroundings`."""
        return self._db.write(work, durable=True)

    def lifecycle_troubles(self) -> list[str]:
        """Say what of another tool's tables cannot be written."""
        from tmuxreap.ledger import lifecycle

        return self._db.run(lambda db: lifecycle.troubles(db, with_json=speaks_json(db)))


def _digest(db: Connection) -> str | None:
    found = db.execute("SELECT digest FROM mirrored").fetchone()
    return str(found[0]) if found else None


def _heard(db: Connection) -> list[tuple[str, str, str, float]]:
    if not db.execute(schema.LIFECYCLE_IS_TABLE).fetchone():
        return []
    from tmuxreap.ledger import lifecycle  # few ledgers hold another tool's table

    return lifecycle.heard(db)


def _mirror(db: Connection, mirror: Mirror) -> None:
    """A change to a registry that the mirror does not show is left out: the digests disagree, and
    it is rebuilt."""
    partial = mirror.base is not None
    if (partial and mirror.base != _digest(db)) or not mirror.is_current():
        return
    wanted: dict[str, tuple[str, str, str | None, str]] = {}
    for row in mirror.rows:
        wanted.setdefault(row.name, (row.name, row.status, row.pane_cwd, to_json(row.data)))
    have = (
        {}
        if partial
        else {
            row[0]: row for row in db.execute("SELECT name, status, pane_cwd, data FROM sessions")
        }
    )
    changed = [row for name, row in wanted.items() if have.get(name) != row]
    gone = [*mirror.gone, *(name for name in have if name not in wanted)]
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
        from tmuxreap.ledger import lifecycle  # few ledgers hold another tool's table

        lifecycle.follow(db, names, with_json=speaks_json(db))
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
    before = _standing(db, new.name)
    if before is None:
        return Begun(_insert(db, new, now), None)
    alive = owner_alive(before)
    if alive and (
        not take_over or before.verb == records.START
    ):  # of a start there is nothing yet to end
        return Busy(before)
    _close(
        db, Closing(before.id, "taken_over", {"by_verb": new.verb, "owner_was_alive": alive}), now
    )
    begun = _insert(db, records.with_options_of(before, new), now)
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
    intent = _numbered(db, db.execute(schema.ADD_INTENT, values).lastrowid)
    assert intent is not None  # noqa: S101 - just written, in this transaction
    return intent


def _close(db: Connection, closing: Closing, now: float) -> bool:
    """Closed by nobody else: also one that was lost with a broken ledger, for its owner reached the
    end."""
    change = (
        "UPDATE intents SET outcome = ?, result = ?, closed_at = ? WHERE id = ? AND outcome IS NULL"
    )
    done = db.execute(change, (closing.outcome, to_json(closing.result), now, closing.id)).rowcount
    return done == 1 or _numbered(db, closing.id) is None


def _standing(db: Connection, name: str) -> Intent | None:
    found = db.execute(f"{schema.INTENT} WHERE name = ? AND outcome IS NULL", (name,)).fetchone()
    return records.intent_of(found) if found else None


def _numbered(db: Connection, number: int | None) -> Intent | None:
    found = db.execute(f"{schema.INTENT} WHERE id = ?", (number,)).fetchone()
    return records.intent_of(found) if found else None
