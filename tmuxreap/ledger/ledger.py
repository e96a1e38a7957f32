"""The ledger's queries: events, intents, survivors, marks, heartbeats. What cannot be read is
empty, and what cannot be recorded is a warning. Never decides: rows and owners are passed in, and
where it differs from the registry, the registry is right."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from tmuxreap.core import faults
from tmuxreap.core.faults import Step
from tmuxreap.core.model import ProcessId
from tmuxreap.core.times import iso
from tmuxreap.ledger import records, schema
from tmuxreap.ledger.database import Connection, Database, in_transaction
from tmuxreap.ledger.records import (
    Begun,
    Busy,
    Closing,
    Heartbeat,
    Intent,
    Memory,
    NewEvent,
    NewIntent,
    News,
    Pulse,
    RecordedEvent,
    SeenPane,
    Survivor,
    to_json,
)
from tmuxreap.ledger.schema import supports_json
from tmuxreap.registry.transitions import end_key, is_ended

SAME_CHANGE_S = 30.0  # two watches look at different moments, at most 10 s apart
FEW_NAMES = 500  # at most these are named in a query: SQLite takes 999 values


class Ledger(Database):
    # Events

    def events(
        self, names: Collection[str] | None = None, since: float | None = None, after_id: int = 0
    ) -> list[RecordedEvent]:
        """Return events in the order in which they were recorded."""
        return self.read(lambda db: _events(db, names, since, after_id)) or []

    def _of_names(
        self, query: str, names: Collection[str], *values: object, order: str = ""
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of these names, some names at a time: a ledger also knows the thousands
        that have no row any more, and a watch would grow with them."""
        rest = iter(names)
        while few := tuple(islice(rest, FEW_NAMES)):
            only = f" AND name IN ({', '.join('?' * len(few))}) {order}"
            yield from self.rows(query + only, (*values, *few))

    def history(self, name: str) -> list[RecordedEvent] | None:
        """Return all events of a session; None if the ledger is unavailable."""
        if self.is_missing:
            return []
        return self.use("ledger_not_read", lambda db: _events(db, {name}))

    def lives(self, names: Sequence[str]) -> dict[str, list[RecordedEvent]]:
        """Return, in their order, the events that tell when these sessions began and ended."""
        found: dict[str, list[RecordedEvent]] = {name: [] for name in names}
        for row in self._of_names(schema.LIVES, names, order="ORDER BY id"):
            event = records.event_of(row)
            found[event.name].append(event)
        return found

    def end_keys(self, names: Sequence[str]) -> dict[str, str]:
        """Return what the rows of these sessions show since their newest ends, in short."""
        found = self._of_names("SELECT name, shows FROM ends WHERE true", names)
        return {str(name): str(key) for name, key in found}

    def newest_ends(self) -> list[RecordedEvent]:
        """Return the event of each session's newest end."""
        return [records.event_of(row) for row in self.rows(schema.NEWEST_ENDS)]

    def newest_starts(self) -> dict[str, int]:
        """Return the number of the event of each session's newest start."""
        return {str(name): int(number) for name, number in self.rows(schema.NEWEST_STARTS)}

    def newest_set(self) -> str | None:
        """Return the set of the newest stop or kill that ended a session."""
        found = [records.event_of(row) for row in self.rows(schema.NEWEST_SET)]
        return str(found[0].data["set"]) if found else None

    def note(self, name: str, kind: str, data: Mapping[str, object]) -> int | None:
        """Record an event and return its number, or None if it could not be recorded."""

        def work(db: Connection) -> int:
            add_events(db, [NewEvent(name, kind, data)], self.clock.now())
            return int(db.execute("SELECT last_insert_rowid()").fetchone()[0])

        return self.write("event_not_recorded", work)

    def note_unless(
        self, event: NewEvent, unless: Callable[[Sequence[RecordedEvent]], bool]
    ) -> bool | None:
        """Record an event unless the earlier ones forbid it; tell whether it was recorded, or None
        if the ledger is unavailable."""

        def work(db: Connection) -> bool:
            if unless(_events(db, {event.name})):
                return False
            add_events(db, [event], self.clock.now())
            return True

        return self.write("event_not_recorded", work)

    def note_all(self, events: Sequence[NewEvent]) -> None:
        self.write("event_not_recorded", lambda db: add_events(db, events, self.clock.now()))

    def note_states(self, events: Sequence[NewEvent]) -> None:
        """Record changes of state, but those that another watch has just recorded."""
        since = self.clock.now() - SAME_CHANGE_S

        def is_new(db: Connection, event: NewEvent) -> bool:
            found = db.execute(schema.NEWEST_STATE, (event.name, since)).fetchone()
            known = records.from_json(found[0]) if found else {}
            return any(known.get(it) != event.data[it] for it in ("before", "state"))

        def work(db: Connection) -> None:
            new = [event for event in events if is_new(db, event)]
            add_events(db, new, self.clock.now())

        self.write("event_not_recorded", work)

    def retire(self, older_than_s: float) -> None:
        """Delete old heartbeats and state events, but keep the last one that names a row's
        conversation, and all those of sessions with an open intent or survivors."""
        before = (self.clock.now() - older_than_s,)

        def work(db: Connection) -> None:
            db.execute(schema.RETIRE_HEARTBEATS, before)
            db.execute(schema.RETIRE_STATES, before)

        self.read(lambda db: in_transaction(db, work))  # never creates a ledger

    def drop_events(self, name: str) -> None:
        """Delete a session's history. Open intents and survivors are kept."""

        def work(db: Connection) -> None:
            db.execute("DELETE FROM events WHERE name = ?", (name,))
            db.execute("DELETE FROM heartbeats WHERE name = ?", (name,))
            db.execute("DELETE FROM ends WHERE name = ?", (name,))
            db.execute("DELETE FROM readings")  # of a registry that had its row
            db.execute("DELETE FROM intents WHERE name = ? AND outcome IS NOT NULL", (name,))

        self.write("events_not_dropped", work)

    # Intents: one ending at a time

    def begin(
        self,
        new_intents: Sequence[NewIntent],
        owner_alive: Callable[[Intent], bool],
        *,
        take_over: bool,
    ) -> list[Begun | Busy | None]:
        """Record that endings begin. None for one that could not be recorded: the ending goes on,
        but no other process can finish it after a crash. `owner_alive` is called within the
        transaction: it must be fast.

        The open intent of a dead owner is always taken over, that of a living one only with
        `take_over`. Durable: after a power failure every agent is dead, and only the intent tells
        that it was to be ended."""

        def work(db: Connection) -> list[Begun | Busy | None]:

            now = self.clock.now()
            return [begin(db, new, owner_alive, take_over, now) for new in new_intents]

        def recorded(db: Connection) -> list[Begun | Busy | None]:
            begun = in_transaction(db, work, durable=True)
            faults.at(Step.INTENT)
            return begun

        return self.use("intent_not_recorded", recorded) or [None] * len(new_intents)

    def open_intents(self) -> dict[str, Intent]:
        rows = self.rows(f"{schema.INTENT} WHERE outcome IS NULL ORDER BY id")
        return {intent.name: intent for intent in map(records.intent_of, rows)}

    def planned(self, boot_id: str) -> dict[str, frozenset[ProcessId]]:
        """Return the processes that endings in progress have found: their owner may have died since
        it ended the session, which was the only evidence of them."""
        found: dict[str, frozenset[ProcessId]] = {}
        for name, intent in self.open_intents().items():
            if intent.boot_id == boot_id:
                found[name] = frozenset(
                    ProcessId(one.pid, one.start)
                    for one in intent.recorded.processes
                    if one.start is not None
                )
        return found

    def latest_intent(self) -> int:
        """Return the highest number of any intent, open or closed; 0 before the first."""
        rows = self.rows("SELECT coalesce(max(id), 0) FROM intents")
        return int(rows[0][0]) if rows else 0

    def begun_since(self, number: int) -> set[str]:
        """Return the names of sessions that have an intent with a higher number, open or closed."""
        rows = self.rows("SELECT name FROM intents WHERE id > ?", (number,))
        return {str(name) for (name,) in rows}

    def intent(self, number: int) -> Intent | None:
        rows = self.rows(f"{schema.INTENT} WHERE id = ?", (number,))
        return records.intent_of(rows[0]) if rows else None

    def still_open(self, number: int) -> bool:
        """Tell whether an intent is still open. One that cannot be read, or was lost with a broken
        ledger, counts as open: its owner goes on."""
        closed = "SELECT 1 FROM intents WHERE id = ? AND outcome IS NOT NULL"
        return not self.use("intent_not_read", lambda db: db.execute(closed, (number,)).fetchone())

    def hand_over(
        self, number: int, owner: ProcessId, warning: str = "intent_not_recorded"
    ) -> bool:
        """Give an intent to another process of the same boot; return False if it is closed."""
        change = """UPDATE intents SET handed_from = owner_pid, owner_pid = ?, owner_start = ?
            WHERE id = ? AND outcome IS NULL"""
        values = (*owner, number)
        return self.write(warning, lambda db: db.execute(change, values).rowcount == 1) is True

    def close_intents(self, closings: Sequence[Closing]) -> None:
        self.write("intent_not_closed", lambda db: close_all(db, closings, self.clock.now()))

    # Survivors and marks

    def remember_survivors(
        self, name: str, survivors: Iterable[Survivor], intent: int | None
    ) -> None:
        """Add survivors; known ones keep the time when they were first seen."""
        now = self.clock.now()
        rows = []
        for one in survivors:
            rows.append((name, *one.process, one.boot_id, one.comm, now, intent))
        self.write("survivors_not_recorded", lambda db: db.executemany(schema.ADD_SURVIVOR, rows))

    def survivors(self, boot_id: str) -> dict[str, frozenset[ProcessId]]:
        """Return the survivors of this boot by session."""
        alive: dict[str, frozenset[ProcessId]] = {}
        query = "SELECT name, pid, start FROM survivors WHERE boot_id = ?"
        for name, pid, start in self.rows(query, (boot_id,)):
            alive[name] = alive.get(name, frozenset()) | {ProcessId(pid, start)}
        return alive

    def seen(self, boot_id: str, names: Sequence[str]) -> dict[str, Memory]:
        """Return what looks saw of these rows since the machine started."""
        found: dict[str, dict[ProcessId, SeenPane | None]] = {}
        for name, pid, start, *place in self._of_names(schema.SEEN, names, boot_id):
            led = SeenPane(*place) if place[0] is not None else None
            found.setdefault(name, {})[ProcessId(pid, start)] = led
        return {name: Memory(processes) for name, processes in found.items()}

    def leader_seen(self, name: str, pid: int) -> dict[str, object] | None:
        """Return the process that looks saw last to lead a pane of this row with this pid."""
        return self.read(lambda db: _leader_seen(db, name, pid))

    def remember_seen(self, boot_id: str, news: Sequence[News]) -> None:
        """Record what a look saw, in one transaction, and drop what is dead. Never warns: a look
        may be unable to write."""
        fresh: list[tuple[object, ...]] = []
        dead: list[tuple[object, ...]] = []
        for one in news:
            for it in one.processes.items():
                fresh.append(records.seen_values(one.name, boot_id, *it))
            dead += [(one.name, *process, boot_id) for process in one.dead]

        def work(db: Connection) -> None:
            db.execute("DELETE FROM seen WHERE boot_id <> ?", (boot_id,))
            db.executemany(schema.DROP_SEEN, dead)
            db.executemany(schema.ADD_SEEN, fresh)

        if fresh:
            self.write_silently(lambda db: in_transaction(db, work))

    def forget_seen(self, names: Sequence[str]) -> None:
        """Drop what was seen of removed rows: a later row of that name is another session."""
        rows = [(name,) for name in names]

        def work(db: Connection) -> None:
            db.executemany("DELETE FROM seen WHERE name = ?", rows)

        self.read(lambda db: in_transaction(db, work))  # never creates a ledger

    def remember_mark(self, name: str, mark: str) -> None:
        """Record the mark in a session's environment: a start has its own, a restart keeps it."""
        add = "INSERT OR REPLACE INTO marks (mark, name, created_at) VALUES (?, ?, ?)"
        values = (mark, name, self.clock.now())
        self.write("mark_not_recorded", lambda db: db.execute(add, values))

    def mark(self, name: str) -> str | None:
        return self.marks([name]).get(name)

    def marks(self, names: Collection[str]) -> dict[str, str]:
        """Return the latest mark of each name that has one."""
        order = "ORDER BY created_at, rowid"
        found = self._of_names("SELECT name, mark FROM marks WHERE true", names, order=order)
        return {str(name): str(mark) for name, mark in found}

    def name_of(self, mark: str) -> str | None:
        rows = self.rows("SELECT name FROM marks WHERE mark = ?", (mark,))
        return str(rows[0][0]) if rows else None

    # Heartbeats and tasks

    def beat(self, beat: Heartbeat) -> None:
        facts = (beat.name, beat.at, beat.state, beat.kind, beat.conversation_id)
        values = (*facts, to_json(beat.data))
        self.write("heartbeat_not_recorded", lambda db: db.execute(schema.ADD_HEARTBEAT, values))

    def heartbeats_of(self, name: str) -> list[Heartbeat]:
        """Return a session's recent heartbeats, the latest first; about fifty are kept."""
        rows = self.rows(f"{schema.HEARTBEAT} AND name = ? ORDER BY id DESC", (name,))
        return [records.heartbeat_of(row) for row in rows]

    def heartbeats(self) -> dict[str, Heartbeat]:
        """Return the last heartbeat of each session."""
        last = "id IN (SELECT max(id) FROM heartbeats GROUP BY name)"
        rows = self.rows(f"{schema.HEARTBEAT} AND {last}")
        return {row[0]: records.heartbeat_of(row) for row in rows}

    def pulses(self) -> dict[str, Pulse]:
        """Return each agent's latest pulse, its own or that in another tool's table."""
        return self.read(_pulses) or {}

    def set_task(self, task: str, status: str, message: str) -> None:

        at = iso(self.clock.now())
        self.write("task_not_recorded", lambda db: schema.set_task(db, task, status, message, at))

    def lifecycle_problems(self) -> list[str]:
        """Report what cannot be written to other tools' tables."""

        return self.read(lambda db: schema.find_problems(db, supports_json(db))) or []


