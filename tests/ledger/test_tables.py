"""A new ledger: complete as soon as it has its name, whoever makes it."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
from pathlib import Path

import pytest

from tests.ledger_records import NOW, Ledger, execute, rows_of, run_in_processes
from tmuxreap.ledger import schema
from tmuxreap.ledger.records import NewEvent
from tmuxreap.registry.file import RegistryFile


def no_links(*_: object) -> None:
    raise PermissionError(1, "Operation not permitted")


def test_a_ledger_is_complete_and_private_once_it_has_its_name(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link
    seen: list[tuple[object, ...]] = []

    def look(source: str, target: str) -> None:
        assert not path.exists()
        link(source, target)
        seen.extend(rows_of(path, "PRAGMA user_version"))
        seen.extend(rows_of(path, "PRAGMA journal_mode"))

    monkeypatch.setattr(os, "link", look)
    before = os.umask(0)
    try:
        schema.create(str(path), NOW)
    finally:
        os.umask(before)
    assert seen == [(schema.VERSION,), ("wal",)]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_an_existing_table_is_kept(path: Path) -> None:
    with Ledger.open(path, now=NOW) as ledger:
        ledger.record_event(NewEvent("api", "kept"), NOW)
    schema.create(str(path), NOW + 1)
    with Ledger.open(path, now=NOW) as ledger:
        assert [event.kind for event in ledger.events()] == ["kept"]


@pytest.mark.parametrize("links", [True, False])
def test_many_that_create_it_at_once_all_succeed(
    path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", no_links)

    def work(number: int) -> None:
        with Ledger.open(path, now=NOW, busy_s=20) as ledger:
            ledger.record_event(NewEvent(f"n{number}", "seen"), NOW)

    assert run_in_processes(20, work) == [0] * 20
    with Ledger.open(path, now=NOW) as ledger:
        assert len(ledger.events()) == 20
        assert ledger.warnings == []
    assert rows_of(path, "PRAGMA journal_mode") == [("wal",)]
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_maker_that_is_killed_leaves_nothing_that_looks_like_a_ledger(path: Path) -> None:
    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def work(number: int) -> None:
        os.link = die
        schema.create(str(path), NOW)

    assert run_in_processes(1, work) == [-signal.SIGKILL]
    assert not path.exists()
    registry = RegistryFile(path.with_suffix(".yaml"))
    left = registry.left_by_dead(lambda pid: None)
    assert left == list(path.parent.iterdir())
    assert registry.left_by_dead(lambda pid: "alive") == []


def test_a_failed_table_creation_leaves_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(schema, "bring_up_to_date", full)
    with pytest.raises(sqlite3.OperationalError, match="full"):
        schema.create(str(path), NOW)
    assert list(path.parent.iterdir()) == []


def test_a_failed_step_of_an_older_ledger_leaves_it_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(path, "CREATE TABLE sessions (name TEXT)")
    monkeypatch.setattr(schema, "FIRST_NUMBER", "no SQL")
    db = schema.connect(str(path), 0.1)
    with pytest.raises(sqlite3.OperationalError, match="syntax"):
        schema.bring_up_to_date(db, NOW)
    db.close()
    assert rows_of(path, "SELECT name FROM sqlite_master") == [("sessions",)]
