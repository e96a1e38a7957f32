"""Sessions without tmux: identified by a process and its start, or by our mark; and panes of kitty
and WezTerm."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import sqlite3
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ledger_records import Ledger
from tests.real import Real, alive, answer, until
from tmuxreap.commands import adopt
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.model import EndVerb
from tmuxreap.core.values import replace
from tmuxreap.ledger.database import ledger_path
from tmuxreap.system.processes.linux import LinuxProcesses

pytestmark = pytest.mark.live

MARK = "5a0c6b3e-0f5e-4b86-9d43-8f9f6f2f7a11"
Start = Callable[..., int]


@pytest.fixture
def real(tmux_socket: str, tmp_path: Path) -> Real:
    return Real(tmux_socket, tmp_path)


@pytest.fixture
def start(no_leftovers: None) -> Iterator[Start]:
    """Start programs outside tmux, each in its own kernel session."""
    begun: list[subprocess.Popen[bytes]] = []

    def one(*words: str, **environ: str) -> int:
        begun.append(subprocess.Popen(words, start_new_session=True, env={**os.environ, **environ}))
        return begun[-1].pid

    yield one
    for program in begun:
        program.kill()
        program.wait()


def started(pid: int) -> float:
    processes = LinuxProcesses()
    process = processes.identify(pid)
    assert process is not None
    return processes.started_epoch(process)


def register(real: Real, pane: str, terminal: str = "none", more: str = "") -> None:
    row = f"  - {{name: acme, status: running, terminal: {terminal}, pane: {{{pane}}}{more}}}\n"
    real.registry.write_text("tmux_sessions:\n" + row)


@pytest.mark.parametrize("verb", [EndVerb.STOP, EndVerb.KILL], ids=lambda verb: verb.value)
def test_a_headless_agent_is_found_by_its_process_and_start(
    real: Real, start: Start, verb: EndVerb
) -> None:
    pid, neighbour = start("sh", "-c", "sleep 600 & sleep 600"), start("sleep", "600")
    until("its children", lambda: len(children(pid)) == 2)
    family = [pid, *children(pid)]
    register(real, f"pid: {pid}, created_epoch: {started(pid):.2f}")
    end = real.stop if verb is EndVerb.STOP else real.kill
    result = end()
    told = answer(result)
    outcome = {"stop": "stopped", "kill": "killed"}[verb.value]
    assert (int(result.exit), told["outcome"], told["error"]) == (0, outcome, None)
    assert told["stopped_by"] == {"stop": "hangup", "kill": "sigterm"}[verb.value]
    assert not any(map(alive, family))
    assert (alive(neighbour), real.row()["status"]) == (True, "stopped")


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("verb", [EndVerb.STOP, EndVerb.KILL], ids=lambda verb: verb.value)
def test_a_stranger_with_its_pid_lives(real: Real, start: Start, verb: EndVerb) -> None:
    stranger = start("sleep", "600")
    register(real, f"pid: {stranger}, created_epoch: {started(stranger) - 3.0:.2f}")
    told = answer(real.stop() if verb is EndVerb.STOP else real.kill())
    assert (told["stopped_by"], told["swept"]) == ("already_gone", [])
    assert alive(stranger)


@pytest.mark.parametrize("boot", [True, False])
@pytest.mark.parametrize("verb", [EndVerb.STOP, EndVerb.KILL], ids=lambda verb: verb.value)
def test_a_stranger_that_got_its_pid_within_the_second_lives(
    real: Real, start: Start, verb: EndVerb, boot: bool
) -> None:
    stranger = start("sleep", "600")
    ticks = int(Path(f"/proc/{stranger}/stat").read_text().rpartition(")")[2].split()[19])
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    more = f", tmux: {{boot_id: {boot_id}}}" if boot else ""
    pane = f"pid: {stranger}, created_epoch: {started(stranger):.2f}, start_ticks: "
    register(real, f"{pane}{ticks - 80}", more=more)
    told = answer(real.stop() if verb is EndVerb.STOP else real.kill())
    assert (told["stopped_by"], told["swept"]) == ("already_gone", [])
    assert alive(stranger)
    register(real, f"{pane}{ticks}", more=more)
    assert answer(real.kill())["outcome"] == "killed"
    assert not alive(stranger)


@pytest.mark.parametrize("pane", ["cwd: /", "pid: PID", "pid: PID, created_epoch: null"])
@pytest.mark.parametrize("verb", [EndVerb.STOP, EndVerb.KILL], ids=lambda verb: verb.value)
def test_a_pid_alone_identifies_no_process(
    real: Real, start: Start, verb: EndVerb, pane: str
) -> None:
    stranger = start("sleep", "600")
    register(real, pane.replace("PID", str(stranger)))
    before = real.registry.read_bytes()
    result = real.stop() if verb is EndVerb.STOP else real.kill()
    assert (int(result.exit), answer(result)["error"]["code"]) == (3, "no_tracked_pid")
    assert alive(stranger)
    assert real.registry.read_bytes() == before


def test_a_headless_agent_is_found_by_our_mark(real: Real, start: Start) -> None:
    pid = start("sleep", "600", TMUXREAP_ID=MARK)
    other = start("sleep", "600", TMUXREAP_ID=MARK.replace("5", "6"))
    register(real, "cwd: /")
    with Ledger.open(ledger_path(real.registry), now=time.time()) as ledger:
        ledger.remember_mark("acme", MARK, time.time())
    told = answer(real.kill())
    assert (told["outcome"], told["stopped_by"]) == ("killed", "sigterm")
    assert (alive(pid), alive(other)) == (False, True)


def test_a_kill_without_grace_sends_sigkill_at_once(real: Real, start: Start) -> None:
    pid = start(
        "sh",
        "-c",
        f"trap 'touch {real.folder}/asked; exit' TERM; touch {real.folder}/ready; sleep 600 & wait",
    )
    until("the trap", (real.folder / "ready").exists)
    register(real, f"pid: {pid}, created_epoch: {started(pid):.2f}")
    told = answer(real.kill(grace_s=0.0))
    assert (told["outcome"], told["stopped_by"]) == ("killed", "sigkill")
    assert [rung["skipped"] for rung in told["rungs"]] == ["--grace 0", None]
    assert not alive(pid)
    assert not (real.folder / "asked").exists()


def test_the_ledger_records_how_a_session_was_killed(real: Real, start: Start) -> None:
    pid = start("sleep", "600")
    register(real, f"pid: {pid}, created_epoch: {started(pid):.2f}", more=", task_id: T-1")
    assert answer(real.kill(task_status="failed"))["outcome"] == "killed"
    with contextlib.closing(sqlite3.connect(ledger_path(real.registry))) as db:
        lives = db.execute("SELECT agent_id, pid, status, task_id FROM agent_lifecycle").fetchall()
    assert lives == [("acme", pid, "killed", "T-1")]


# Panes of other terminals


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A terminal's remote control that records its calls."""

    def make(name: str, *, status: int = 0) -> Path:
        program, calls = tmp_path / "bin" / name, tmp_path / f"{name}.calls"
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            f'#!/bin/sh\necho "$@" >> {calls}\necho "no such window" >&2\nexit {status}\n'
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        return calls

    return make


