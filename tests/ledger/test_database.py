"""The ledger's file: private, locked by other processes, on a full disk, and where none may be."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ledger_records import (
    FORK,
    NOW,
    Ledger,
    begin,
    begun,
    intent,
    row,
    rows_of,
    run_in_processes,
)
from tmuxreap.ledger.database import LedgerUnavailable, ledger_path
from tmuxreap.ledger.records import (
    Begun,
    Intent,
    Mirror,
    NewEvent,
)


@pytest.mark.parametrize(
    ("registry", "expected"),
    [
        ("/p/.hermes/agent-sessions.yaml", "/p/.hermes/agent-sessions.db"),
        ("/p/two.dots.yml", "/p/two.dots.db"),
        ("/p/bare", "/p/bare.db"),
        ("/p/rows.db", "/p/rows.db.db"),
    ],
)
def test_the_ledger_lies_beside_the_registry_and_is_never_the_registry(
    registry: str, expected: str
) -> None:
    assert ledger_path(Path(registry)) == Path(expected)


def test_the_file_and_its_sidecars_are_private(path: Path) -> None:
    before = os.umask(0)
    try:
        with Ledger.open(path, now=NOW) as ledger:
            ledger.record_event(NewEvent("api", "stopped"), NOW)
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == {path.name: 0o600, f"{path.name}-wal": 0o600, f"{path.name}-shm": 0o600}


def test_a_file_that_others_could_read_is_made_private(path: Path) -> None:
    Ledger.open(path, now=NOW).close()
    path.chmod(0o644)
    with Ledger.open(path, now=NOW):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_ledger_uses_a_wal_and_only_endings_wait_for_the_disk(
    ledger: Ledger, path: Path
) -> None:
    def synchronous() -> int:
        return int(ledger.fetch("PRAGMA synchronous")[0][0])

    seen: list[int] = []

    def owner_alive(_: Intent) -> bool:
        seen.append(synchronous())
        return False

    begun(ledger, intent())
    ledger.begin_intent(intent(), owner_alive=owner_alive, take_over=False, now=NOW)
    assert rows_of(path, "PRAGMA journal_mode") == [("wal",)]
    assert (seen, synchronous()) == ([2], 1)


def test_a_path_with_characters_of_a_uri_is_opened_literally(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=ro#b%41 c.db"
    with Ledger.open(path, now=NOW) as ledger:
        ledger.record_event(NewEvent("api", "stopped"), NOW)
    assert [file.name for file in tmp_path.iterdir()] == ["a?mode=ro#b%41 c.db"]


def test_a_relative_path_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Ledger.open(Path("rows.db"), now=NOW).close()
    assert (tmp_path / "rows.db").exists()


def test_a_lock_that_is_never_released_is_reported(ledger: Ledger, path: Path) -> None:
    holder = sqlite3.connect(path, isolation_level=None)
    try:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnavailable, match="locked") as caught:
            ledger.record_event(NewEvent("api", "stopped"), NOW)
        assert str(caught.value) == f"could not use the ledger {path}: database is locked"
        assert ledger.events() == []  # readers do not wait for a writer
        holder.execute("ROLLBACK")
    finally:
        holder.close()
    ledger.record_event(NewEvent("api", "stopped"), NOW)
    assert len(ledger.events()) == 1


def test_a_lock_of_another_process_is_reported_until_released(path: Path) -> None:
    Ledger.open(path, now=NOW).close()
    held, release = FORK.Event(), FORK.Event()

    def hold() -> None:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        held.set()
        release.wait(30)

    process = FORK.Process(target=hold)
    process.start()
    assert held.wait(30)
    try:
        with (
            Ledger.open(path, now=NOW, busy_s=0.1) as ledger,
            pytest.raises(LedgerUnavailable, match="locked"),
        ):
            begin(ledger, intent())
    finally:
        release.set()
        process.join(30)
    with Ledger.open(path, now=NOW) as ledger:
        assert isinstance(begin(ledger, intent()), Begun)


@pytest.mark.parametrize("full_at", [0, 64])
def test_a_full_disk_loses_nothing_that_was_written(path: Path, full_at: int) -> None:
    with Ledger.open(path, now=NOW) as ledger:
        ledger.record_event(NewEvent("api", "kept"), NOW)

    def work(number: int) -> None:
        ledger = Ledger.open(path, now=NOW)
        size = path.with_name(f"{path.name}-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + full_at * 1024, resource.RLIM_INFINITY))
        try:
            ledger.record_event(NewEvent("api", "too big", {"text": "x" * 300_000}), NOW)
        except LedgerUnavailable as error:
            ledger.close()
            os._exit(3 if "full" in error.reason or "I/O" in error.reason else 4)

    assert run_in_processes(1, work) == [3]
    with Ledger.open(path, now=NOW) as ledger:
        assert [event.kind for event in ledger.events()] == ["kept"]
        assert ledger.warnings == []


def test_a_full_database_refuses_an_event_and_works_again(ledger: Ledger) -> None:
    ledger.run(lambda db: db.execute("PRAGMA max_page_count = 30").fetchall())
    with pytest.raises(LedgerUnavailable, match="full"):
        ledger.record_event(NewEvent("api", "too big", {"text": "x" * 300_000}), NOW)
    ledger.record_event(NewEvent("api", "small"), NOW)
    assert [event.kind for event in ledger.events()] == ["small"]
    assert ledger.warnings == []


def test_a_readonly_folder_is_reported(tmp_path: Path) -> None:
    """In a child that drops root, as root may write everywhere."""
    folder = Path(tempfile.mkdtemp(prefix="ledger-"))
    folder.chmod(0o555)

    def work(number: int) -> None:
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        try:
            Ledger.open(folder / "rows.db", now=NOW)
        except LedgerUnavailable as error:
            os._exit(3 if error.reason == "Permission denied" else 4)

    try:
        assert run_in_processes(1, work) == [3]
        assert list(folder.iterdir()) == []
    finally:
        folder.rmdir()


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="No such file or directory"):
        Ledger.open(tmp_path / "gone" / "rows.db", now=NOW)


def link(path: Path) -> None:
    target = path.with_name("elsewhere.db")
    Ledger.open(target, now=NOW).close()
    path.symlink_to(target)


@pytest.mark.parametrize("make", [link, Path.mkdir, os.mkfifo])
def test_a_ledger_must_be_a_regular_file(path: Path, make: Callable[[Path], None]) -> None:
    make(path)
    with pytest.raises(LedgerUnavailable, match="is not a regular file"):
        Ledger.open(path, now=NOW)
    assert not list(path.parent.glob("*.broken-*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_a_file_of_another_user_is_not_trusted(path: Path, suffix: str) -> None:
    Ledger.open(path, now=NOW).close()
    foreign = path.with_name(path.name + suffix)
    foreign.touch()
    os.chown(foreign, 12345, 12345)
    with pytest.raises(LedgerUnavailable, match=r"belongs to another user \(uid 12345\)"):
        Ledger.open(path, now=NOW)


def test_a_value_that_cannot_be_stored_is_reported(ledger: Ledger) -> None:
    with pytest.raises(LedgerUnavailable, match="surrogates"):
        ledger.remember_mark("a\udc80", "uuid", NOW)
    with pytest.raises(LedgerUnavailable, match="too large"):
        begin(ledger, intent(pid=2**70))
    assert ledger.warnings == []


def test_fifty_writers_at_once_lose_nothing(path: Path) -> None:
    Ledger.open(path, now=NOW).close()

    def work(number: int) -> None:
        with Ledger.open(path, now=NOW, busy_s=20) as ledger:
            for turn in range(5):
                change = Mirror([row(f"n{number}", str(turn))], f"{number}-{turn}")
                ledger.write(change, [NewEvent(f"n{number}", str(turn))], now=NOW)
            begun(ledger, intent(f"n{number}"))

    assert run_in_processes(50, work) == [0] * 50
    with Ledger.open(path, now=NOW) as ledger:
        kinds = {
            name: [e.kind for e in ledger.events({name})]
            for name in (f"n{number}" for number in range(50))
        }
        assert kinds == {f"n{number}": ["0", "1", "2", "3", "4"] for number in range(50)}
        assert len(ledger.open_intents()) == 50
        assert len({found.id for found in ledger.open_intents()}) == 50
    assert (
        len(rows_of(path, "SELECT name FROM sessions")) == 1
    )  # each full mirror shows its own rows and no others


def test_a_death_in_the_middle_of_a_transaction_leaves_what_was_there(path: Path) -> None:
    with Ledger.open(path, now=NOW) as ledger:
        first = begun(ledger, intent())
    inside = FORK.Event()

    def die(number: int) -> None:
        ledger = Ledger.open(path, now=NOW)
        ledger.record_event(NewEvent("api", "committed"), NOW)

        def owner_alive(_: object) -> bool:
            inside.set()
            signal.pause()
            return False

        news = [intent("web"), intent("api", pid=200)]
        ledger.begin_intents(news, owner_alive=owner_alive, take_over=True, now=NOW)

    process = FORK.Process(target=die, args=(0,))
    process.start()
    assert inside.wait(30)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(30)
    with Ledger.open(path, now=NOW) as ledger:
        assert [found.id for found in ledger.open_intents()] == [first]
        assert [event.kind for event in ledger.events()] == ["committed"]
        assert ledger.warnings == []
        assert isinstance(begin(ledger, intent("web")), Begun)


def test_a_ledger_closed_twice_can_be_used_again(ledger: Ledger) -> None:
    ledger.close()
    ledger.close()
    ledger.record_event(NewEvent("api", "stopped"), NOW)
    assert len(ledger.events()) == 1
