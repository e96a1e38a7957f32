"""Helpers for ledger tests: writing records, and reading them like another tool."""

from __future__ import annotations

import multiprocessing
import sqlite3
from collections.abc import Callable
from pathlib import Path

from tmuxreap.core.model import ProcessId
from tmuxreap.ledger.ledger import Ledger
from tmuxreap.ledger.records import (
    Begun,
    Busy,
    MirrorRow,
    NewIntent,
)

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