CALLS = {"kitty": "@ close-window --match id:7\n", "wezterm": "cli kill-pane --pane-id 7\n"}


@pytest.mark.parametrize("terminal", ["kitty", "wezterm"])
@pytest.mark.parametrize("verb", [EndVerb.STOP, EndVerb.KILL], ids=lambda verb: verb.value)
def test_the_pane_of_another_terminal_is_closed(
    real: Real, start: Start, stand_in: Callable[..., Path], terminal: str, verb: EndVerb
) -> None:
    calls = stand_in(terminal)
    pid = start("sleep", "600")
    register(real, f"id: 7, pid: {pid}, created_epoch: {started(pid):.2f}", terminal)
    result = real.stop() if verb is EndVerb.STOP else real.kill()
    assert (int(result.exit), answer(result)["error"]) == (0, None)
    assert not alive(pid)
    assert calls.read_text() == CALLS[terminal]
    assert real.row()["status"] == "stopped"


@pytest.mark.parametrize("terminal", ["kitty", "wezterm"])
def test_a_pane_that_stays_is_reported(
    real: Real, start: Start, stand_in: Callable[..., Path], terminal: str
) -> None:
    stand_in(terminal, status=1)
    pid = start("sleep", "600")
    register(real, f"id: 7, pid: {pid}, created_epoch: {started(pid):.2f}", terminal)
    result = real.kill()
    told = answer(result)
    assert (int(result.exit), told["outcome"], told["error"]["code"]) == (
        1,
        "killed",
        "pane_close_failed",
    )
    assert f"{terminal} said: no such window" in told["error"]["message"]
    assert CALLS[terminal].strip() in told["error"]["hint"]
    assert (alive(pid), real.row()["status"]) == (False, "stopped")


