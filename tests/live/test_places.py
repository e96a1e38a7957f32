"""The same session by another path, with another width, from another folder: where a name alone
would mislead."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import libtmux
import pytest

from tests import warm
from tests.real import BURST_S, DEMO, Real, alive, answer, until
from tmuxreap.commands import adopt
from tmuxreap.core.errors import Code
from tmuxreap.core.model import Scope
from tmuxreap.system.tmux.server import RealTmux

pytestmark = pytest.mark.live

# A daemon without terminal or descriptors: only its environment shows its origin.
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        with open(sys.argv[1] + ".part", "w") as file:
            file.write(str(os.getpid()))
        os.rename(sys.argv[1] + ".part", sys.argv[1])
        time.sleep(600)
    os._exit(0)
os.wait()
os.execvp(sys.argv[2], sys.argv[2:])
"""


def cli(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [warm.program(), *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=60, check=False)


def test_a_daemon_is_found_through_a_link_to_the_socket(real: Real, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(Path(real.socket).parent)
    pid_file = real.folder / "pid"
    real.tmux("new-session", "-d", "-s", "acme", sys.executable, "-c", DAEMON, str(pid_file), *DEMO)
    until("the daemon", pid_file.exists)
    real.shows("acme", "demo agent")
    socket, real.socket = real.socket, str(link / Path(real.socket).name)
    real.adopt("acme")
    real.socket = socket
    assert answer(real.stop())["outcome"] == "stopped"
    assert not alive(int(pid_file.read_text()))


def test_a_secret_that_the_terminal_wrapped_is_masked_whole(real: Real) -> None:
    secret = "sk-" + "a1b2c3d4" * 40
    real.tmux(
        "new-session",
        "-d",
        "-x",
        "60",
        "-y",
        "30",
        "-s",
        "acme",
        f"echo key {secret} end; sleep 600",
    )
    real.registry.write_text(
        f"tmux_sessions:\n- {{name: acme, status: running, tmux_server: {real.socket}}}\n"
    )
    until("the end of it", lambda: " end" in real.screen())
    assert answer(real.stop())["outcome"] == "stopped"
    assert real.row()["last_visible_status"] == "key *** end"


def test_a_relative_server_is_recorded_whole(real: Real) -> None:
    folder = Path(real.socket).parent
    words = [
        "--registry",
        str(real.registry),
        "--agent",
        "demo",
        "--server",
        "./s",
        "--cwd",
        str(real.folder),
    ]
    assert cli("start", "acme", *words, cwd=folder).returncode == 0
    assert real.row()["tmux_server"] == real.socket
    assert cli("stop", "acme", "--registry", str(real.registry), cwd=real.folder).returncode == 0


def test_a_refused_adopt_creates_no_registry(real: Real, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for name in ("nobody", "all"):
        assert cli("adopt", name, "--server", real.socket, cwd=empty).returncode in (2, 3)
        assert list(empty.iterdir()) == []
    assert cli("start", "acme", "--server", real.socket, cwd=empty).returncode == 2
    assert list(empty.iterdir()) == []


def test_a_server_that_hangs_in_the_middle_is_asked_once(real: Real) -> None:
    real.start("acme", "--ignore", "hup,term", "--exit-delay", "20")
    server = int(real.ask("acme", "#{pid}"))
    asked: list[str] = []

    class Hanging(RealTmux):
        def look(self, socket: str):  # type: ignore[no-untyped-def]
            asked.append(socket)
            if len(asked) == 2:
                os.kill(server, 19)
            return super().look(socket)

    real.other_tmux = Hanging(dict(os.environ), timeout_s=0.3)
    try:
        result = real.stop(keys_timeout_s=0, grace_s=0.2)
    finally:
        os.kill(server, 18)
    assert [Code.of(item.error.code) for item in result.results if item.error] == [
        Code.TMUX_UNREACHABLE
    ]
    assert len(asked) == 2
    assert real.row()["status"] == "running"
    real.other_tmux = None
    assert real.stop(keys_timeout_s=0, grace_s=0.1).exit == 0


def test_a_missing_target_is_a_usage_error_even_without_a_registry(tmp_path: Path) -> None:
    assert cli("stop", cwd=tmp_path).returncode == 2


def test_another_library_agrees_on_what_is_gone_and_what_lives(real: Real) -> None:
    server = libtmux.Server(socket_path=real.socket)
    real.start("acme")
    real.bystander("acme-2")
    assert {session.session_name for session in server.sessions} == {"acme", "acme-2"}
    real.stop("acme")
    assert [session.session_name for session in server.sessions] == ["acme-2"]
    assert server.is_alive()


def by_other_tools(real: Real, *fields: str) -> None:
    """A demo agent next to a busy pane, and a hand-written row."""
    real.tmux("new-session", "-d", "-s", "acme", *DEMO)
    real.shows("acme", "demo agent · conversation")
    real.tmux("split-window", "-d", "-t", "=acme:", "sleep", "600")
    row = "".join(f", {field}" for field in fields)
    real.registry.write_text(
        f"tmux_sessions:\n- {{name: acme, status: running, tmux_server: {real.socket}{row}}}\n"
    )


def test_the_agent_of_a_row_that_does_not_say_it_is_seen_in_its_pane(real: Real) -> None:
    by_other_tools(real)
    shown = real.show()
    assert (shown["agent"], shown["pane_id"]) == ("demo", "%0")
    assert answer(real.stop())["error"]["code"] == "foreign_panes"
    result = answer(real.stop(scope=Scope.SESSION))
    assert (result["outcome"], result["agent"], result["stopped_by"]) == (
        "stopped",
        "demo",
        "exit_keys",
    )
    assert real.row()["demo_conversation_id_own"] == result["conversation"]["id"]


def test_two_agents_in_one_session_are_an_ambiguous_pane(real: Real) -> None:
    by_other_tools(real)
    real.tmux("split-window", "-d", "-t", "=acme:", *DEMO)
    until("the second", lambda: real.tmux("capture-pane", "-p", "-t", "%2").count("demo agent"))
    assert answer(real.stop())["error"]["code"] == "ambiguous_pane"


def test_each_of_two_agents_in_one_session_is_adopted_by_its_pane(real: Real) -> None:
    real.tmux("new-session", "-d", "-s", "work", *DEMO, "--plain")
    real.shows("work", "demo agent")
    real.tmux("split-window", "-d", "-t", "=work:", *DEMO, "--always-banner")
    until("the second", lambda: "demo agent" in real.tmux("capture-pane", "-p", "-t", "%1"))
    for name, pane in (("first", "%0"), ("second", "%1")):
        with real.app() as app:
            request = adopt.AdoptRequest(name, "demo", real.socket, pane=pane)
            assert answer(adopt.run(app, request))["pane_id"] == pane
    real.tmux("send-keys", "-t", "%1", "hello")
    until("the words", lambda: "> hello" in real.tmux("capture-pane", "-p", "-t", "%1"))
    time.sleep(BURST_S)
    real.tmux("send-keys", "-t", "%1", "Enter")
    until("an answer", lambda: "You said: hello" in real.tmux("capture-pane", "-p", "-t", "%1"))
    assert answer(real.stop("second"))["error"]["code"] == "foreign_panes"
    assert answer(real.stop("second", scope=Scope.PANE))["outcome"] == "stopped"
    assert [item["live"] for item in real.list() if item["name"] == "first"] == ["alive"]
    resumed = real.resume("second")
    assert (resumed["live"], real.row("second")["start_command"].split()[-1]) == (
        "alive",
        "--always-banner",
    )
    assert b"--always-banner" in Path(f"/proc/{resumed['pid']}/cmdline").read_bytes()


def test_the_agent_is_read_from_the_command_that_other_tools_recorded(real: Real) -> None:
    real.registry.write_text(
        "tmux_sessions:\n- {name: acme, status: stopped, pane: {pid: 4, cmd: /usr/bin/claude}}\n"
    )
    (row,) = real.list()
    assert row["agent"] == "claude"


def test_a_pane_of_a_row_by_other_tools_is_ended_once(real: Real) -> None:
    by_other_tools(real, "agent: demo")
    assert answer(real.stop(scope=Scope.PANE))["outcome"] == "stopped"
    before = real.registry.read_bytes()
    assert answer(real.stop())["outcome"] == "already_stopped"
    (row,) = real.list()
    assert (row["live"], row["drift"]) == ("gone", None)
    assert real.registry.read_bytes() == before
    assert real.sessions() == {"acme"}
