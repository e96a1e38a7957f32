"""A ledger is read without touching it, from a checked copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ledger_records import NOW, Ledger, execute
from tmuxreap.ledger.database import copy_of, mark_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copies = tmp_path / "copies"
    copies.mkdir()
    return copies


def test_the_copy_holds_what_is_in_the_log_alone(ledger: Ledger, path: Path, folder: Path) -> None:
    ledger.remember_mark("acme", "m1", NOW)
    ledger.remember_mark("acme", "m2", NOW + 1)
    assert path.with_name(path.name + "-wal").stat().st_size > 0
    before = sorted(path.parent.iterdir())
    copy, trouble = copy_of(path, folder)
    assert (trouble, mark_in(copy, "acme"), mark_in(copy, "other")) == (None, "m2", None)
    assert sorted(path.parent.iterdir()) == before


def test_a_ledger_that_cannot_be_copied_is_left_alone(path: Path, folder: Path) -> None:
    copy, trouble = copy_of(path, folder)
    assert (trouble, copy.exists()) == ("No such file or directory", False)
    path.write_bytes(b"no database, whatever it is called" * 50)
    copy, trouble = copy_of(path, folder)
    assert (trouble, copy.exists()) == ("file is not a database", False)
    assert mark_in(path, "acme") is None


def test_a_newer_ledger_is_not_copied(ledger: Ledger, path: Path, folder: Path) -> None:
    ledger.remember_mark("acme", "m1", NOW)
    execute(path, "PRAGMA user_version = 99")
    assert copy_of(path, folder)[1] == "it was written by a newer version (schema 99)"
