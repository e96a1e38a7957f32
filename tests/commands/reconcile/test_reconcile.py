"""`reconcile` finishes what a dead owner was asked for, and one bad row does not stop it."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import Story
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core import faults
from tmuxreap.ledger.database import ledger_path


@contextlib.contextmanager
def broken(step: str) -> Iterator[None]:
    faults.arm(f"{step}=EIO")
    try:
        with contextlib.suppress(OSError):
            yield
    finally:
        faults.arm("")


def tasks(story: Story) -> list[tuple[str, str, str]]:
    with contextlib.closing(sqlite3.connect(ledger_path(story.path))) as db:
        return db.execute("SELECT task_id, status, error_message FROM orchestrator_task").fetchall()


def worktree(folder: Path) -> Path:
    main, tree = folder / "main", folder / "tree"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(main)]
    subprocess.run(["git", "init", "-q", str(main)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tree)], check=True, capture_output=True)
    return tree


@pytest.mark.parametrize("step", ["proven", "write_lock", "temp_written"])
def test_the_task_and_the_clean_up_are_finished_by_reconcile(
    step: str, story: Story, tmp_path: Path
) -> None:
    tree = worktree(tmp_path)
    story.agent()
    text = story.path.read_text()
    story.path.write_text(
        text.replace('"name": "acme"', f'"name": "acme", "task_id": "t-1", "worktree": "{tree}"')
    )
    with broken(step):
        story.kill(reason="runaway", task_status="ready", cleanup=True)
    assert story.row()["status"] == "running"
    assert tree.exists()
    reconcile.run(story.app())
    assert (story.row()["status"], story.row()["stop_reason"]) == ("stopped", "runaway")
    assert tasks(story) == [("t-1", "ready", "Agent killed: runaway")]
    assert not tree.exists()


def explicit(story: Story) -> None:
    """Make the row readable, but not editable."""
    text = story.path.read_text().replace('"status": "running", ', "", 1)
    story.path.write_text(
        text.replace('- {"name": "acme",', '- {? "status"\n    : "running", "name": "acme",', 1)
    )


def test_reconcile_goes_past_a_row_that_cannot_be_edited(story: Story) -> None:
    for name in ("acme", "other"):
        agent = story.agent(name)
        story.processes.die(agent.process)
    explicit(story)
    result = reconcile.run(story.app())
    told: Any = result.as_json()["drifts"]
    drifts = {one["name"]: one for one in told if one["name"]}
    assert (drifts["other"]["settled"], drifts["acme"]["settled"]) == (True, False)
    assert "line" in drifts["acme"]["evidence"]
    assert story.row("other")["status"] == "terminated"
    assert story.row("acme")["status"] == "running"
