"""What the documents of docs/compared.md ask for, in the order of each, on a real tmux. The skill's
blocks are run in test_given_workflow."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3

import pytest

from tests.real import Real, alive, answer, until
from tmuxreap.commands import list as listing
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.ledger.database import ledger_path

pytestmark = pytest.mark.live


def asked(real: Real, query: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(ledger_path(real.registry))) as db:
        return db.execute(query, ("acme",)).fetchall()


def test_kill_stalled_agent_its_output_and_its_tables(real: Real) -> None:
    pid = real.start(task_id="TASK-31-1")["pid"]
    select = "SELECT agent_id, pid, status, task_id FROM agent_lifecycle WHERE agent_id = ?"
    assert asked(real, select) == [("acme", pid, "running", "TASK-31-1")]
    result = real.kill(grace_s=10.0, task_status="failed")
    told = answer(result)
    assert (told["task_id"], told["grace_s"], told["stopped_by"]) == ("TASK-31-1", 10.0, "sigterm")
    assert told["ended_at"].endswith("Z")
    assert asked(real, select) == [("acme", pid, "killed", "TASK-31-1")]
    task = "SELECT status, error_message FROM orchestrator_task WHERE task_id = "
    within = "(SELECT task_id FROM agent_lifecycle WHERE agent_id = ?)"
    assert asked(real, task + within) == [("failed", "Agent killed: killed")]


def test_kill_by_name_by_tag_by_pid_and_all(real: Real) -> None:
    pids = {
        name: real.start(name, tags=("red",) if name == "two" else ())["pid"]
        for name in ("one", "two", "six")
    }
    for target, name in (("one", "one"), ("tag:red", "two"), (str(pids["six"]), "six")):
        result = real.kill(target)
        assert (int(result.exit), answer(result)["name"]) == (0, name)
        assert not alive(pids[name])
    assert (int(real.kill("one").exit), int(real.kill("all").exit)) == (0, 0)  # already dead
    assert answer(real.kill("nobody"))["error"]["code"] == "session_not_registered"


def test_a_killed_process_is_no_connected_agent(real: Real) -> None:
    real.start("lives")
    pid = real.start()["pid"]
    os.kill(pid, signal.SIGKILL)
    until("its session is gone", lambda: "acme" not in real.sessions())
    with real.app() as app:
        reconcile.run(app)
    with real.app() as app:
        live = listing.run(app, listing.ListRequest((), None, True, None)).results
    assert [item.as_json()["name"] for item in live] == ["lives"]
    assert real.row()["termination_mode"] == "lost"
    real.kill("lives")


def test_a_task_is_cancelled_by_its_id(real: Real) -> None:
    pid = real.start(task_id="T-1")["pid"]
    result = real.kill("task:T-1", task_status="cancelled")
    assert (int(result.exit), alive(pid)) == (0, False)
    cancelled = "SELECT status FROM orchestrator_task WHERE task_id = 'T-1' AND ? != ''"
    assert asked(real, cancelled) == [("cancelled",)]
