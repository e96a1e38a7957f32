"""The list that an agent keeps of the sessions that its own daemon runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fake_processes import FakeClock, FakeProcesses
from tmuxreap.agents.conversations.jobs import Jobs
from tmuxreap.agents.conversations.lists import read_jobs
from tmuxreap.agents.load import load_profiles

CLAUDE = load_profiles(None).agents["claude"]
ONE = "11111111-6d0c-4f63-9b53-1d5f0c6f2a11"


@pytest.fixture
def processes() -> FakeProcesses:
    return FakeProcesses(FakeClock())


def listed(store: Path, processes: FakeProcesses, text: object, **more: object) -> Jobs:
    (store / "daemon").mkdir(exist_ok=True)
    said = text if isinstance(text, str) else json.dumps({"workers": text, **more})
    (store / "daemon" / "roster.json").write_text(said)
    return read_jobs(CLAUDE, store, processes)


def entry(processes: FakeProcesses, **more: Any) -> dict[str, object]:
    """Return an entry as the real one was recorded, shortened."""
    holder = processes.add("claude", "claude", "bg-pty-host")
    agent = processes.add("claude", "claude", "bg-spare")
    return {
        "pid": holder.pid,
        "procStart": str(holder.start),
        "replPid": agent.pid,
        "replProcStart": str(agent.start),
        "sessionId": ONE,
        "cwd": "/w",
        "dispatch": {"source": "shell", "respawnFlags": ["--permission-mode", "plan"]},
        **more,
    }


def test_an_entry_is_read(tmp_path: Path, processes: FakeProcesses) -> None:
    told = entry(processes)
    (job,) = listed(tmp_path, processes, {"1a2b3c4d": told}).listed
    assert (job.seat, job.conversation, job.folder) == ("claude:1a2b3c4d", ONE, "/w")
    assert [process.pid for process in job.processes] == [told["pid"], told["replPid"]]
    assert job.flags == ("--permission-mode", "plan")


@pytest.mark.parametrize("number", ["", "x", "../../x", "1a2b3c4d;rm", "--help", "1a2b3c4d\n"])
def test_an_invalid_id_is_left_out(tmp_path: Path, processes: FakeProcesses, number: str) -> None:
    assert listed(tmp_path, processes, {number: entry(processes)}).listed == ()


def test_a_process_in_reserve_is_left_out(tmp_path: Path, processes: FakeProcesses) -> None:
    spare = entry(processes, dispatch={"source": "spare"})
    assert listed(tmp_path, processes, {"1a2b3c4d": spare}).listed == ()


def test_a_reused_pid_does_not_belong_to_the_entry(
    tmp_path: Path, processes: FakeProcesses
) -> None:
    told = entry(processes, procStart="1", replProcStart=None)
    (job,) = listed(tmp_path, processes, {"1a2b3c4d": told}).listed
    assert (job.processes, job.lives) == ((), False)


@pytest.mark.parametrize("state", [None, "stopped", "working", "no word of ours", 7])
def test_only_the_profiles_word_for_an_end_means_an_end(
    tmp_path: Path, processes: FakeProcesses, state: object
) -> None:
    (tmp_path / "jobs" / "1a2b3c4d").mkdir(parents=True)
    (tmp_path / "jobs" / "1a2b3c4d" / "state.json").write_text(json.dumps({"state": state}))
    (job,) = listed(tmp_path, processes, {"1a2b3c4d": entry(processes)}).listed
    assert (job.ended, job.lives) == (state == "stopped", True)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"workers": []}', '{"other": {}}'])
def test_a_list_that_cannot_be_read_is_unknown(
    tmp_path: Path, processes: FakeProcesses, text: str
) -> None:
    assert listed(tmp_path, processes, text) == Jobs(is_known=False)


def test_an_agent_without_a_list_has_no_entries(tmp_path: Path, processes: FakeProcesses) -> None:
    assert read_jobs(CLAUDE, tmp_path, processes) == Jobs()


def test_an_entry_with_an_invalid_conversation_has_none(
    tmp_path: Path, processes: FakeProcesses
) -> None:
    told = entry(processes, sessionId="../../etc/passwd")
    (job,) = listed(tmp_path, processes, {"1a2b3c4d": told}).listed
    assert job.conversation is None


def test_a_daemon_is_recognised_by_its_command_line(
    tmp_path: Path, processes: FakeProcesses
) -> None:
    daemon = processes.add("claude", "daemon", "run")
    other = processes.add("sleep", "sleep", "9")
    assert listed(tmp_path, processes, {}, supervisorPid=daemon.pid).daemon == daemon.pid
    assert listed(tmp_path, processes, {}, supervisorPid=other.pid).daemon is None