def add_events(db: Connection, events: Sequence[NewEvent], now: float) -> None:
    rows = []
    for e in events:
        data = {**e.data, **_leader_of(db, e)}
        rows.append((now, iso(now), e.name, e.kind, to_json(data), e.before))
    db.executemany(schema.ADD_EVENT, rows)
    lives = ((event.name, event.data.get("life")) for event in events)
    ends = [(name, end_key(it)) for name, it in lives if isinstance(it, dict) and is_ended(it)]
    db.executemany("INSERT OR REPLACE INTO ends (name, shows) VALUES (?, ?)", ends)


def _leader_of(db: Connection, event: NewEvent) -> dict[str, object]:
    """Return the process that an ended row's pid meant, as a look saw it: another tool's row has no
    start of it, and its number may come again."""
    life = event.data.get("life")
    if not isinstance(life, dict) or not is_ended(life):
        return {}
    pane = life.get("pane")
    if not isinstance(pane, dict) or not isinstance(pane.get("pid"), int):
        return {}
    leader = _leader_seen(db, event.name, pane["pid"])
    return {} if leader is None else {"leader": leader}


def _leader_seen(db: Connection, name: str, pid: int) -> dict[str, object] | None:
    found = db.execute(schema.SEEN_LEADER, (name, pid)).fetchone()
    if found is None:
        return None
    return {"pid": pid, "start": found[0], "boot_id": found[1]}


