"""The tables as other tools find them: the mirror, the view, and their own tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ledger_records import NOW, Ledger, execute, row, rows_of
from tmuxreap.ledger.records import (
    Heartbeat,
    MirrorRow,
)


def test_the_mirror_has_the_form_that_existing_readers_know(ledger: Ledger, path: Path) -> None:
    ledger.mirror([MirrorRow("api", "running", None, {"name": "api", "tags": ["x"]})], "d1")
    assert rows_of(path, "SELECT * FROM sessions") == [
        ("api", "running", None, '{"name": "api", "tags": ["x"]}')
    ]
    assert ledger.mirrored_digest() == "d1"


def test_the_lifecycle_view_shows_each_life(ledger: Ledger, path: Path) -> None:
    ledger.record_heartbeat(Heartbeat("alive", NOW, "working", "tool", None, {}))
    ledger.mirror(
        [
            row("alive", pane={"pid": 41}, task_id="t1", stopped_at="old", termination_mode="kill"),
            row(
                "killed",
                "stopped",
                stopped_at="2026-11-18T09:12:33Z",
                termination_mode="kill",
                stop_reason="stuck",
            ),
            row(
                "stopped", "stopped", stopped_at="2026-11-18T09:12:33Z", termination_mode="graceful"
            ),
            row("lost", "terminated", terminated_at="2026-11-18T10:00:00Z", pane="no mapping"),
            row("odd", "running", weight=float("nan")),
        ],
        "d1",
    )
    execute(path, "INSERT INTO sessions VALUES ('broken', 'running', NULL, '{oops')")
    seen = {found[0]: found[1:] for found in rows_of(path, "SELECT * FROM agent_lifecycle")}
    columns = [
        "agent_id",
        "pid",
        "status",
        "task_id",
        "last_heartbeat",
        "completed_at",
        "error_message",
    ]
    assert [found[1] for found in rows_of(path, "PRAGMA table_info(agent_lifecycle)")] == columns
    assert seen == {
        "alive": (41, "running", "t1", "2026-11-18T11:06:40Z", None, None),
        "killed": (None, "killed", None, None, "2026-11-18T09:12:33Z", "Agent killed: stuck"),
        "stopped": (None, "stopped", None, None, "2026-11-18T09:12:33Z", None),
        "lost": (None, "terminated", None, None, "2026-11-18T10:00:00Z", None),
        "odd": (None, "running", None, None, None, None),
        "broken": (None, "running", None, None, None, None),
    }


def test_the_lifecycle_view_works_without_json_functions(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tmuxreap.ledger.schema.supports_json", lambda db: False)
    monkeypatch.setattr("tmuxreap.ledger.ledger.supports_json", lambda db: False)
    with Ledger.open(path, now=NOW) as ledger:
        ledger.mirror([row("api", "stopped", termination_mode="kill")], "d1")
    assert rows_of(path, "SELECT * FROM agent_lifecycle") == [
        ("api", None, "stopped", None, None, None, None)
    ]


def test_tables_of_another_tool_are_joined_not_replaced(path: Path) -> None:
    execute(
        path,
        "CREATE TABLE sessions (name TEXT, status TEXT, data TEXT)",
        "CREATE TABLE orchestrator_task (task_id TEXT, title TEXT, status TEXT)",
        "INSERT INTO orchestrator_task VALUES ('t1', 'Fix it', 'running')",
    )
    with Ledger.open(path, now=NOW) as ledger:
        assert ledger.warnings == []
        ledger.mirror([row("api")], "d1")
        ledger.set_task("t1", "failed", "gone", NOW)
    assert rows_of(path, "SELECT name, pane_cwd FROM sessions") == [("api", "/work")]
    assert rows_of(path, "SELECT * FROM orchestrator_task") == [("t1", "Fix it", "failed")]
