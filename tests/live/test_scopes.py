"""How far an ending reaches: the agent's pane, the whole session, the caller's own; and what is
cleaned up afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kinds import ALL, FEW, for_each
from tests.real import DEMO, Real, alive, answer, until
from tmuxreap.core.model import EndVerb, Scope
from tmuxreap.ledger.database import ledger_path

pytestmark = pytest.mark.live

TMUXREAP = f"{sys.executable} -m tmuxreap"


def asked(real: Real, question: str) -> list[tuple[Any, ...]]:
    """Query the ledger like other tools."""
    with contextlib.closing(sqlite3.connect(ledger_path(real.registry))) as db:
        return db.execute(question).fetchall()


def beside(real: Real, *command: str) -> int:
    """Open another pane in the agent's session; return its pid."""
    words = ["split-window", "-d", "-P", "-F", "#{pane_pid}", "-t", "=acme:", *command]
    return int(real.tmux(*words))


# Panes


@for_each(FEW)
def test_other_panes_at_work_are_a_reason_to_refuse(real: Real) -> None:
    real.start()
    agent, other = real.pid(), beside(real, "sleep", "600")
    before = real.registry.read_bytes()
    result = real.stop()
    told = answer(result)
    assert (int(result.exit), told["outcome"], told["error"]["code"]) == (
        1,
        "refused",
        "foreign_panes",
    )
    assert f"(pid {other})" in told["error"]["message"]
    assert alive(agent) and alive(other)
    assert real.registry.read_bytes() == before
    assert (told["rungs"], told["swept"]) == ([], [])


@for_each(ALL)
def test_an_idle_shell_beside_it_is_no_reason(real: Real) -> None:
    real.start()
    shell = beside(real, "bash", "--norc", "--noprofile")
    until("the prompt", lambda: real.tmux("capture-pane", "-p", "-t", "=acme:.1"))
    result = answer(real.stop())
    assert (result["outcome"], result["stopped_by"]) == ("stopped", real.leaves_by)
    assert not alive(shell)


@pytest.mark.parametrize("verb", [EndVerb.STOP, EndVerb.KILL], ids=lambda verb: verb.value)
@for_each(FEW)
def test_a_stop_ends_the_whole_session_on_request(real: Real, verb: EndVerb) -> None:
    real.start()
    stranger = real.bystander()
    agent, other = real.pid(), beside(real, "sh", "-c", "trap '' HUP; sleep 600")
    end = real.stop if verb is EndVerb.STOP else real.kill
    result = answer(end(scope=Scope.SESSION))
    by = {EndVerb.STOP: real.leaves_by, EndVerb.KILL: "sigterm"}[verb]
    assert result["stopped_by"] == by, result
    assert not alive(agent) and not alive(other)
    assert other in [one["pid"] for one in result["swept"]]
    assert (alive(stranger), real.sessions()) == (True, {"quiet"})
    assert "scope" not in real.row()


@pytest.mark.parametrize("verb", [EndVerb.STOP, EndVerb.KILL], ids=lambda verb: verb.value)
@for_each(FEW)
def test_a_stop_of_the_agents_pane_spares_the_other_pane(real: Real, verb: EndVerb) -> None:
    """The other pane has the mark too: there it is no evidence."""
    real.start("acme", "--spawn", "1")
    daemon = (
        "setsid env -u TMUX -u TMUX_PANE sh -c 'echo $$ >daemon; exec sleep 600' </dev/null"
        " >/dev/null 2>&1"
    )
    agent, other = (
        real.pid(),
        beside(real, "sh", "-c", f"cd {real.folder}; {daemon} & exec sleep 600"),
    )
    until(
        "the other pane's daemon",
        lambda: (real.folder / "daemon").exists() and (real.folder / "daemon").read_text(),
    )
    marked = int((real.folder / "daemon").read_text())
    (helper,) = Path(f"/proc/{agent}/task/{agent}/children").read_text().split()
    end = real.stop if verb is EndVerb.STOP else real.kill
    result = answer(end(scope=Scope.PANE))
    by = {EndVerb.STOP: real.leaves_by, EndVerb.KILL: "sigterm"}[verb]
    assert result["stopped_by"] == by, result
    assert not alive(agent) and not alive(int(helper))
    assert other not in [one["pid"] for one in (*result["swept"], *result["survivors"])]
    assert (alive(other), real.sessions(), real.ask("acme", "#{window_panes}")) == (
        True,
        {"acme"},
        "1",
    )
    assert alive(marked)
    assert (real.row()["status"], real.row()["scope"]) == ("stopped", "pane")

    before = real.registry.read_bytes()
    again = answer(end(scope=Scope.PANE))
    assert (again["outcome"], again["error"]) == ("already_stopped", None)
    assert (answer(end())["outcome"], alive(other), alive(marked)) == (
        "already_stopped",
        True,
        True,
    )
    assert real.show()["processes"] == []
    assert real.registry.read_bytes() == before
    os.kill(marked, 9)