def close_all(db: Connection, closings: Sequence[Closing], now: float) -> None:
    for closing in closings:
        close(db, closing, now)


def _events(
    db: Connection, names: Collection[str] | None, since: float | None = None, after_id: int = 0
) -> list[RecordedEvent]:
    start = since if since is not None else float("-inf")
    if names is not None and len(names) <= FEW_NAMES:
        few = sorted(set(names))
    else:
        few = []
    if few:
        of_them = f"AND name IN ({', '.join('?' * len(few))}) "
    else:
        of_them = ""
    query = f"{schema.EVENT} WHERE id > ? AND at >= ? {of_them}ORDER BY id"
    rows = db.execute(query, (after_id, start, *few)).fetchall()
    wanted = None if names is None else frozenset(names)
    return [records.event_of(row) for row in rows if wanted is None or row[3] in wanted]


def _pulses(db: Connection) -> dict[str, Pulse]:
    latest = {row[0]: records.pulse_of(row[1:]) for row in db.execute(schema.PULSE)}
    if db.execute(schema.LIFECYCLE_IS_TABLE).fetchone():
        for name, kind, state, at in schema.read_heartbeats(db):
            before = latest.get(name)
            if before is None or before.at < at or (state and before.at <= at):
                latest[name] = Pulse(kind, state, at, before.conversation_id if before else None)
    return latest


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
