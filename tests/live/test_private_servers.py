"""A server of the agent's kind that one pane started for itself, and one that others use: played by
an interpreter under the agent's name, on a real port."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from signal import SIGKILL

import pytest

from tests.real import Real, alive, answer, until

pytestmark = pytest.mark.live

SERVER = """
import socket, time
server = socket.create_server(("127.0.0.1", 0))
open({file!r}, "w").write(f"{{__import__('os').getpid()}} {{server.getsockname()[1]}}\\n")
time.sleep(600)
"""
AGENT = """
import subprocess, time
subprocess.Popen(
    ["codex", "-c", {server!r}, "app-server", "--listen", "ws://127.0.0.1:0"],
    executable={python!r}, start_new_session=True,
)
time.sleep(600)
"""


def agent_with_a_server(real: Real) -> tuple[int, int]:
    """Return the pid and the port of the server."""
    file = real.folder / "server"
    server = SERVER.format(file=str(file))
    script = real.folder / "agent.py"
    script.write_text(AGENT.format(server=server, python=sys.executable))
    shell = f"exec -a codex {sys.executable} {script}"
    real.tmux("new-session", "-d", "-s", "acme", "bash", "-c", shell)
    until("the server", lambda: file.exists() and file.read_text().endswith("\n"))
    real.registry.write_text(
        "tmux_sessions:\n"
        f"- {{name: acme, status: running, agent: codex, tmux_server: {real.socket}}}\n"
    )
    pid, port = Path(file).read_text().split()
    return int(pid), int(port)


def test_a_private_server_is_ended_with_its_pane(real: Real) -> None:
    pid, _ = agent_with_a_server(real)
    result = answer(real.kill(grace_s=0.2))
    assert (result["outcome"], result["spared"]) == ("killed", [])
    assert pid in [process["pid"] for process in result["swept"]]
    assert not alive(pid)


def test_a_server_with_a_client_of_another_session_is_spared_and_named(real: Real) -> None:
    pid, port = agent_with_a_server(real)
    with socket.create_connection(("127.0.0.1", port)):
        result = answer(real.kill(grace_s=0.2))
        assert (result["outcome"], [it["pid"] for it in result["spared"]]) == ("killed", [pid])
        assert alive(pid)
    os.kill(pid, SIGKILL)
    (spared,) = result["spared"]
    assert spared["why"] == "a server of codex, perhaps not of this session alone"
