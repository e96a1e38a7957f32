"""The mirror follows the registry: whole, or by what was changed."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType

from tests.ledger_records import NOW, Ledger, row, rows_of
from tmuxreap.ledger.records import (
    Mirror,
    MirrorRow,
    NewEvent,
)


def test_before_the_first_mirror_there_is_no_digest(ledger: Ledger) -> None:
    assert ledger.mirrored_digest() is None


def test_a_mirror_replaces_the_one_before(ledger: Ledger, path: Path) -> None:
    ledger.mirror([row("api"), row("web")], "d1")
    ledger.mirror([row("web", "stopped"), row("new")], "d2")
    assert sorted(rows_of(path, "SELECT name, status FROM sessions")) == [
        ("new", "running"),
        ("web", "stopped"),
    ]
    assert ledger.mirrored_digest() == "d2"


def test_the_first_of_two_rows_with_one_name_is_mirrored(ledger: Ledger, path: Path) -> None:
    ledger.mirror([row("api", "running"), row("api", "stopped")], "d1")
    assert rows_of(path, "SELECT name, status FROM sessions") == [("api", "running")]


def test_only_rows_that_differ_are_rewritten(ledger: Ledger, path: Path) -> None:
    ledger.mirror([row("api"), row("web"), row("db")], "d1")
    before = set(rows_of(path, "SELECT name, rowid FROM sessions"))
    ledger.mirror([row("api", "stopped"), row("web"), row("db")], "d2")
    after = set(rows_of(path, "SELECT name, rowid FROM sessions"))
    assert [name for name, _ in after - before] == ["api"]


def test_a_change_needs_only_the_changed_row(ledger: Ledger, path: Path) -> None:
    ledger.mirror([row("api"), row("web")], "d1")
    ledger.write(Mirror([row("api", "stopped")], "d2", base="d1"), now=NOW)
    assert sorted(rows_of(path, "SELECT name, status FROM sessions")) == [
        ("api", "stopped"),
        ("web", "running"),
    ]
    assert ledger.mirrored_digest() == "d2"


def test_a_change_to_a_registry_that_is_not_mirrored_is_left_to_the_rebuild(
    ledger: Ledger, path: Path
) -> None:
    ledger.mirror([row("api"), row("web")], "d1")
    ledger.write(
        Mirror([row("api", "stopped")], "d9", base="d8"), [NewEvent("api", "stopped")], now=NOW
    )
    assert rows_of(path, "SELECT status FROM sessions WHERE name = 'api'") == [("running",)]
    assert ledger.mirrored_digest() == "d1"
    assert len(ledger.events()) == 1


def test_rows_that_are_hard_to_write_as_json_do_not_stop_the_mirror(
    ledger: Ledger, path: Path
) -> None:
    cycle: dict[str, object] = {}
    cycle["self"] = cycle
    ledger.mirror(
        [
            row("dates", at=datetime(2026, 11, 18, tzinfo=timezone.utc)),
            row("keys", odd={(1, 2): "x", "good": 1}),
            row("cycle", odd=cycle),
            MirrorRow("proxy", "running", None, MappingProxyType({"a": 1})),
        ],
        "d1",
    )
    data = {
        name: json.loads(str(text))
        for name, text in rows_of(path, "SELECT name, data FROM sessions")
    }
    assert data["dates"]["at"] == "2026-11-18 00:00:00+00:00"
    assert data["keys"]["odd"] == {"good": 1}
    assert data["cycle"] == {}
    assert data["proxy"] == {"a": 1}
