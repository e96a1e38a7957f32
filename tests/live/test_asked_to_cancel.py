"""A ticket about background agents that cannot be cancelled: its four problem steps, its proposed
fix and its technical direction, each verbatim."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.live.asked import Typed
from tests.real import alive, until

pytestmark = pytest.mark.live


@pytest.fixture
def real(tmux_socket: str, tmp_path: Path) -> Typed:
    return Typed(tmux_socket, tmp_path)


def test_a_kill_by_tag_ends_a_misbehaving_agent_with_its_fleet(real: Typed) -> None:
    """With "the PM kills the fleet sessions to clean up", everything that a member started ends
    too: nothing is left to "retry - firing more calls against the same member"."""
    pids = [real.begin(name, "--tag", "fleet") for name in ("dispatch", "member")]
    answer = real.type("kill", "tag:fleet")
    assert (answer.exit, [alive(pid) for pid in pids]) == (0, [False, False])
    assert real.type("reap", "--orphans").json["results"] == []


def test_a_stop_after_the_turn_lets_an_agent_exit_cleanly(real: Typed) -> None:
    """With a "cancel or stop signal": `--after-turn` waits, and the agent exits by its own keys."""
    pid = real.begin("dispatch")
    real.submit("/work 1.5", "dispatch")
    real.shows("dispatch", "working")
    with ThreadPoolExecutor(1) as other:
        stopping = other.submit(real.stop, "dispatch", after_turn_s=60.0)
        told = stopping.result(30).results[0].as_json()
    assert (told["stopped_by"], told["warnings"], alive(pid)) == ("exit_keys", [], False)
    assert ("tool", "work done") in real.said()


def test_reap_ends_an_agent_beyond_its_ttl(real: Typed) -> None:
    real.begin("dispatch", "--ttl", "1s")
    other = real.begin("member", "--ttl", "2h")
    plan = ("reap", "--expired")
    until("its time", lambda: real.type(*plan, "--dry-run").json["results"])
    (ended,) = real.type(*plan, "--yes").json["results"]
    assert (ended["name"], ended["verdict"], alive(other)) == ("dispatch", "expired", True)
    real.type("kill", "member")


def test_agents_are_listed_and_one_is_stopped(real: Typed) -> None:
    for name in ("one", "two"):
        real.begin(name)
    listed = real.type("list").json["results"]
    assert {one["name"]: one["live"] for one in listed} == {"one": "alive", "two": "alive"}
    assert (real.type("stop", "one").exit, real.sessions()) == (0, {"two"})
    real.type("kill", "two")


def test_kill_cancels_a_task(real: Typed) -> None:
    """With "given a task_id, look up the PID, SIGTERM; update the task status to cancelled"."""
    pid, other = real.begin("one", "--task-id", "T-1"), real.begin("two", "--task-id", "T-2")
    told = real.result("kill", "task:T-1", "--task-status", "cancelled")
    assert (told["task_id"], told["stopped_by"]) == ("T-1", "sigterm")
    assert (alive(pid), alive(other)) == (False, True)
    statuses = "SELECT task_id, status FROM orchestrator_task"
    assert real.sql(statuses) == [("T-1", "cancelled")]
    assert real.type("kill", "task:T-1").exit == 0
    assert real.type("kill", "task:T-9").exit == 3
    real.type("kill", "two")


@pytest.mark.parametrize("force", [False, True])
def test_a_new_task_on_a_busy_member_is_refused_or_replaces_the_first(
    real: Typed, force: bool
) -> None:
    """With "check if a previous task for that member is still alive; kill it first, or return an
    error if force is not set"."""
    first = real.begin("member", "--task-id", "T-1")
    words = ("--agent", "demo", "--server", real.socket, "--task-id", "T-2", "--confirm", "0.5")
    answer = real.type("start", "member", *words, *(["--replace"] if force else []))
    if force:
        assert (answer.exit, alive(first)) == (0, False)
        assert real.row("member")["task_id"] == "T-2"
    else:
        assert (answer.exit, answer.error["code"], alive(first)) == (1, "session_exists", True)
    real.type("kill", "member")


def test_two_agents_on_the_same_member_are_reported(real: Typed) -> None:
    """Under another name, in the same folder: reported, not ended."""
    first = real.begin("member")
    words = ("--agent", "demo", "--server", real.socket, "--cwd", str(real.folder))
    envelope = real.type("start", "second", *words, "--confirm", "0.5").json
    assert [one.partition(":")[0] for one in envelope["warnings"]] == ["folder_in_use"]
    assert alive(first)
    real.type("kill", "all")


@pytest.mark.parametrize("lever", ["max-turns", "when you have tried", "--ttl"])
def test_the_skills_document_each_lever(lever: str) -> None:
    """With "a max_turns budget and a self-termination instruction in their prompt"."""
    skills = Path(__file__).parents[2] / "skills"
    for skill in ("stop", "delegate-job"):
        text = (skills / f"tmux-agent-orchestrate-{skill}" / "SKILL.md").read_text()
        assert lever in text
