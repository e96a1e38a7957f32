"""Keeps registry and ledger in step: the registry is the source of truth and written first."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tmuxreap.core import faults
from tmuxreap.core.cache import CacheEntry
from tmuxreap.core.faults import Step
from tmuxreap.core.model import ProcessId, Row
from tmuxreap.core.ports import Clock
from tmuxreap.ledger.access import LedgerAccess
from tmuxreap.ledger.database import ledger_path
from tmuxreap.ledger.ledger import Ledger
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
)
from tmuxreap.registry.file import Registry
from tmuxreap.registry.look import RegistryLook
from tmuxreap.registry.rows import folder_of

NO_OWNER = ProcessId(0, 0)


class Books:
    def __init__(
        self, registry: Registry, clock: Clock, warnings: list[str], path: Path | None = None
    ) -> None:
        """`path`: a ledger elsewhere than next to the registry."""
        self.registry = registry
        self.path = path or ledger_path(registry.resolved)
        self.clock = clock
        self.ledger = LedgerAccess(self.path, clock, warnings)
        self._warnings = warnings
        self._unsaved: dict[str, CacheEntry] = {}

    # Reads

    def survivors(self, boot_id: str) -> dict[str, frozenset[ProcessId]]:
        known = self.ledger.read(lambda ledger: ledger.all_survivors()) or {}
        return {
            name: frozenset(one.process for one in survivors if one.boot_id == boot_id)
            for name, survivors in known.items()
        }

    def mark(self, name: str) -> str | None:
        return self.marks([name]).get(name)

    def marks(self, names: Collection[str]) -> dict[str, str]:
        """Return the latest mark of each name that has one."""
        latest = self.ledger.read(lambda ledger: ledger.marks_of(names)) if names else None
        return latest or {}

    def name_of(self, mark: str) -> str | None:
        return self.ledger.read(lambda ledger: ledger.name_of(mark))

    def planned(self, boot_id: str) -> dict[str, frozenset[ProcessId]]:
        """Return the processes that endings in progress have found: their owner may have died since
        it ended the session, which was the only evidence of them."""
        return {
            name: frozenset(
                ProcessId(one["pid"], one["start"])
                for one in json.loads(intent.plan).get("processes", ())
                if "start" in one
            )
            for name, intent in self.open_intents().items()
            if intent.boot_id == boot_id
        }

    def open_intents(self) -> dict[str, Intent]:
        intents = self.ledger.read(lambda ledger: ledger.open_intents()) or ()
        return {intent.name: intent for intent in intents}

    def latest_intent(self) -> int:
        return self.ledger.read(lambda ledger: ledger.latest_intent()) or 0

    def begun_since(self, number: int) -> set[str]:
        return self.ledger.read(lambda ledger: ledger.begun_since(number)) or set()

    def intent(self, number: int) -> Intent | None:
        return self.ledger.read(lambda ledger: ledger.intent(number))

    def heartbeats(self) -> dict[str, Heartbeat]:
        return self.ledger.read(lambda ledger: ledger.last_heartbeats()) or {}

    def pulses(self) -> dict[str, Pulse]:
        return self.ledger.read(lambda ledger: ledger.pulses()) or {}

    def heartbeats_of(self, name: str) -> list[Heartbeat]:
        """Return a session's recent heartbeats, the latest first."""
        return self.ledger.read(lambda ledger: ledger.heartbeats(name)) or []

    def events(
        self, names: Collection[str] | None, since: float | None, after_id: int = 0
    ) -> list[Event]:
        return self.ledger.read(lambda ledger: ledger.events(names, since, after_id)) or []

    def history(self, name: str) -> list[Event] | None:
        """Return all events of a session; None if the ledger is unavailable."""
        if self.ledger.is_missing:
            return []
        return self.ledger.use("ledger_not_read", lambda ledger: ledger.events({name}))

    def is_behind(self, look: RegistryLook) -> bool:
        """Tell whether the ledger exists but its mirror does not show this registry."""
        mirrored = self.ledger.read(lambda ledger: (ledger.mirrored_digest(),))
        return (
            mirrored is not None
            and mirrored[0] != look.digest
            and (mirrored[0] is not None or bool(look.usable))
        )

    def lifecycle_problems(self) -> list[str]:
        """Report what cannot be written to other tools' tables."""
        return self.ledger.read(lambda ledger: ledger.lifecycle_problems()) or []

    # The cache

    def reading(self, what: str, stamp: str) -> str | None:
        return self.ledger.read(lambda ledger: ledger.reading(what, stamp))

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
            entries, now = self._unsaved.values(), self.clock.now()
            self.ledger.read(lambda ledger: ledger.write(None, cache_entries=entries, now=now))

    # Intents and events

    def begin(
        self,
        new_intents: Sequence[NewIntent],
        owner_alive: Callable[[Intent], bool],
        *,
        take_over: bool,
    ) -> list[Begun | Busy | None]:
        """Record intents. None for one that could not be recorded: the ending goes on, but no other
        process can finish it after a crash."""

        def work(ledger: Ledger) -> list[Begun | Busy | None]:
            now = self.clock.now()
            begun = ledger.begin_intents(
                new_intents, owner_alive=owner_alive, take_over=take_over, now=now
            )
            faults.at(Step.INTENT)
            return [*begun]

        return self.ledger.use("intent_not_recorded", work) or [None] * len(new_intents)

    def still_open(self, number: int) -> bool:
        answer = self.ledger.use("intent_not_read", lambda ledger: ledger.still_open(number))
        return answer is not False

    def set_task(self, task: str, status: str, message: str) -> None:
        now = self.clock.now()
        work = partial(Ledger.set_task, task_id=task, status=status, error_message=message, now=now)
        self.ledger.use("task_not_recorded", work)

    def hand_over(self, number: int, owner: ProcessId) -> bool:
        work = partial(Ledger.hand_over, number=number, owner=owner)
        return self.ledger.use("intent_not_recorded", work) is True

    def close_intents(self, closings: Sequence[Closing]) -> None:
        now = self.clock.now()
        work = partial(Ledger.write, mirror=None, closings=closings, now=now)
        self.ledger.use("intent_not_closed", work)

    def release(self, numbers: Iterable[int]) -> None:
        """Leave unfinished intents open but without an owner: the next command may finish them."""
        for number in numbers:
            work = partial(Ledger.hand_over, number=number, owner=NO_OWNER)
            self.ledger.use("intent_not_released", work)

    def note(self, name: str, kind: str, data: Mapping[str, object]) -> int | None:
        """Record an event and return its number, or None if it could not be recorded."""

        def work(ledger: Ledger) -> int:
            ledger.write(None, [NewEvent(name, kind, data)], now=self.clock.now())
            return ledger.events({name})[-1].id

        return self.ledger.use("event_not_recorded", work)

    def note_unless(
        self, event: NewEvent, unless: Callable[[Sequence[Event]], bool]
    ) -> bool | None:
        """Record an event unless the earlier ones forbid it; tell whether it was recorded, or None
        if the ledger is unavailable."""
        work = partial(Ledger.note_unless, event=event, unless=unless, now=self.clock.now())
        return self.ledger.use("event_not_recorded", work)

    def note_all(self, events: Sequence[NewEvent]) -> None:
        work = partial(Ledger.write, mirror=None, events=events, now=self.clock.now())
        self.ledger.use("event_not_recorded", work)

    def remember_survivors(
        self, name: str, survivors: Sequence[Survivor], intent: int | None
    ) -> None:
        now = self.clock.now()
        self.ledger.use(
            "survivors_not_recorded",
            lambda ledger: ledger.remember_survivors(name, survivors, now=now, intent_id=intent),
        )

    def remember_mark(self, name: str, mark: str) -> None:
        work = partial(Ledger.remember_mark, name=name, mark=mark, now=self.clock.now())
        self.ledger.use("mark_not_recorded", work)

    def beat(self, beat: Heartbeat) -> None:
        self.ledger.use("heartbeat_not_recorded", lambda ledger: ledger.record_heartbeat(beat))

    def retire(self, older_than_s: float) -> None:
        before = self.clock.now() - older_than_s
        self.ledger.read(lambda ledger: ledger.retire(before))  # never creates a ledger

    def drop_events(self, name: str) -> None:
        self.ledger.use("events_not_dropped", lambda ledger: ledger.drop_events(name))

    # Writes

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
            self._warnings.append(
                "registry_not_synced: it is written, but its folder could not be brought to the"
                f" disk ({look.unsynced.strerror}): run tmuxreap reconcile when that is fixed"
            )
            self.release(closing.id for closing in closings)
            closings = ()

        def work(ledger: Ledger) -> None:
            faults.at(Step.LEDGER)
            mirror = None
            if (shown := ledger.mirrored_digest()) != look.digest:
                mirror = self._mirror(look, shown)
                for reading in look.cache_entries:
                    self.cache_later(reading)
            ledger.write(mirror, events, closings, self._unsaved.values(), now=self.clock.now())
            self._unsaved.clear()
            faults.at(Step.INTENT_CLOSED)

        self.ledger.use("ledger_not_written", work)

    def _mirror(self, look: RegistryLook, shown: str | None) -> Mirror:
        """Return what to mirror: only the changed rows if the mirror shows the previous state."""

        def is_current() -> bool:
            """Called within the transaction: a later writer of the registry updates it after us."""
            return self.registry.is_unchanged_since(look)

        if look.change is None or look.base != shown:
            return Mirror([*map(mirror_row, look.usable)], look.digest, is_current=is_current)
        rows = [mirror_row(look.usable[index]) for index in look.change.rows]
        return Mirror(rows, look.digest, shown, look.change.gone, is_current)


def mirror_row(row: Row) -> MirrorRow:
    return MirrorRow(row.name, row.status.value, folder_of(row), row.data)