def test_a_pane_whose_process_had_exited_is_a_strangers(
    real: Real, start: Start, stand_in: Callable[..., Path]
) -> None:
    calls = stand_in("kitty")
    stranger = start("sleep", "600")
    register(real, f"id: 7, pid: {stranger}, created_epoch: {started(stranger) - 9:.2f}", "kitty")
    assert answer(real.kill())["stopped_by"] == "already_gone"
    assert (calls.exists(), alive(stranger)) == (False, True)


@pytest.mark.parametrize("verb", [EndVerb.STOP, EndVerb.KILL], ids=lambda verb: verb.value)
def test_a_row_of_another_tool_outlives_its_tmux_session(
    real: Real, start: Start, verb: EndVerb
) -> None:
    """Its pid and start identify the process, even without a session or server."""
    pid, neighbour = start("sleep", "600"), start("sleep", "600")
    pane = f"pane: {{pid: {pid}, created_epoch: {started(pid):.2f}}}"
    row = f"{{name: acme, status: running, tmux_server: {real.socket}, {pane}}}"
    real.registry.write_text(f"tmux_sessions:\n  - {row}\n")
    with real.app() as app:
        found: Any = reconcile.run(app).as_json()["drifts"]
    assert [one["drift"] for one in found if one["name"]] == ["survivors"]
    told = answer(real.stop() if verb is EndVerb.STOP else real.kill())
    assert told["stopped_by"] == {"stop": "hangup", "kill": "sigterm"}[verb.value]
    assert (alive(pid), alive(neighbour), real.row()["status"]) == (False, True, "stopped")


def test_a_stranger_with_the_pid_of_such_a_row_is_left(real: Real, start: Start) -> None:
    pid = start("sleep", "600")
    pane = f"pane: {{pid: {pid}, created_epoch: {started(pid) - 60:.2f}}}"
    row = f"{{name: acme, status: running, tmux_server: {real.socket}, {pane}}}"
    real.registry.write_text(f"tmux_sessions:\n  - {row}\n")
    assert answer(real.stop())["stopped_by"] == "already_gone"
    assert alive(pid)


# Adopted


def agent(start: Start, folder: Path, **environ: str) -> int:
    """Start a program named like the demo agent, outside tmux."""
    program = folder / "tmuxreap-demo"
    program.write_text("#!/bin/sh\nsleep 600 & wait\n")
    program.chmod(0o755)
    return start(str(program), **environ)


def adopted(real: Real, **more: Any) -> dict[str, Any]:
    with real.app() as app:
        return answer(adopt.run(app, replace(adopt.AdoptRequest("acme", "demo"), **more)))


def test_a_process_is_adopted_and_ended(real: Real, start: Start) -> None:
    pid, neighbour = agent(start, real.folder), start("sleep", "600")
    until("its child", lambda: children(pid))
    family = [pid, *children(pid)]
    told = adopted(real, pid=pid)
    assert (told["live"], told["pid"], told["agent"]) == ("alive", pid, "demo")
    row = real.row()
    assert (row["terminal"], row["pane"]["pid"], row["agent"]) == ("none", pid, "demo")
    assert abs(row["pane"]["created_epoch"] - started(pid)) < 0.02
    assert set(row["tmux"]) == {"host", "boot_id"}
    assert answer(real.stop())["stopped_by"] == "hangup"
    assert (any(map(alive, family)), alive(neighbour), real.row()["status"]) == (
        False,
        True,
        "stopped",
    )


def test_an_ended_row_is_adopted_again_with_another_process(real: Real, start: Start) -> None:
    register(real, "pid: 7, cwd: /")
    real.edit("status: running", "status: stopped, stopped_at: x")
    pid = agent(start, real.folder)
    adopted(real, pid=pid)
    assert (real.row()["status"], real.row()["pane"]["pid"]) == ("running", pid)
    assert "stopped_at" not in real.row()
    assert real.list()[0]["live"] == "alive"
    real.kill()


def test_processes_that_are_no_agent_or_another_users_are_refused(real: Real, start: Start) -> None:
    stranger = start("sleep", "600")
    failure = real.fails(lambda: adopted(real, pid=stranger))
    assert (failure.code.text, "no demo is recognised there" in failure.message) == ("usage", True)
    assert "--agent" not in failure.hint  # it was given
    failure = real.fails(lambda: adopted(real, pid=2**22 + 7))
    assert failure.code.text == "process_not_found"
    pid = agent(start, real.folder)
    adopted(real, pid=pid)
    failure = real.fails(lambda: adopted(real, name="other", pid=pid))
    assert (failure.code.text, "belongs to acme" in failure.message) == ("session_exists", True)
    assert list(real.rows()) == ["acme"]
    failure = real.fails(lambda: adopted(real, pid=pid))
    assert failure.code.text == "session_exists"
    real.kill()


