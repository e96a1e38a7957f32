"""Slow parses are cached in the ledger, and used for exactly the files they were made from."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import tmuxreap
from tmuxreap.core import cache

ROWS = "".join(
    f"- name: r{number:03}\n  status: stopped\n  agent: claude\n" for number in range(120)
)
TEXT = f"tmux_sessions:\n{ROWS}"


def names() -> list[str]:
    answer = tmuxreap("list", "--json")
    assert answer.exit == 0, answer.err
    return [row["name"] for row in answer.json["results"]]


def ledger_of(registry: Path) -> Path:
    return registry.with_suffix(".db")


def agents_of_mine() -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"]) / "tmuxreap" / "agents.yaml"


@pytest.fixture
def known(registry: Path) -> Path:
    """A registry and a user's profiles, both cached."""
    registry.write_text(TEXT)
    mine = agents_of_mine()
    mine.parent.mkdir()
    mine.write_text("agents: {pi: {about: one, process: [pi]}}\n")
    names()
    with contextlib.closing(sqlite3.connect(ledger_of(registry))) as db, db:
        assert {what for (what,) in db.execute("SELECT what FROM readings")} == {
            "profiles",
            "rows",
            "rows/0",
        }
    return registry


def in_place(registry: Path) -> None:
    before = registry.stat()
    with registry.open("r+") as file:
        file.write(TEXT.replace("r000", "x000"))
    os.utime(registry, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert registry.stat().st_size == before.st_size


def by_rename(registry: Path) -> None:
    before, other = registry.stat(), registry.with_name("other")
    other.write_text(TEXT.replace("r000", "x000"))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(registry)


@pytest.mark.parametrize("change", [in_place, by_rename])
def test_a_registry_of_the_same_size_and_time_is_read_again(
    change: Callable[[Path], None], known: Path
) -> None:
    change(known)
    assert names()[0] == "x000"


def test_a_ledger_of_another_registry_says_nothing(known: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / known.name
    other.parent.mkdir()
    other.write_text(TEXT.replace("r000", "x000"))
    shutil.copy2(ledger_of(known), ledger_of(other))
    os.utime(other, ns=(known.stat().st_atime_ns, known.stat().st_mtime_ns))
    answer = tmuxreap("list", "--json", "--registry", str(other))
    assert answer.json["results"][0]["name"] == "x000"


GARBAGE = (
    "null",
    "[]",
    "{}",
    "5",
    '["a"]',
    '[{"name": "a", "status": "running"}]',
    "[" * 3000,
    "{",
    b"\xff\xfe",
    "",
)


@pytest.mark.parametrize("what", ["profiles", "rows", "rows/0"])
def test_garbage_in_the_cache_is_not_trusted(what: str, known: Path) -> None:
    text, update = ledger_of(known).read_bytes(), "UPDATE readings SET data = ? WHERE what = ?"
    for data in GARBAGE:
        assert not ledger_of(known).with_suffix(".db-wal").exists()
        ledger_of(known).write_bytes(text)
        with contextlib.closing(sqlite3.connect(ledger_of(known))) as db, db:
            assert db.execute(update, (data, what)).rowcount == 1
        assert len(names()) == 120, data


def test_a_changed_cache_is_not_trusted(known: Path) -> None:
    with contextlib.closing(sqlite3.connect(ledger_of(known))) as db, db:
        db.execute("UPDATE readings SET data = replace(data, 'r000', 'x000')")
    assert names()[0] == "r000"


@pytest.mark.usefixtures("known")
def test_a_profile_that_was_changed_in_place_is_read_again() -> None:
    mine = agents_of_mine()
    before = mine.stat()
    with mine.open("r+") as file:
        file.write("agents: {pi: {about: two, process: [pi]}}\n")
    os.utime(mine, ns=(before.st_atime_ns, before.st_mtime_ns))
    (pi,) = [one for one in tmuxreap("agents", "--json").json["results"] if one["name"] == "pi"]
    assert pi["about"] == "two"


def test_a_value_that_json_would_change_is_not_kept() -> None:
    assert cache.cache_entry("it", "stamp", {"a": [1, 2.5, None, True, "ö"]}) is not None
    for value in ({1: "a"}, (1, 2), {"a": b"x"}, {"a": {1}}):
        assert cache.cache_entry("it", "stamp", value) is None


def test_a_cached_value_is_found_by_its_stamp() -> None:
    kept = cache.cache_entry("it", "stamp", {"a": ["ö"]})
    assert kept is not None
    store = {("it", "stamp"): kept.data}
    assert cache.cached_value(lambda *key: store.get(key), "it", "stamp") == {"a": ["ö"]}
    assert cache.cached_value(lambda *key: store.get(key), "it", "other") is None
    assert json.dumps({"a": ["ö"]}) in kept.data
