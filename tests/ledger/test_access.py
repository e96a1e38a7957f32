"""Without a ledger the work goes on, with a warning."""

from __future__ import annotations

import sqlite3

import pytest

from tests.fakes import FakeClock
from tests.ledger_bench import Bench, new_intent
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Begun


def test_without_a_ledger_the_work_continues_and_says_so_once(bench: Bench) -> None:
    bench.books.path.mkdir()
    assert bench.begin() is None
    assert bench.books.still_open(1)  # an unreadable intent counts as not taken over
    bench.stop_a()
    assert bench.books.note("a", "draft", {}) is None
    assert "name: a\n    status: stopped" in bench.registry.path.read_text()
    assert [warning.split(":")[0] for warning in bench.warnings] == ["intent_not_recorded"]
    assert "not a regular file" in bench.warnings[0]


def test_an_unreadable_ledger_is_set_aside_with_a_warning(bench: Bench) -> None:
    bench.books.path.write_bytes(b"no database " * 100)
    assert isinstance(bench.begin(), Begun)
    (warning,) = bench.warnings
    (aside,) = bench.books.path.parent.glob("rows.db.broken-*")
    assert aside.name in warning
    assert aside.read_bytes() == b"no database " * 100


def test_a_command_continues_without_a_locked_ledger(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.stop_a()
    bench.books.close()
    other = sqlite3.connect(bench.books.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(Books, "busy_s", 0.01)
    later = Books(bench.registry, FakeClock(), bench.warnings)
    assert later.begin([new_intent("a")], lambda _intent: True, take_over=False) == [None]
    assert [warning.split(":")[0] for warning in bench.warnings] == ["intent_not_recorded"]
    assert "locked" in bench.warnings[0]
    other.close()
    later.close()
