"""Helpers for ledger tests: writing records, and reading them like another tool."""

from __future__ import annotations

import multiprocessing
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

from tmuxreap.core.model import ProcessId
from tmuxreap.ledger import ledger
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


class Ledger(ledger.Ledger):
    """A ledger with shorthands that only tests need."""

    def mirror(self, rows: Iterable[MirrorRow], digest: str) -> None:
        self.write(Mirror(tuple(rows), digest), now=0.0)

    def record_event(self, event: NewEvent, now: float) -> None:
        self.write(None, [event], now=now)

    def begin_intent(
        self, new: NewIntent, *, owner_alive: Callable[[Intent], bool], take_over: bool, now: float
    ) -> Begun | Busy:
        return self.begin_intents((new,), owner_alive=owner_alive, take_over=take_over, now=now)[0]

    def open_intent(self, name: str) -> Intent | None:
        return next((one for one in self.open_intents() if one.name == name), None)

    def close_intent(self, closing: Closing, now: float) -> bool:
        """Close an intent; return False, without effect, if another process has already."""
        return bool(self.write(None, (), [closing], now=now))

    def survivors(self, name: str) -> tuple[Survivor, ...]:
        return self.all_survivors().get(name, ())

    def mark_of(self, name: str) -> str | None:
        return self.marks_of([name]).get(name)

    def last_heartbeat(self, name: str) -> Heartbeat | None:
        return next(iter(self.heartbeats(name)), None)


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
