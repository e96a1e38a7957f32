"""The command that kills stalled agents, each operation: its parameters, its answers, its SQL and
its tables, verbatim from its document."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.live.asked import Typed, descriptors, marked
from tests.real import alive, until

pytestmark = pytest.mark.live

VALIDATE = "SELECT agent_id, pid, status, task_id FROM agent_lifecycle WHERE agent_id = ?"
HEARTBEAT = """UPDATE agent_lifecycle SET last_heartbeat = CURRENT_TIMESTAMP
WHERE agent_id = ?"""
AGENT_KILLED = """UPDATE agent_lifecycle
SET status = 'killed',
    completed_at = CURRENT_TIMESTAMP,
    error_message = ?
WHERE agent_id = ?"""
TASK_FAILED = """UPDATE orchestrator_task
SET status = 'failed',
    error_message = 'Agent killed: ' || ?
WHERE task_id = (
    SELECT task_id FROM agent_lifecycle
    WHERE agent_id = ?
)"""
THEIR_TABLES = """CREATE TABLE agent_lifecycle (agent_id TEXT PRIMARY KEY, pid INTEGER, status TEXT,
    task_id TEXT, last_heartbeat TIMESTAMP, completed_at TIMESTAMP, error_message TEXT);
CREATE TABLE orchestrator_task (task_id TEXT PRIMARY KEY, status TEXT, error_message TEXT);"""

# Their parameters as ours. FORCE_KILL is a grace of 0.
AGENT, ARCHITECT = "code-developer-20251026-001", "architect-20251026-001"


@pytest.fixture
def real(tmux_socket: str, tmp_path: Path) -> Typed:
    return Typed(tmux_socket, tmp_path)


def in_their_words(envelope: dict[str, Any]) -> dict[str, Any]:
    """Return our answer in the format of their document for a single agent."""
    (one,) = envelope["results"]
    if one["error"] is not None:
        codes = {"session_not_registered": "agent_not_found"}
        error = codes.get(one["error"]["code"], one["error"]["code"])
        return {"success": envelope["ok"], "error": error, "agent_id": one["name"]}
    graceful = one["stopped_by"] != "sigkill"
    said = {
        "success": envelope["ok"],
        "agent_id": one["name"],
        "action": "graceful_kill" if graceful else "force_kill",
        "pid": one["pid"],
        "kill_signal": one["stopped_by"].upper(),
        "task_id": one["task_id"],
        "killed_at": one["ended_at"],
    }
    grace = {"grace_period_seconds": one["grace_s"]} if graceful else {}
    return {**said, **grace, "killed_gracefully": graceful}


def test_an_orchestrators_statement_validates_an_agent(real: Typed) -> None:
    pid = real.begin(AGENT, "--task-id", "TASK-31-1")
    assert real.sql(VALIDATE, AGENT) == [(AGENT, pid, "running", "TASK-31-1")]
    assert real.sql(VALIDATE, "nobody") == []
    real.type("kill", AGENT)


def test_kill_ends_the_agent_that_an_orchestrator_names(real: Typed) -> None:
    """With "GRACE_PERIOD_SECONDS": 10, "FORCE_KILL": False."""
    pid = real.begin(AGENT, "--task-id", "TASK-31-1")
    envelope = real.type("kill", AGENT, "--grace", "10").json
    assert in_their_words(envelope) == {
        "success": True,
        "agent_id": AGENT,
        "action": "graceful_kill",
        "pid": pid,
        "kill_signal": "SIGTERM",
        "task_id": "TASK-31-1",
        "killed_at": real.row(AGENT)["stopped_at"],
        "grace_period_seconds": 10,
        "killed_gracefully": True,
    }


def test_kill_without_grace_force_kills_an_agent(real: Typed) -> None:
    """With "FORCE_KILL": True, "GRACE_PERIOD_SECONDS": 0."""
    pid = real.begin(ARCHITECT, "--task-id", "TASK-32-1")
    envelope = real.type("kill", ARCHITECT, "--grace", "0").json
    assert in_their_words(envelope) == {
        "success": True,
        "agent_id": ARCHITECT,
        "action": "force_kill",
        "pid": pid,
        "kill_signal": "SIGKILL",
        "task_id": "TASK-32-1",
        "killed_at": real.row(ARCHITECT)["stopped_at"],
        "killed_gracefully": False,
    }


def test_reap_ends_all_stalled_agents_of_an_orchestrator(real: Typed) -> None:
    """With "HEARTBEAT_TIMEOUT_SECONDS": 3 instead of 120. Only one has no heartbeats."""
    pid = real.begin(ARCHITECT, "--task-id", "TASK-32-1")
    other = real.begin(AGENT)
    for _ in range(2):  # a heartbeat sender, using their statement
        real.sql(HEARTBEAT, ARCHITECT)
    stalled = ("reap", "--stalled", "--stalled-after", "3", "--task-status", "failed")

    def found() -> list[str]:
        for _ in range(2):
            real.sql(HEARTBEAT, AGENT)
        return [one["name"] for one in real.type(*stalled, "--dry-run").json["results"]]

    until("its timeout", lambda: found() == [ARCHITECT])
    real.sql(HEARTBEAT, AGENT)
    envelope = real.type(*stalled, "--yes").json
    assert (envelope["ok"], envelope["counts"]["ended"]) == (True, 1)
    (killed,) = envelope["results"]
    assert (killed["name"], killed["pid"], killed["task_id"]) == (ARCHITECT, pid, "TASK-32-1")
    assert killed["evidence"]["age_s"] >= 3
    assert envelope["timestamp"].endswith("Z")
    assert (alive(pid), alive(other)) == (False, True)
    assert real.sql(VALIDATE, ARCHITECT)[0][2] == "killed"
    real.type("kill", AGENT)


@pytest.mark.parametrize("whose", ["their tables", "ours"])
def test_a_kill_updates_the_tables_of_an_orchestrator(real: Typed, whose: str) -> None:
    """After our kill their own two statements change only the time."""
    real.begin("other", "--task-id", "T-0")
    real.type("kill", "other")
    if whose == "their tables":
        real.sql("DROP VIEW IF EXISTS agent_lifecycle")
        real.sql("DROP TABLE IF EXISTS orchestrator_task")
        for statement in THEIR_TABLES.split(";")[:2]:
            real.sql(statement)
        real.sql("INSERT INTO agent_lifecycle (agent_id, status) VALUES (?, 'running')", AGENT)
        real.sql("UPDATE agent_lifecycle SET task_id = 'TASK-31-1'")
        real.sql("INSERT INTO orchestrator_task VALUES ('TASK-31-1', 'running', NULL)")
    real.begin(AGENT, "--task-id", "TASK-31-1")
    assert real.type("kill", AGENT, "--reason", "stalled", "--task-status", "failed").exit == 0
    lives = "SELECT status, error_message FROM agent_lifecycle WHERE agent_id = ?"
    tasks = "SELECT status, error_message FROM orchestrator_task WHERE task_id = 'TASK-31-1'"
    before = (real.sql(lives, AGENT), real.sql(tasks))
    (message,) = [found for _, found in before[0]]
    assert real.sql("SELECT completed_at FROM agent_lifecycle WHERE agent_id = ?", AGENT)[0][0]
    real.sql(AGENT_KILLED, message, AGENT)
    real.sql(TASK_FAILED, "stalled", AGENT)
    assert (real.sql(lives, AGENT), real.sql(tasks)) == before
    assert before == ([("killed", "Agent killed: stalled")], [("failed", "Agent killed: stalled")])


def test_a_kill_cleans_up_resources_of_the_agent(real: Typed) -> None:
    """With "Close file handles", "clean temporary directories", "release database connections",
    "cleanup worktrees", "update task status - failed or ready for retry"."""
    main, tree = real.folder / "main", real.folder / "tree"
    who = ["-c", "user.name=us", "-c", "user.email=us@example.org"]
    subprocess.run(["git", "init", "-q", str(main)], check=True)
    first = ["git", "-C", str(main), *who, "commit", "-q", "--allow-empty", "-m", "first"]
    subprocess.run(first, check=True)
    words = ("--server", real.socket, "--agent", "demo", "--task-id", "T-1", "--confirm", "0.02")
    begun = real.result("start", AGENT, *words, "--cwd", str(main), "--worktree", str(tree))
    pid = begun["pid"]
    until("its files", lambda: descriptors(pid))
    mark = real.tmux("show-environment", "-t", f"={AGENT}:", "TMUXREAP_ID").partition("=")[2]
    told = real.result("kill", AGENT, "--cleanup", "--task-status", "ready")
    assert (told["error"], tree.exists(), descriptors(pid)) == (None, False, [])
    assert list(real.folder.glob("*.tmp")) == []
    assert real.sql("PRAGMA wal_checkpoint(TRUNCATE)") == [(0, 0, 0)]  # no process has it open
    assert real.sql("SELECT status FROM orchestrator_task WHERE task_id = 'T-1'") == [("ready",)]
    assert not list(marked(mark))


@pytest.mark.parametrize(
    ("aspect", "graceful", "force"),
    [
        ("Signal", "sigterm", "sigkill"),
        ("Grace period", 10.0, 0.0),
        ("Resource cleanup", True, False),  # "Agent handles", "OS cleans up"
    ],
)
def test_a_graceful_kill_tidies_up_and_a_forced_one_does_not(
    real: Typed, aspect: str, graceful: object, force: object
) -> None:
    def ended(grace: str) -> dict[str, Any]:
        pid = real.begin(AGENT)
        told = real.result("kill", AGENT, "--grace", grace)
        tidied = not (real.store / "sessions" / f"{pid}.json").exists()
        found = (told["stopped_by"], told["grace_s"], tidied)
        return dict(zip(("Signal", "Grace period", "Resource cleanup"), found, strict=True))

    assert (ended("10")[aspect], ended("0")[aspect]) == (graceful, force)


def test_a_kill_meets_all_success_criteria_of_an_orchestrator(real: Typed) -> None:
    """1 process terminated, 2 agent_lifecycle, 3 orchestrator_task, 4 resources, 5 all logged, 6 no
    orphans."""
    pid = real.begin(AGENT, "--task-id", "TASK-31-1")
    began = time.time()
    assert real.type("kill", AGENT, "--task-status", "failed").exit == 0
    assert not alive(pid)
    assert real.sql(VALIDATE, AGENT) == [(AGENT, pid, "killed", "TASK-31-1")]
    assert real.sql("SELECT task_id, status FROM orchestrator_task") == [("TASK-31-1", "failed")]
    assert AGENT not in real.sessions()
    logged = real.type("events", AGENT, "--since", f"{time.time() - began + 5:.0f}s").json
    assert {"killed"} <= {one["kind"] for one in logged["results"]}
    assert real.type("reap", "--orphans").json["results"] == []


@pytest.mark.parametrize(
    ("error", "target", "code"),
    [
        ("agent_not_found", "nobody", "session_not_registered"),
        ("process_not_found", "pid:4194303", "process_not_found"),
    ],
)
def test_a_failed_kill_is_reported_in_an_orchestrators_words(
    real: Typed, error: str, target: str, code: str
) -> None:
    real.begin("other")
    answer = real.type("kill", target)
    assert (answer.exit, answer.codes) == (3, [code])
    told = in_their_words(answer.json)
    assert told == {"success": False, "error": error, "agent_id": target}
    real.type("kill", "other")
