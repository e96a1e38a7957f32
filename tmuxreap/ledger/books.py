"""Keeps registry and ledger in step: the registry is the source of truth and written first. Its
rows are mirrored in the ledger, for readers of SQL; what is true of one the mirror never
decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tmuxreap.core import faults
from tmuxreap.core.cache import CacheEntry
from tmuxreap.core.errors import Failure
from tmuxreap.core.faults import Step
from tmuxreap.core.model import ProcessId, Row
from tmuxreap.core.ports import Clock
from tmuxreap.ledger import schema
from tmuxreap.ledger.database import Connection, in_transaction, ledger_path
from tmuxreap.ledger.ledger import Ledger, add_events, close_all
from tmuxreap.ledger.records import (
    Closing,
    Heartbeat,
    Mirror,
    MirrorRow,
    NewEvent,
    Pulse,
    from_json,
    to_json,
)
from tmuxreap.ledger.schema import supports_json
from tmuxreap.registry.file import RegistryFile, RegistryLook
from tmuxreap.registry.rows import folder_of

NO_OWNER = ProcessId(0, 0)
UNPLACED_S = 24 * 3600.0  # how long a report waits for its row

RowOfReport = Callable[[Mapping[str, object], float, Sequence[Row]], "str | None"]


class Books(Ledger):
    """The ledger of a registry."""

    def __init__(
        self,
        registry: RegistryFile,
        clock: Clock,
        warnings: list[str],
        path: Path | None = None,
        row_of: RowOfReport | None = None,
    ) -> None:
        """`path`: a ledger elsewhere than next to the registry. `row_of`: what finds the row of a
        report that came before a look had seen it."""
        super().__init__(path or ledger_path(registry.resolved), clock, warnings)
        self.registry = registry
        self._row_of = row_of
        self._unsaved: dict[str, CacheEntry] = {}

    def is_behind(self, look: RegistryLook) -> bool:
        """Tell whether the ledger exists but its mirror does not show this registry."""
        mirrored = self.read(lambda db: (mirrored_digest(db),))
        return (
            mirrored is not None
            and mirrored[0] != look.digest
            and (mirrored[0] is not None or bool(look.usable))
        )

    def task_status(self, task: str) -> str | None:
        """Return what the ledger, or an orchestrator in it, says of this task."""
        rows = self.rows("SELECT status FROM orchestrator_task WHERE task_id = ?", (task,))
        return str(rows[0][0]) if rows else None

    # Reports

    def pulses(self) -> dict[str, Pulse]:
        self._place_reports()
        return super().pulses()

    def heartbeats_of(self, name: str) -> list[Heartbeat]:
        self._place_reports()
        return super().heartbeats_of(name)

    def _place_reports(self) -> None:
        """Give the reports that came before their rows were seen to these rows. What is
        nobody's, or may be of two, waits for another look: one with another environment may tell
        whose it is."""
        row_of = self._row_of
        if row_of is None or not (reports := self.rows(schema.UNPLACED_REPORTS)):
            return
        if not self.registry.is_ours:
            return
        try:
            rows = self.registry.look().usable
        except Failure:  # invalid just now: a later look places them
            return
        names = []
        for number, at, data in reports:
            names.append((row_of(from_json(data), at, rows), number))
        placed = [(name, number) for name, number in names if name is not None]
        before = self.clock.now() - UNPLACED_S

        def work(db: Connection) -> None:
            db.executemany(schema.PLACE, placed)
            db.execute(schema.RETIRE_UNPLACED, (before,))

        self.write_silently(lambda db: in_transaction(db, work))

    # The cache

    def reading(self, what: str, stamp: str) -> str | None:
        query = "SELECT data FROM readings WHERE what = ? AND stamp = ?"
        rows = self.rows(query, (what, stamp))
        return str(rows[0][0]) if rows else None

    def cache_later(self, reading: CacheEntry | None) -> None:
        """Cache it with the next write: a command that only reads must not write."""
        if reading is not None:
            self._unsaved[reading.what] = reading

    def write_cache(self, look: RegistryLook) -> None:
        """Cache what was parsed. Reading a short registry that has no ledger creates none."""
        if not self.registry.is_ours:
            return
        if look.was_slow:
            self.follow(look)
        elif self._unsaved:
            self.read(lambda db: in_transaction(db, self._save_cache))

    def _save_cache(self, db: Connection) -> None:
        rows = [(one.what, one.stamp, one.data) for one in self._unsaved.values()]
        add = "INSERT OR REPLACE INTO readings (what, stamp, data) VALUES (?, ?, ?)"
        db.executemany(add, rows)

    # Writes

    def release(self, numbers: Iterable[int]) -> None:
        """Leave unfinished intents open but without an owner: the next command may finish them."""
        for number in numbers:
            self.hand_over(number, NO_OWNER, "intent_not_released")

    def change(
        self,
        edit: Callable[[RegistryLook], str],
        events: Callable[[RegistryLook], Sequence[NewEvent]],
        closings: Callable[[], Sequence[Closing]],
    ) -> RegistryLook:
        """Write fields of rows, events and closed intents; the registry first."""
        before, after = self.registry.change(edit)
        self.follow(after, events(before), closings())
        return after

    def follow(
        self, look: RegistryLook, events: Sequence[NewEvent] = (), closings: Sequence[Closing] = ()
    ) -> None:
        """Update the ledger after the registry. If a power failure could undo the registry's write,
        intents stay open."""
        if look.unsynced is not None:
            self.warnings.append(
                "registry_not_synced: it is written, but its folder could not be brought to the"
                f" disk ({look.unsynced.strerror}): run tmuxreap reconcile when that is fixed"
            )
            self.release(closing.id for closing in closings)
            closings = ()

        def work(db: Connection) -> None:
            faults.at(Step.LEDGER)
            mirror = None
            if (shown := mirrored_digest(db)) != look.digest:
                mirror = self._mirror(look, shown)
                for reading in look.cache_entries:
                    self.cache_later(reading)
            in_transaction(db, lambda db: self._record(db, mirror, events, closings))
            self._unsaved.clear()
            faults.at(Step.INTENT_CLOSED)

        self.use("ledger_not_written", work)

    def _record(
        self,
        db: Connection,
        mirror: Mirror | None,
        events: Sequence[NewEvent],
        closings: Sequence[Closing],
    ) -> None:
        if mirror is not None:
            update_mirror(db, mirror)
        self._save_cache(db)
        add_events(db, events, self.clock.now())
        close_all(db, closings, self.clock.now())

    def _mirror(self, look: RegistryLook, shown: str | None) -> Mirror:
        """Return what to mirror: only the changed rows if the mirror shows the previous state."""

        def is_current() -> bool:
            """Called within the transaction: a later writer of the registry updates it after us."""
            return self.registry.is_unchanged_since(look)

        if look.change is None or look.base != shown:
            return Mirror([*map(mirror_row, look.usable)], look.digest, is_current=is_current)
        rows = [mirror_row(look.usable[index]) for index in look.change.rows]
        return Mirror(rows, look.digest, shown, look.change.gone, is_current)


def mirrored_digest(db: Connection) -> str | None:
    row = db.execute(schema.SHOWN_DIGEST).fetchone()
    return str(row[0]) if row else None


def mirror_row(row: Row) -> MirrorRow:
    return MirrorRow(row.name, row.status.value, folder_of(row), row.data)


def update_mirror(db: Connection, mirror: Mirror) -> None:
    """Update the mirror. A partial change to a state that it does not show is skipped: the digests
    differ then, and the mirror is rebuilt."""
    partial = mirror.base is not None
    shown = db.execute(schema.SHOWN_DIGEST).fetchone()
    if (partial and shown != (mirror.base,)) or not mirror.is_current():
        return
    wanted: dict[str, tuple[str, str, str | None, str]] = {}
    for row in mirror.rows:
        wanted.setdefault(row.name, (row.name, row.status, row.pane_cwd, to_json(row.data)))
    all_rows = "SELECT name, status, pane_cwd, data FROM sessions"
    if partial:
        present = {}
    else:
        present = {row[0]: row for row in db.execute(all_rows)}
    changed = [row for name, row in wanted.items() if present.get(name) != row]
    gone = [*mirror.gone, *(name for name in present if name not in wanted)]
    stale = [(name,) for name in (*gone, *(row[0] for row in changed))]
    db.executemany("DELETE FROM sessions WHERE name = ?", stale)
    add = "INSERT INTO sessions (name, status, pane_cwd, data) VALUES (?, ?, ?, ?)"
    db.executemany(add, changed)
    names = [row[0] for row in changed]
    if db.execute("SELECT 1 FROM lifecycle_words LIMIT 1").fetchone():
        words = [(name,) for name in names]
        db.executemany("DELETE FROM lifecycle_words WHERE agent_id = ?", words)
    if db.execute(schema.LIFECYCLE_IS_TABLE).fetchone():
        schema.follow(db, names, with_json=supports_json(db))
    db.execute("INSERT OR REPLACE INTO mirrored (id, digest) VALUES (1, ?)", (mirror.digest,))
