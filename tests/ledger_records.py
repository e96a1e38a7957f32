"""Helpers for ledger tests: writing records, and reading them like another tool."""

from __future__ import annotations

import multiprocessing
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tmuxreap.core.model import ProcessId
from tmuxreap.ledger import books, ledger
from tmuxreap.ledger import ledger as intents
from tmuxreap.ledger.books import update_mirror
from tmuxreap.ledger.records import (
    Begun,
    Busy,
    Closing,
    Heartbeat,
    Intent,
    Mirror,
    MirrorRow,
    NewEvent,
    NewIntent,
    Survivor,
)


class Strict(ledger.Ledger):
    """A ledger of which each failure is raised."""

    def use(self, _warning: str, work: Callable[[sqlite3.Connection], Any]) -> Any:
        return self.run(work)


class Ledger:
    """A strict ledger for tests that record what others did, each at its own time."""

    @classmethod
    def open(cls, path: Path, *, now: float, busy_s: float = 2.0) -> Ledger:
        opened = cls(path)
        opened.strict.busy_s = busy_s
        opened.at(now).run(lambda db: None)
        return opened

    def __init__(self, path: Path) -> None:
        self.strict = Strict(path, SimpleNamespace(), [])  # type: ignore[arg-type]

    def at(self, now: float) -> Strict:
        self.strict.clock = SimpleNamespace(now=lambda: now)  # type: ignore[assignment]
        return self.strict

    def __getattr__(self, name: str) -> Any:
        return getattr(self.strict, name)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.strict.close()

    def fetch(self, sql: str) -> list[tuple[Any, ...]]:
        return self.strict.rows(sql)

    # The mirror and the events

    def write(
        self,
        mirror: Mirror | None,
        events: Iterable[NewEvent] = (),
        closings: Iterable[Closing] = (),
        *,
        now: float,
    ) -> set[int]:
        """Write all in one transaction, and return the intents that were not closed before."""

        def work(db: sqlite3.Connection) -> set[int]:
            if mirror is not None:
                update_mirror(db, mirror)
            ledger.add_events(db, events, now)
            return {closing.id for closing in closings if intents.close(db, closing, now)}

        return self.strict.write("", work)

    def mirror(self, rows: Iterable[MirrorRow], digest: str) -> None:
        self.write(Mirror(tuple(rows), digest), now=0.0)

    def mirrored_digest(self) -> str | None:
        return self.strict.run(books.mirrored_digest)

    def record_event(self, event: NewEvent, now: float) -> None:
        self.at(now).note_all([event])

    # Intents

    def begin_intents(
        self,
        new_intents: Sequence[NewIntent],
        *,
        owner_alive: Callable[[Intent], bool],
        take_over: bool,
        now: float,
    ) -> list[Any]:
        return self.at(now).begin(new_intents, owner_alive, take_over=take_over)

    def begin_intent(self, new: NewIntent, **how: Any) -> Any:
        return self.begin_intents([new], **how)[0]

    def open_intents(self) -> list[Intent]:
        return [*self.strict.open_intents().values()]

    def open_intent(self, name: str) -> Intent | None:
        return self.strict.open_intents().get(name)

    def close_intent(self, closing: Closing, now: float) -> bool:
        """Close an intent; return False, without effect, if another process has already."""
        return bool(self.write(None, (), [closing], now=now))

    # Survivors and marks

    def remember_survivors(
        self, name: str, survivors: Iterable[Survivor], *, now: float, intent_id: int | None = None
    ) -> None:
        self.at(now).remember_survivors(name, survivors, intent_id)

    def all_survivors(self) -> dict[str, tuple[Survivor, ...]]:
        query = "SELECT name, pid, start, boot_id, comm FROM survivors ORDER BY since, pid"
        alive: dict[str, tuple[Survivor, ...]] = {}
        for name, pid, start, *facts in self.fetch(query):
            alive[name] = (*alive.get(name, ()), Survivor(ProcessId(pid, start), *facts))
        return alive

    def survivors(self, name: str) -> tuple[Survivor, ...]:
        return self.all_survivors().get(name, ())

    def remember_mark(self, name: str, mark: str, now: float) -> None:
        self.at(now).remember_mark(name, mark)

    def mark_of(self, name: str) -> str | None:
        return self.strict.mark(name)

    # Heartbeats and tasks

    def record_heartbeat(self, beat: Heartbeat) -> None:
        self.strict.beat(beat)

    def heartbeats(self, name: str) -> list[Heartbeat]:
        return self.strict.heartbeats_of(name)

    def last_heartbeats(self) -> dict[str, Heartbeat]:
        return self.strict.heartbeats()

    def last_heartbeat(self, name: str) -> Heartbeat | None:
        return next(iter(self.heartbeats(name)), None)

    def set_task(self, task: str, status: str, message: str | None, now: float) -> None:
        self.at(now).set_task(task, status, message)


NOW = 1795000000.25  # 2026-11-18T11:06:40Z
FORK = multiprocessing.get_context("fork")


def rows_of(path: Path, sql: str) -> list[tuple[object, ...]]:
    """Read rows like another tool."""
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def execute(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        for statement in statements:
            connection.execute(statement)
    finally:
        connection.close()


def run_in_processes(count: int, work: Callable[[int], None]) -> list[int]:
    """Run the work in several processes released simultaneously; return their exit codes."""
    gate = FORK.Barrier(count)

    def child(number: int) -> None:
        gate.wait(30)
        work(number)

    children = [FORK.Process(target=child, args=(number,)) for number in range(count)]
    for process in children:
        process.start()
    for process in children:
        process.join(60)
    return [process.exitcode if process.exitcode is not None else -999 for process in children]


def row(name: str, status: str = "running", **data: object) -> MirrorRow:
    return MirrorRow(name, status, "/work", {"name": name, "status": status, **data})


def intent(name: str = "api", verb: str = "stop", pid: int = 100, plan: str = "{}") -> NewIntent:
    return NewIntent(
        name, verb, f"{verb} by hand", "agent", ProcessId(pid, 7), "boot-1", NOW + 30, (), plan
    )


def begin(
    ledger: Ledger, new: NewIntent, *, alive: bool = True, take_over: bool = False
) -> Begun | Busy:
    return ledger.begin_intent(new, owner_alive=lambda _: alive, take_over=take_over, now=NOW)


def begun(ledger: Ledger, new: NewIntent) -> int:
    answer = begin(ledger, new)
    assert isinstance(answer, Begun)
    return answer.intent.id
