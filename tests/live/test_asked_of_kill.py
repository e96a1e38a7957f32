"""The manual page of another program's `kill`, each heading: its examples, its output patterns, its
exit codes and its comparison with `stop`."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from tests.command_line import Child, tmuxreap, without_powers
from tests.live.asked import Typed
from tests.real import DEMO, alive, until
from tmuxreap.__main__ import main
from tmuxreap.system.processes.linux import LinuxProcesses

pytestmark = pytest.mark.live


@pytest.fixture
def real(tmux_socket: str, tmp_path: Path) -> Typed:
    return Typed(tmux_socket, tmp_path)


# Syntax: "names, PIDs, tag:X, or all", "at least one target required"


def test_kill_ends_a_single_agent(real: Typed) -> None:
    pid, other = real.begin("luna"), real.begin("nova")
    assert real.type("kill", "luna").exit == 0
    assert (alive(pid), alive(other), real.sessions()) == (False, True, {"nova"})
    real.type("kill", "nova")


def test_kill_ends_multiple_agents(real: Typed) -> None:
    pids = [real.begin(name) for name in ("luna", "nova", "six")]
    answer = real.type("kill", "luna", "nova")
    assert (answer.exit, [alive(pid) for pid in pids]) == (0, [False, False, True])
    real.type("kill", "six")


def test_kill_ends_agents_by_tag(real: Typed) -> None:
    pids = [real.begin("luna", "--tag", "red"), real.begin("nova"), real.begin("x", "--tag", "red")]
    assert real.type("kill", "tag:red").exit == 0
    assert [alive(pid) for pid in pids] == [False, True, False]
    real.type("kill", "nova")


def test_kill_ends_all_agents(real: Typed) -> None:
    pids = [real.begin("luna"), real.begin("nova"), real.begin("far", "--terminal", "none")]
    assert real.type("kill", "all").exit == 0
    assert not any(map(alive, pids))


@pytest.mark.parametrize("form", ["{}", "pid:{}"])
def test_kill_ends_an_agent_by_pid(real: Typed, form: str) -> None:
    pid = real.begin("luna")
    assert real.result("kill", form.format(pid))["name"] == "luna"
    assert not alive(pid)


def test_kill_requires_at_least_one_target(real: Typed) -> None:
    assert real.type("kill").exit == 2


# Behavior: "SIGTERM to process group", "wait 2 seconds", "SIGKILL if still alive", "close terminal
# pane", "log stopped event with reason=killed"


def test_kill_sends_term_and_then_kill(real: Typed) -> None:
    deaf = real.result(
        "start", "luna", "--agent", "demo", "--server", real.socket, "--confirm", "0.02",
        "--", *DEMO, "--ignore", "hup,term", "--spawn", "1",
    )  # fmt: skip
    real.shows("luna", "demo agent")
    (child,) = Path(f"/proc/{deaf['pid']}/task/{deaf['pid']}/children").read_text().split()
    told = real.result("kill", "luna")
    rungs = {rung["name"]: rung for rung in told["rungs"]}
    assert list(rungs) == ["term", "kill"]
    assert rungs["term"]["waited_ms"] >= 2000
    assert (told["stopped_by"], told["stop_reason"]) == ("sigkill", "killed")
    assert not alive(deaf["pid"]) and not alive(int(child))
    assert real.sessions() == set()
    (event,) = [one for one in real.type("events").json["results"] if one["kind"] == "killed"]
    assert event["data"]["reason"] == "killed"


def test_kill_ends_children_in_other_process_groups(real: Typed) -> None:
    """With "the entire process group, ensuring child processes are terminated too": even those in
    their own groups."""
    words = ("--agent", "demo", "--server", real.socket, "--confirm", "0.02")
    family = "setsid sleep 600 </dev/null >/dev/null 2>&1 & sleep 600 & exec " + " ".join(DEMO)
    real.type("start", "luna", *words, "--", "sh", "-c", family)
    real.shows("luna", "demo agent")
    pids = [one["pid"] for one in real.result("show", "luna")["processes"]]
    assert len(pids) == 3
    assert real.type("kill", "luna").exit == 0
    assert not any(map(alive, pids))


def test_kill_ends_processes_left_by_a_stopped_agent(real: Typed) -> None:
    """With "stopped agents whose processes are still running": by name, and by all."""
    for target in ("luna", "all"):
        words = ("--agent", "demo", "--server", real.socket, "--confirm", "0.02")
        left = "setsid sleep 600 </dev/null >/dev/null 2>&1 & exec " + " ".join(DEMO)
        real.type("start", "luna", *words, "--", "sh", "-c", left)
        real.shows("luna", "demo agent")
        (orphan,) = [
            one["pid"] for one in real.result("show", "luna")["processes"] if one["name"] == "sleep"
        ]
        text = real.registry.read_text()
        real.registry.write_text(text.replace("status: running", "status: stopped"))
        real.tmux("kill-session", "-t", "=luna")
        assert alive(orphan)
        assert real.type("kill", target).exit == 0
        assert not alive(orphan)
        real.type("forget", "luna")


def test_kill_ends_a_headless_agent_by_signals(real: Typed) -> None:
    """With "no terminal pane, so kill only sends SIGTERM/SIGKILL without pane close"."""
    pid = real.begin("far", "--terminal", "none")
    told = real.result("kill", "far")
    assert (told["outcome"], told["stopped_by"], told["error"]) == ("killed", "sigterm", None)
    assert not alive(pid)


@pytest.mark.parametrize(
    ("terminal", "closing"),
    [
        ("kitty", "kitty @ close-window --match id:7"),
        ("wezterm", "wezterm cli kill-pane --pane-id 7"),
    ],
)
@pytest.mark.parametrize("status", [0, 1])
def test_kill_closes_the_pane_of_a_terminal(
    real: Typed, terminal: str, closing: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands are from the document; "pane close failed" is one of its outputs."""
    pid = real.begin("luna", "--terminal", "none")
    real.edit("terminal: none", f"terminal: {terminal}")
    real.edit("    pane:\n", "    pane:\n      id: 7\n")
    program, calls = real.folder / "bin" / terminal, real.folder / "calls"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho {terminal} "$@" >>{calls}\necho no >&2\nexit {status}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    answer = real.type("kill", "luna")
    assert (alive(pid), calls.read_text().strip()) == (False, closing)
    assert (answer.exit, answer.codes) == (status, ["pane_close_failed"] if status else [])
    assert real.row("luna")["status"] == "stopped"


