"""What `doctor` finds in the registry, its lock and its ledger without changing them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from pathlib import Path

import pytest
from filelock import SoftFileLock

from tests.command_line import tmuxreap
from tests.doctor_answers import REGISTRY, contents, doctor, of, the_only
from tmuxreap.commands.doctor import registry as checks_registry
from tmuxreap.ledger import database
from tmuxreap.system import files


def test_a_broken_registry_is_reported_with_line_and_column(registry: Path) -> None:
    registry.write_text(REGISTRY + "  - name: [\n")
    answer = doctor()
    assert answer.exit == 1
    assert "line 5, column 1" in the_only(answer, "registry")["message"]


def test_a_registry_that_is_a_pipe_is_not_waited_for(registry: Path) -> None:
    registry.unlink()
    os.mkfifo(registry)
    assert "no regular file" in the_only(doctor(), "registry")["message"]


def test_a_registry_that_others_may_read_is_reported_and_keeps_its_mode(registry: Path) -> None:
    registry.chmod(0o644)
    found = the_only(doctor(), "registry", "note")
    assert (
        found["message"]
        == f"{registry} can be read by others, and holds the last screens of sessions"
    )
    assert found["hint"] == f"chmod 600 {registry}"
    assert registry.stat().st_mode & 0o777 == 0o644
    registry.chmod(0o600)
    assert not of(doctor(), "registry", "note")


def test_a_bad_row_is_reported_with_line_and_column(registry: Path) -> None:
    registry.write_text(REGISTRY + "  - name: b\n    status: gone\n")
    found = the_only(doctor(), "registry")
    assert "'b'" in found["message"]
    assert "line 4, column 5" in found["message"]
    assert found["hint"].startswith("edit line 4")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("restart: sometimes", "'sometimes' is not one of never, on-failure, always"),
        ("restart: always\n    restart_limit: often", "'often' is no limit"),
    ],
)
def test_an_invalid_restart_word_is_reported(registry: Path, words: str, told: str) -> None:
    registry.write_text(REGISTRY + f"  - name: b\n    status: stopped\n    {words}\n")
    registry.chmod(0o600)
    found = the_only(doctor(), "registry", "note")
    assert found["message"].startswith(f"b would not be started again: {told}")
    registry.write_text(REGISTRY + "  - name: b\n    status: stopped\n    restart: always\n")
    assert not of(doctor(), "registry", "note")


def test_a_held_lock_is_reported_with_its_holder(
    registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks_registry, "HELD_LONG_S", 0.05)
    lock = registry.with_name(registry.name + ".lock")
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        answer = doctor()
        assert f"by process {os.getpid()}" in the_only(answer, "lock")["message"]
    assert of(doctor(), "lock", "ok")


def test_a_soft_lock_of_another_program_is_reported(registry: Path) -> None:
    with SoftFileLock(f"{registry}.lock"):
        told = the_only(doctor(), "lock")
        assert f"soft lock of process {os.getpid()}" in told["message"]
        assert "filelock.FileLock" in told["hint"]


def test_a_folder_that_hosts_share_is_reported(
    registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mountinfo"
    disk, share = (
        "22 1 0:21 / / rw - ext4 /dev/sda rw",
        f"23 22 0:44 / {registry.parent} rw - nfs4 host:/x rw",
    )
    mounts.write_text(f"{disk}\n{share}\n")
    monkeypatch.setattr(files, "MOUNTS", mounts)
    assert "nfs4" in the_only(doctor(), "lock", "note")["message"]


def test_a_ledger_that_lags_is_reported_and_left_alone(registry: Path) -> None:
    assert tmuxreap("reconcile", "--json").exit == 0
    assert tmuxreap("forget", "shop", "--json").exit == 0
    registry.write_text(REGISTRY)
    before = contents(registry.parent)
    found = the_only(doctor(), "ledger")
    assert (found["message"].endswith("mirrors another state of the registry"), found["hint"]) == (
        True,
        "tmuxreap reconcile",
    )
    assert contents(registry.parent) == before
    assert tmuxreap("reconcile", "--json").exit == 0
    assert of(doctor(), "ledger", "ok")


def test_a_ledger_that_mirrors_nothing_does_not_agree_with_rows(registry: Path) -> None:
    for verb in (("protect", "shop"), ("reconcile",)):
        assert tmuxreap(*verb, "--json").exit == 0
    with contextlib.closing(sqlite3.connect(registry.with_suffix(".db"))) as db:
        for table in ("sessions", "mirrored"):
            db.execute(f"DELETE FROM {table}")
        db.commit()
    found = the_only(doctor(), "ledger")
    assert found["message"].endswith("mirrors another state of the registry")


def test_no_connection_is_left_open(registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tmuxreap("protect", "shop", "--json").exit == 0
    opened: list[sqlite3.Connection] = []
    connect = database.connect

    def noted(path: str, busy_s: float) -> sqlite3.Connection:
        opened.append(connect(path, busy_s))
        return opened[-1]

    monkeypatch.setattr(database, "connect", noted)
    assert of(doctor(), "ledger", "ok")
    assert opened
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
            connection.execute("SELECT 1")


@pytest.mark.parametrize("rubbish", [b"no database", b"SQLite format 3\0" + b"\xff" * 2000])
def test_a_broken_ledger_is_found_and_not_set_aside(registry: Path, rubbish: bytes) -> None:
    ledger = registry.with_name("agent-sessions.db")
    ledger.write_bytes(rubbish)
    before = contents(registry.parent)
    assert "cannot be read" in the_only(doctor(), "ledger")["message"]
    assert contents(registry.parent) == before


def test_events_in_the_wal_alone_are_read_and_no_file_appears_beside_it(registry: Path) -> None:
    registry.write_text(REGISTRY + "  - name: web\n    status: stopped\n")
    assert tmuxreap("forget", "shop", "--json").exit == 0
    reader = sqlite3.connect(registry.with_name("agent-sessions.db"), isolation_level=None)
    reader.execute("BEGIN")  # while this transaction is open, later writes stay in the -wal
    reader.execute("SELECT count(*) FROM events").fetchone()
    assert tmuxreap("forget", "web", "--json").exit == 0
    before = contents(registry.parent)
    assert of(doctor(), "ledger", "ok")
    assert contents(registry.parent) == before
    reader.close()


def test_files_of_a_killed_writer_are_found(registry: Path) -> None:
    left = registry.parent / ".agent-sessions.yaml.999999999.abc.tmp"
    left.write_text("x")
    assert str(left) in the_only(doctor(), "registry", "note")["message"]
    assert left.exists()
