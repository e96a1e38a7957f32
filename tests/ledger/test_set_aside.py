"""A ledger that cannot be read, or is gone: it is kept, and another takes its place."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ledger_records import (
    NOW,
    Ledger,
    begun,
    execute,
    intent,
    row,
    rows_of,
    run_in_processes,
)
from tmuxreap.ledger import database
from tmuxreap.ledger.records import (
    Closing,
    NewEvent,
)


def not_a_database(path: Path) -> None:
    path.write_bytes(b"tmux_sessions: []\n" * 400)


def truncated(path: Path) -> None:
    with Ledger.open(path, now=NOW) as ledger:
        ledger.mirror([row(f"n{number}", note="x" * 500) for number in range(100)], "d1")
    os.truncate(path, 9000)


def overwritten_header(path: Path) -> None:
    Ledger.open(path, now=NOW).close()
    with path.open("r+b") as file:
        file.write(b"\xff" * 100)


def from_the_future(path: Path) -> None:
    Ledger.open(path, now=NOW).close()
    execute(path, "PRAGMA user_version = 99")


def without_its_tables(path: Path) -> None:
    Ledger.open(path, now=NOW).close()
    execute(path, "DROP TABLE events")


@pytest.mark.parametrize(
    "spoil", [not_a_database, truncated, overwritten_header, from_the_future, without_its_tables]
)
def test_an_unreadable_ledger_is_kept_and_recreated(
    path: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(path)
    content = path.read_bytes()
    with Ledger.open(path, now=NOW + 5) as ledger:
        ledger.record_event(NewEvent("api", "stopped"), NOW + 5)
        assert [event.kind for event in ledger.events()] == ["stopped"]
        [warning] = ledger.warnings
    aside = path.with_name(f"{path.name}.broken-1795000005")
    assert aside.read_bytes() == content
    assert warning.startswith(f"could not read the ledger {path}: ")
    assert aside.name in warning
    with Ledger.open(path, now=NOW + 6) as again:
        assert again.warnings == []


def test_damage_that_shows_later_is_handled_in_the_same_way(path: Path) -> None:
    with Ledger.open(path, now=NOW) as ledger:
        ledger.mirror([row(f"n{number}", note="x" * 500) for number in range(300)], "d1")
    content = bytearray(path.read_bytes())
    content[4096 * 40 :] = b"\xee" * len(content[4096 * 40 :])
    path.write_bytes(content)
    with Ledger.open(path, now=NOW) as ledger:
        assert ledger.warnings == []
        ledger.mirror([row("api")], "d2")
        assert len(ledger.warnings) == 1
        assert ledger.mirrored_digest() == "d2"


def test_the_write_ahead_log_goes_with_a_ledger_that_is_set_aside(path: Path) -> None:
    from_the_future(path)
    user = sqlite3.connect(path, isolation_level=None)
    try:
        user.execute("CREATE TABLE future (word TEXT)")
        user.execute("INSERT INTO future VALUES ('kept')")
        Ledger.open(path, now=NOW).close()
        aside = f"{path.name}.broken-1795000000"
        assert {file.name for file in path.parent.iterdir()} == {
            path.name,
            aside,
            f"{aside}-wal",
            f"{aside}-shm",
        }
    finally:
        user.close()
    assert rows_of(path.with_name(aside), "SELECT word FROM future") == [("kept",)]
    Ledger.open(path, now=NOW).close()


def test_two_ledgers_broken_within_a_second_are_both_kept(path: Path) -> None:
    for content in (b"first " * 200, b"second " * 200):
        path.write_bytes(content)
        Ledger.open(path, now=NOW).close()
    assert path.with_name(f"{path.name}.broken-1795000000").read_bytes().startswith(b"first")
    assert path.with_name(f"{path.name}.broken-1795000000.1").read_bytes().startswith(b"second")


def test_numbers_keep_rising_in_a_recreated_ledger(path: Path) -> None:
    with Ledger.open(path, now=NOW) as ledger:
        old_intent = begun(ledger, intent())
        ledger.record_event(NewEvent("api", "asked"), NOW)
        old_event = ledger.events()[0].id
    not_a_database(path)
    with Ledger.open(path, now=NOW + 1) as ledger:
        assert begun(ledger, intent("other")) > old_intent
        ledger.record_event(NewEvent("api", "asked"), NOW)
        assert len(ledger.events(after_id=old_event)) == 1


def test_an_owner_whose_intent_was_lost_continues(path: Path) -> None:
    with Ledger.open(path, now=NOW) as ledger:
        number = begun(ledger, intent())
    not_a_database(path)
    with Ledger.open(path, now=NOW + 1) as ledger:
        assert ledger.still_open(number)
        assert ledger.close_intent(Closing(number, "stopped"), NOW + 2)


def test_an_open_connection_moves_to_the_recreated_ledger(path: Path) -> None:
    with Ledger.open(path, now=NOW) as watcher:
        watcher.record_event(NewEvent("api", "old"), NOW)
        execute(path, "PRAGMA user_version = 99")
        with Ledger.open(path, now=NOW + 1) as other:
            other.record_event(NewEvent("api", "by other"), NOW + 1)
            watcher.record_event(NewEvent("api", "by watcher"), NOW + 2)
    with Ledger.open(path, now=NOW + 3) as ledger:
        assert [event.kind for event in ledger.events()] == ["by other", "by watcher"]


def test_a_ledger_that_was_deleted_is_recreated(ledger: Ledger, path: Path) -> None:
    path.unlink()
    ledger.record_event(NewEvent("api", "stopped"), NOW)
    assert path.exists()
    assert len(ledger.events()) == 1


def test_a_waiting_connection_opens_the_recreated_ledger(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    not_a_database(path)

    def another_was_first(descriptor: int, operation: int) -> None:
        monkeypatch.undo()
        with Ledger.open(path, now=NOW) as other:
            other.record_event(NewEvent("api", "by other"), NOW)

    monkeypatch.setattr("tmuxreap.ledger.database.fcntl.flock", another_was_first)
    with Ledger.open(path, now=NOW + 1) as ledger:
        assert ledger.warnings == []
        assert [event.kind for event in ledger.events()] == ["by other"]
    assert [file.name for file in path.parent.glob("*.broken-*")] == [
        f"{path.name}.broken-1795000000"
    ]


def test_a_broken_ledger_that_vanished_is_recreated(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    not_a_database(path)

    def vanishing(db: sqlite3.Connection, now: float) -> None:
        monkeypatch.undo()
        path.unlink()
        raise sqlite3.DatabaseError("file is not a database")

    monkeypatch.setattr("tmuxreap.ledger.database._prepare", vanishing)
    with Ledger.open(path, now=NOW) as ledger:
        assert ledger.warnings == []
        assert ledger.events() == []


def test_a_ledger_that_vanishes_while_it_is_opened_is_recreated_privately(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def vanishing(path: Path, busy_s: float, now: float) -> sqlite3.Connection:
        monkeypatch.undo()
        path.unlink()
        return database._connect(path, busy_s, now)

    monkeypatch.setattr("tmuxreap.ledger.database._connect", vanishing)
    with Ledger.open(path, now=NOW) as ledger:
        ledger.record_event(NewEvent("api", "stopped"), NOW)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_ledger_that_vanishes_before_it_is_opened_is_recreated(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def vanishing(path: Path, now: float) -> None:
        monkeypatch.undo()

    monkeypatch.setattr("tmuxreap.ledger.database._create_or_check", vanishing)
    with Ledger.open(path, now=NOW) as ledger:
        assert (ledger.events(), ledger.warnings) == ([], [])


def test_a_newer_process_that_was_faster_is_not_turned_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from_the_future(path)

    def version_of_old(db: sqlite3.Connection) -> int:
        monkeypatch.undo()
        return 0

    monkeypatch.setattr("tmuxreap.ledger.database.version_of", version_of_old)
    Ledger.open(path, now=NOW).close()
    assert rows_of(path, "PRAGMA user_version") == [(99,)]


def test_many_that_find_it_broken_at_once_set_it_aside_once(path: Path) -> None:
    not_a_database(path)

    def work(number: int) -> None:
        with Ledger.open(path, now=NOW + number, busy_s=20) as ledger:
            ledger.record_event(NewEvent(f"n{number}", "seen"), NOW)

    assert run_in_processes(20, work) == [0] * 20
    with Ledger.open(path, now=NOW) as ledger:
        assert len(ledger.events()) == 20
    assert len(list(path.parent.glob("*.broken-*"))) == 1