def test_a_tmux_pane_is_closed(real: Typed) -> None:
    real.begin("luna")
    assert real.type("kill", "luna").exit == 0
    assert real.sessions() == set()


# Output patterns and exit codes


def test_kill_of_a_dead_agent_is_already_gone(real: Typed) -> None:
    pid = real.begin("luna")
    os.kill(pid, signal.SIGKILL)
    until("its end", lambda: not real.sessions())
    told = real.result("kill", "luna")
    assert (told["outcome"], told["stopped_by"], told["error"]) == ("killed", "already_gone", None)
    assert (real.type("kill", "luna").exit, real.type("kill", "all").exit) == (0, 0)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can start a process of another user")
def test_kill_of_another_users_agent_is_denied(real: Typed) -> None:
    """Exit 5; another user's agent lives, and its row says so."""
    theirs = ["setpriv", "--reuid", "65534", "--clear-groups", "sleep", "600"]
    agent = subprocess.Popen(theirs, start_new_session=True)
    until("its exec", lambda: Path(f"/proc/{agent.pid}/comm").read_text() == "sleep\n")
    known = LinuxProcesses().identify(agent.pid)
    assert known is not None
    began = LinuxProcesses().started_epoch(known)
    pane = f"pane: {{pid: {agent.pid}, created_epoch: {began:.2f}}}"
    row = f"{{name: luna, status: running, terminal: none, {pane}}}"
    real.registry.write_text(f"tmux_sessions:\n  - {row}\n")

    def kill() -> int:
        without_powers()
        words = ["kill", "--json", "--registry", str(real.registry), "luna", "--grace", "0.2"]
        return main(words)

    answer = Child(kill).answer()
    assert (answer.exit, answer.codes) == (5, ["permission_denied"])
    assert (alive(agent.pid), real.row("luna")["status"]) == (True, "running")
    agent.kill()
    agent.wait()


def test_kill_without_a_tracked_pid_is_refused(real: Typed) -> None:
    real.registry.write_text(
        "tmux_sessions:\n  - {name: far, status: running, terminal: none, pane: {cwd: /}}\n"
    )
    answer = real.type("kill", "far")
    assert (answer.exit, answer.codes) == (3, ["no_tracked_pid"])


def test_kill_of_an_unknown_target_is_refused(real: Typed) -> None:
    real.begin("luna")
    answer = real.type("kill", "sol")
    assert (answer.exit, answer.codes) == (3, ["session_not_registered"])
    real.type("kill", "luna")


def test_a_successful_kill_is_reported(real: Typed) -> None:
    real.begin("luna")
    said = tmuxreap("kill", "luna", "--registry", str(real.registry))
    assert (said.exit, said.out.startswith("luna: killed")) == (0, True)


# "Kill vs Stop"


@pytest.mark.parametrize(
    ("feature", "kill", "stop"),
    [("Signal", "sigterm", "exit_keys"), ("Pane close", set(), set()), ("Resume", True, True)],
)
def test_kill_and_stop_end_an_agent_by_different_means(
    real: Typed, feature: str, kill: object, stop: object
) -> None:
    found = []
    for verb in ("kill", "stop"):
        real.begin("luna")
        real.say("hello", "luna")
        told = real.result(verb, "luna")
        values = (told["stopped_by"], real.sessions(), told["resumable"])
        found.append(dict(zip(("Signal", "Pane close", "Resume"), values, strict=True))[feature])
    assert found == [kill, stop]


def test_a_killed_agent_can_be_resumed(real: Typed) -> None:
    """With "agent can be resumed": the same conversation."""
    real.begin("luna")
    real.say("remember me", "luna")
    told = real.result("kill", "luna")
    again = real.result("resume", "luna")
    assert again["conversation_id"] == told["conversation"]["id"]
    real.shows("luna", "remember me")
    real.type("kill", "luna")


def test_forget_deletes_the_row_that_a_kill_keeps(real: Typed) -> None:
    real.begin("luna")
    real.type("kill", "luna")
    assert real.row("luna")["status"] == "stopped"
    assert real.type("forget", "luna").exit == 0
    assert real.rows() == {}
