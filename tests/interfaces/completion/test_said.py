"""An agent's state in completion: the latest in the ledger, and none that is outdated."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from pathlib import Path

import pytest

from tests.command_line import tmuxreap
from tests.ledger_records import Ledger
from tmuxreap.interfaces.completion.said import states
from tmuxreap.ledger.records import NewEvent

ROWS = "tmux_sessions:\n" + "".join(
    f"  - {{name: {name}, status: {status}, agent: demo}}\n"
    for name, status in (("shop", "running"), ("docs", "running"), ("old", "stopped"))
)


@pytest.fixture
def ledger(registry: Path) -> Path:
    registry.write_text(ROWS)
    path = registry.with_suffix(".db")
    Ledger.open(path, now=time.time()).close()
    return path


def say(ledger: Path, name: str, state: str, at: float) -> None:
    with contextlib.closing(sqlite3.connect(ledger)) as db, db:
        db.execute(
            "INSERT INTO heartbeats (name, at, state, kind, data) VALUES (?, ?, ?, 'prompt', '{}')",
            (name, at, state),
        )


def happen(ledger: Path, name: str, kind: str, at: float, **data: object) -> None:
    with Ledger.open(ledger, now=at) as book:
        book.record_event(NewEvent(name, kind, data), at)


def told(ledger: Path, *names: str) -> dict[str, str]:
    return states(str(ledger.with_suffix(".yaml")), names)


def test_a_shell_tells_what_each_is_at(ledger: Path) -> None:
    say(ledger, "shop", "waiting", time.time())
    say(ledger, "old", "working", time.time())
    answer = tmuxreap("_complete", "show", "")
    offers = dict(line.split("\t") for line in answer.out.splitlines())
    assert offers["shop"] == "running, demo, waiting"
    assert offers["docs"] == "running, demo"
    assert offers["old"] == "stopped, demo"


def test_the_later_word_counts_and_an_old_one_tells_its_age(ledger: Path) -> None:
    now = time.time()
    say(ledger, "shop", "working", now - 300)
    assert told(ledger, "shop") == {"shop": "working 5m ago"}
    happen(ledger, "shop", "state", now - 10, state="limited", before="working")
    assert told(ledger, "shop") == {"shop": "limited"}
    say(ledger, "shop", "idle", now)
    assert told(ledger, "shop") == {"shop": "idle"}


@pytest.mark.parametrize("kind", ["started", "resumed", "adopted"])
def test_a_word_of_another_life_is_none(ledger: Path, kind: str) -> None:
    now = time.time()
    say(ledger, "shop", "waiting", now - 20)
    happen(ledger, "shop", kind, now - 10)
    assert told(ledger, "shop", "docs") == {}


def test_without_a_word_or_a_ledger_there_is_silence(ledger: Path) -> None:
    say(ledger, "shop", "nonsense\x1b", time.time())
    assert told(ledger, "shop") == {}
    ledger.write_bytes(os.urandom(8192))
    assert told(ledger, "shop") == {}
    assert "shop" in tmuxreap("_complete", "stop", "").out
    ledger.unlink()
    assert told(ledger, "shop") == {}
    assert not ledger.exists()
