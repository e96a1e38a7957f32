"""`agent_lifecycle` and `orchestrator_task`: other tools' reports are read, their tables are
updated."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import Story
from tests.ledger_records import Ledger
from tmuxreap.commands.reap import reap
from tmuxreap.commands.reap.reap import ReapRequest
from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.ledger.database import ledger_path
from tmuxreap.ledger.records import MirrorRow

THEIRS = """CREATE TABLE agent_lifecycle (
    agent_id TEXT PRIMARY KEY, pid INTEGER, status TEXT {rule}, task_id TEXT,
    last_heartbeat TIMESTAMP, completed_at TIMESTAMP, error_message TEXT, spawned_by TEXT)"""
SEED_KILL = """UPDATE agent_lifecycle
    SET status = 'killed', completed_at = CURRENT_TIMESTAMP, error_message = ? WHERE agent_id = ?"""


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    one = Story(tmp_path)
    yield one
    one.close()


def sql(story: Story, statement: str, *values: object) -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(ledger_path(story.path), isolation_level=None)) as db:
        return db.execute(statement, values).fetchall()


def ours(story: Story, *agents: str) -> None:
    """A ledger with our own view, which shows these agents."""
    for name in agents:
        story.agent(name)
    reconcile.run(story.app())
    with story.ledger() as ledger:
        rows = [MirrorRow(name, "running", "/", story.row(name)) for name in agents]
        ledger.mirror(rows, "d")


def life(story: Story, name: str = "acme") -> tuple[Any, ...]:
    (found,) = sql(
        story,
        "SELECT status, completed_at, error_message FROM agent_lifecycle WHERE agent_id = ?",
        name,
    )
    return found


def stalled(story: Story, *, yes: bool = True) -> list[dict[str, Any]]:
    result = reap.run(story.app(), ReapRequest((Kind.STALLED,), yes=yes))
    return [item.as_json() for item in result.results]


def test_an_agent_marked_stalled_in_their_table_is_reaped_and_recorded_everywhere(
    story: Story,
) -> None:
    story.clock.set_by(time.time() - story.clock.now())  # the view uses SQLite's clock
    ours(story, "acme", "web")
    sql(story, "UPDATE agent_lifecycle SET status = 'stalled' WHERE agent_id = 'acme'")
    assert life(story)[0] == "stalled"
    (told,) = stalled(story)
    assert (told["name"], told["verdict"], told["evidence"]["said"]) == (
        "acme",
        "stalled",
        "stalled",
    )
    row = story.row()
    assert life(story) == ("killed", row["stopped_at"], "Agent killed: stalled")
    assert life(story, "web") == ("running", None, None)


def test_a_heartbeat_written_by_another_tool_counts(story: Story) -> None:
    ours(story, "acme")
    sql(
        story,
        "UPDATE agent_lifecycle SET last_heartbeat = '2026-11-18 11:06:40' WHERE agent_id = 'acme'",
    )
    with story.ledger() as ledger:
        beat = ledger.last_heartbeat("acme")
    assert beat is not None
    assert (beat.kind, beat.state, round(beat.at)) == ("heartbeat", "", 1_795_000_000)
    assert sql(story, "SELECT last_heartbeat FROM agent_lifecycle") == [("2026-11-18T11:06:40Z",)]
    sql(story, "UPDATE agent_lifecycle SET last_heartbeat = 1795000100.5 WHERE agent_id = 'acme'")
    assert sql(story, "SELECT last_heartbeat FROM agent_lifecycle") == [("2026-11-18T11:08:20Z",)]


def test_a_status_by_another_tool_stays_until_its_row_ends(story: Story) -> None:
    ours(story, "acme")
    sql(story, SEED_KILL, "stuck", "acme")
    status, completed, message = life(story)
    assert (status, message) == ("killed", "stuck")
    assert completed
    story.stop("acme")
    assert life(story) == ("stopped", story.row()["stopped_at"], None)


def test_agents_without_a_row_can_be_kept_there_and_dropped(story: Story) -> None:
    ours(story)
    sql(
        story,
        "INSERT INTO agent_lifecycle (agent_id, pid, status, task_id) VALUES ('code-1', 7,"
        " 'running', 'T-1')",
    )
    assert sql(story, "SELECT agent_id, pid, status, task_id FROM agent_lifecycle") == [
        ("code-1", 7, "running", "T-1")
    ]
    sql(story, "DELETE FROM agent_lifecycle WHERE agent_id = 'code-1'")
    assert sql(story, "SELECT * FROM agent_lifecycle") == []


def theirs(story: Story, rule: str = "") -> None:
    story.agent("acme")
    sql(story, THEIRS.format(rule=rule))
    sql(
        story,
        "INSERT INTO agent_lifecycle VALUES ('acme', 1, 'running', 'T-1', NULL, NULL, NULL, 'us')",
    )


def test_a_table_of_another_tool_is_written_and_not_altered(story: Story) -> None:
    theirs(story)
    before = sql(story, "SELECT sql FROM sqlite_master WHERE name = 'agent_lifecycle'")
    story.kill("acme", reason="stuck")
    assert life(story) == ("killed", story.row()["stopped_at"], "Agent killed: stuck")
    assert sql(story, "SELECT pid, task_id, spawned_by FROM agent_lifecycle") == [(1, "T-1", "us")]
    assert sql(story, "SELECT sql FROM sqlite_master WHERE name = 'agent_lifecycle'") == before
    with story.ledger() as ledger:
        assert ledger.lifecycle_problems() == []


def test_a_status_is_written_even_after_a_crash_of_tmuxreap(story: Story) -> None:
    theirs(story)
    story.kill("acme", reason="stuck")
    sql(
        story,
        "UPDATE agent_lifecycle SET status = 'running', completed_at = NULL, error_message = NULL",
    )
    sql(story, "DELETE FROM sessions")
    sql(story, "DELETE FROM mirrored")
    reconcile.run(story.app())
    assert life(story) == ("killed", story.row()["stopped_at"], "Agent killed: stuck")


def test_a_check_in_a_foreign_table_does_not_stop_an_ending(story: Story) -> None:
    theirs(story, "CHECK (status IN ('running', 'done'))")
    assert story.kill("acme").exit == 0
    assert life(story)[0] == "running"
    with story.ledger() as ledger:
        (said,) = ledger.lifecycle_problems()
    assert (
        said
        == "the table agent_lifecycle is another tool's and says that acme is running, not killed:"
        " its rules refuse that"
    )


def test_a_column_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as db:
        db.execute("CREATE TABLE agent_lifecycle (agent_id TEXT, status TEXT)")
        db.execute("CREATE TABLE orchestrator_task (task_id TEXT, status TEXT)")
    (tmp_path / "x.db").chmod(0o600)
    with Ledger.open(tmp_path / "x.db", now=1.0) as ledger:
        assert ledger.lifecycle_problems() == [
            (
                "the table agent_lifecycle is another tool's and has no completed_at,"
                " error_message: not written"
            ),
            (
                "the table orchestrator_task is another tool's and has no error_message,"
                " updated_at: not written"
            ),
        ]


def test_the_table_of_an_orchestrator_is_read_as_heartbeats(story: Story) -> None:
    theirs(story)
    at = story.clock.now() + 5
    sql(story, "UPDATE agent_lifecycle SET status = 'stalled', last_heartbeat = ?", at)
    with story.ledger() as ledger:
        pulse = ledger.pulses()["acme"]
    assert (pulse.kind, pulse.state, pulse.at) == ("lifecycle", "stalled", at)
    (told,) = stalled(story, yes=False)
    assert told["verdict"] == "stalled"


def test_a_view_of_another_tool_is_left_as_it_is(story: Story) -> None:
    sql(story, "CREATE TABLE theirs (agent_id TEXT, status TEXT)")
    view = "CREATE VIEW agent_lifecycle AS SELECT agent_id, status FROM theirs"
    sql(story, view)
    story.agent()
    reconcile.run(story.app())
    story.stop()
    found = sql(story, "SELECT type, sql FROM sqlite_master WHERE name = 'agent_lifecycle'")
    assert found == [("view", view)]
    with story.ledger() as ledger:
        (said,) = ledger.lifecycle_problems()
        assert "is a view of another tool's" in said
        assert [event.kind for event in ledger.events()][-1] == "stopped"


def test_the_word_of_another_tool_counts_until_the_row_changes(story: Story) -> None:
    ours(story, "acme", "other")
    for name in ("acme", "other"):
        sql(story, SEED_KILL, "enough", name)
    with story.ledger() as ledger:
        changed = MirrorRow("acme", "running", "/", {**story.row("acme"), "tags": ["again"]})
        ledger.mirror([changed, MirrorRow("other", "running", "/", story.row("other"))], "d2")
    words = sql(story, "SELECT agent_id, status FROM agent_lifecycle ORDER BY agent_id")
    assert words == [("acme", "running"), ("other", "killed")]