@for_each(FEW)
def test_a_pane_that_the_agent_itself_opened_lives_on(real: Real) -> None:
    """A process in another pane is not the agent's own, even if the agent's child started it."""
    real.start(
        command=[
            "sh",
            "-c",
            f"tmux -S {real.socket} split-window -d sleep 600; exec {real.words}",
        ]
    )
    until("the other pane", lambda: real.ask("acme", "#{window_panes}") == "2")
    other = int(real.tmux("list-panes", "-t", "=acme:", "-F", "#{pane_pid}").split()[1])
    assert answer(real.stop(scope=Scope.PANE))["outcome"] == "stopped"
    assert alive(other)


# The caller's own session


def call_from_inside(real: Real, *words: str) -> dict[str, object]:
    """Call us as a tool of the agent, from the agent's own pane."""
    call = f"{TMUXREAP} {' '.join(words)} --json --registry {real.registry}"
    told = f"{call} >out 2>err; echo $? >code.new; mv code.new code"
    tool = f"while [ ! -e {real.folder}/go ]; do sleep 0.02; done; {told}"
    real.start(command=["sh", "-c", f"sh -c '{tool}' & exec {real.words}"])
    (real.folder / "go").touch()
    code = real.folder / "code"
    until("the answer", code.exists)
    assert (real.folder / "err").read_text() == ""
    envelope = json.loads((real.folder / "out").read_text())
    assert envelope["exit_code"] == int(code.read_text())
    return {"exit": envelope["exit_code"], **envelope["results"][0]}


@pytest.mark.parametrize("verb", ["stop", "kill"])
@for_each(FEW)
def test_the_callers_own_session_is_refused(real: Real, verb: str) -> None:
    told = call_from_inside(real, verb, "acme")
    assert (told["exit"], told["outcome"]) == (1, "refused")
    assert told["error"]["code"] == "own_session"  # type: ignore[index]
    assert (alive(real.pid()), real.row()["status"]) == (True, "running")


@pytest.mark.parametrize("verb", ["stop", "kill"])
@for_each(FEW)
def test_the_callers_own_session_is_handed_over(real: Real, verb: str) -> None:
    """The answer comes first; then a process outside the session ends it."""
    real.bystander()
    told = call_from_inside(real, verb, "acme", "--self", "--reason", "all_done")
    assert (told["exit"], told["outcome"], told["status"], told["error"]) == (
        0,
        "handed_over",
        "running",
        None,
    )
    until("the end", lambda: real.row()["status"] == "stopped")
    row = real.row()
    assert (row["stop_reason"], row["stopped_by"]) == (
        "all_done",
        {"stop": real.leaves_by, "kill": "sigterm"}[verb],
    )
    assert real.sessions() == {"quiet"}
    until(
        "the closed intent",
        lambda: asked(real, "SELECT outcome FROM intents WHERE verb <> 'start'") != [(None,)],
    )
    ((finisher, outcome, recorded),) = asked(
        real, "SELECT owner_pid, outcome, result FROM intents WHERE verb <> 'start'"
    )
    assert outcome == {"stop": "stopped", "kill": "killed"}[verb]
    swept = [one["pid"] for one in json.loads(recorded)["swept"]]
    assert finisher not in swept
    until("the finisher's leaving", lambda: not alive(finisher))


# Cleanup


def git(*words: str) -> None:
    who = ["-c", "user.name=us", "-c", "user.email=us@example.org"]
    subprocess.run(["git", *who, *words], check=True, capture_output=True)