def test_the_shell_that_an_agent_was_started_from_is_not_ended_with_it(
    real: Real, tmp_path: Path
) -> None:
    """In a user's own terminal they gave us the agent, not the shell."""
    program = tmp_path / "tmuxreap-demo"
    program.write_text("#!/bin/sh\nsleep 600 & wait\n")
    program.chmod(0o755)
    shell, terminal = pty.fork()
    if shell == 0:
        os.execv("/bin/sh", ["sh", "-c", f"{program} & wait; sleep 600"])
    try:
        until("the agent", lambda: any("tmuxreap-demo" in name_of(pid) for pid in children(shell)))
        (pid,) = [pid for pid in children(shell) if "tmuxreap-demo" in name_of(pid)]
        adopted(real, pid=pid)
        assert int(real.stop().exit) == 0
        assert (alive(pid), alive(shell)) == (False, True)
    finally:
        os.kill(shell, signal.SIGKILL)
        os.waitpid(shell, 0)
        os.close(terminal)


def name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text()


LISTS = {
    "kitty": (
        '[{{"id": 1, "tabs": [{{"id": 1, "windows": [{{"id": 7, "pid": {pid}, "cwd": "/",'
        ' "cmdline": []}}]}}]}}]'
    ),
    "wezterm": (
        '[{{"window_id": 0, "tab_id": 0, "pane_id": 7, "tty_name": "{tty}", "cwd": "file:///"}}]'
    ),
}
ASKED = {"kitty": "@ --to unix:/run/k ls", "wezterm": "cli list --format json /run/w"}
CLOSED = {
    "kitty": "@ --to unix:/run/k close-window --match id:7",
    "wezterm": "cli kill-pane --pane-id 7 /run/w",
}


@pytest.mark.parametrize("kind", ["kitty", "wezterm"])
def test_a_pane_of_another_terminal_is_adopted(
    real: Real, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """On stand-ins that answer like the terminals; the listen address is recorded, for endings from
    elsewhere."""
    program = tmp_path / "tmuxreap-demo"
    program.write_text("#!/bin/sh\nsleep 600 & wait\n")
    program.chmod(0o755)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(str(program), [str(program)])
    try:
        until("the agent", lambda: "tmuxreap-demo" in name_of(pid))
        tty = os.readlink(f"/proc/{pid}/fd/0")
        calls, control = tmp_path / "calls", tmp_path / "bin" / kind
        control.parent.mkdir()
        shown = LISTS[kind].format(pid=pid, tty=tty)
        asked = f"case \"$*\" in *ls|*list*) echo '{shown}' ;; esac"
        control.write_text(f'#!/bin/sh\necho "$@" $WEZTERM_UNIX_SOCKET >> {calls}\n{asked}\n')
        control.chmod(0o755)
        monkeypatch.setenv("PATH", f"{control.parent}:{os.environ['PATH']}")
        monkeypatch.delenv("KITTY_LISTEN_ON", raising=False)
        monkeypatch.delenv("WEZTERM_UNIX_SOCKET", raising=False)
        address = {
            "kitty": ("KITTY_LISTEN_ON", "unix:/run/k"),
            "wezterm": ("WEZTERM_UNIX_SOCKET", "/run/w"),
        }[kind]
        with monkeypatch.context() as within:
            within.setenv(*address)
            adopted(real, pane=f"{kind}:7")
        row = real.row()
        assert (row["terminal"], row["pane"]["id"], row["pane"]["pid"]) == (kind, "7", pid)
        assert row["pane"]["listen_on"] == address[1]
        assert (
            real.fails(lambda: adopted(real, name="other", pane=f"{kind}:8")).code.text
            == "no_tracked_pid"
        )
        result = real.kill()
        assert (int(result.exit), answer(result)["error"]) == (0, None)
        assert [calls.read_text().splitlines()[at] for at in (0, -1)] == [ASKED[kind], CLOSED[kind]]
        assert not alive(pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


@pytest.mark.parametrize("words", ["kitty", "kitty:", "kitty:x", "xterm:7", "wezterm:-1", "7"])
def test_a_word_that_names_no_terminals_pane_is_refused(real: Real, words: str) -> None:
    assert real.fails(lambda: adopted(real, pane=words)).code.text == "usage"