@pytest.fixture
def worktree(real: Real, tmp_path: Path) -> Path:
    """A worktree of a real repository, with an agent working in it."""
    main, tree = tmp_path / "main", tmp_path / "tree"
    git("init", "-q", str(main))
    git("-C", str(main), "commit", "-q", "--allow-empty", "-m", "first")
    git("-C", str(main), "worktree", "add", "-q", str(tree))
    real.start(cwd=str(tree))
    real.edit("    agent: demo\n", f"    agent: demo\n    worktree: {tree}\n")
    return tree


def test_a_stop_removes_the_worktree_on_request(real: Real, worktree: Path) -> None:
    result = answer(real.stop(cleanup=True))
    assert (result["outcome"], result["error"]) == ("stopped", None)
    assert not worktree.exists()


def test_a_relative_worktree_lies_in_the_folder_of_the_agent(real: Real, worktree: Path) -> None:
    real.edit(f"worktree: {worktree}\n", "worktree: .\n")
    assert answer(real.stop(cleanup=True))["error"] is None
    assert not worktree.exists()


def test_a_worktree_stays_unless_its_removal_is_requested(real: Real, worktree: Path) -> None:
    answer(real.stop())
    assert worktree.exists()


def test_a_worktree_with_work_that_would_be_lost_stays(real: Real, worktree: Path) -> None:
    (worktree / "draft.txt").write_text("half a thought")
    result = real.kill(cleanup=True)
    told = answer(result)
    assert (int(result.exit), told["outcome"], told["error"]["code"]) == (
        1,
        "killed",
        "cleanup_failed",
    )
    assert "contains modified or untracked files" in told["error"]["message"]
    assert (worktree / "draft.txt").read_text() == "half a thought"
    assert real.row()["status"] == "stopped"


# Its task


@pytest.mark.parametrize("status", ["failed", "ready"])
def test_a_stop_returns_the_task(real: Real, status: str) -> None:
    real.start(task_id="T-7")
    assert answer(real.kill(task_status=status))["outcome"] == "killed"
    tasks = asked(real, "SELECT task_id, status, error_message FROM orchestrator_task")
    agents = asked(real, "SELECT status, task_id FROM agent_lifecycle")
    assert tasks == [("T-7", status, "Agent killed: killed")]
    assert agents == [("killed", "T-7")]


@pytest.mark.parametrize("verb", [EndVerb.STOP, EndVerb.KILL], ids=lambda verb: verb.value)
def test_a_whole_session_of_indistinguishable_agents_can_be_ended(
    real: Real, verb: EndVerb
) -> None:
    real.bystander()
    real.tmux("new-session", "-d", "-s", "acme", "-c", str(real.folder), *DEMO)
    other = beside(real, *DEMO)
    row = {"name": "acme", "status": "running", "agent": "demo", "tmux_server": real.socket}
    real.registry.write_text(f"tmux_sessions:\n- {json.dumps(row)}\n")
    first = real.pid()
    end = real.stop if verb is EndVerb.STOP else real.kill
    refused = answer(end())
    assert (refused["outcome"], refused["error"]["code"]) == ("refused", "ambiguous_pane")
    assert alive(first) and alive(other)
    told = answer(end(scope=Scope.SESSION))
    assert (told["outcome"], told["error"]) == (
        {EndVerb.STOP: "stopped", EndVerb.KILL: "killed"}[verb],
        None,
    )
    assert not alive(first) and not alive(other)
    assert real.sessions() == {"quiet"}


def test_a_pane_that_runs_what_is_shared_is_no_part_of_the_whole_session(real: Real) -> None:
    real.start()
    daemon = beside(real, "ssh-agent", "-D", "-a", str(real.folder / "agent"))
    until("the daemon", (real.folder / "agent").exists)
    told = answer(real.stop(scope=Scope.SESSION))
    assert (told["outcome"], told["error"]["code"]) == ("refused", "foreign_panes")
    assert f"ssh-agent ({daemon})" in told["error"]["message"]
    told = answer(real.stop(scope=Scope.PANE))
    assert (told["outcome"], alive(daemon)) == ("stopped", True)
