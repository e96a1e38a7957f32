"""A change that cleans a registry after crashes, each criterion of its test plan and each call of
its interfaces."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tmuxreap as program
from tests import warm
from tests.live.asked import Typed
from tests.mcp_client import calls
from tests.real import DEMO, until

pytestmark = pytest.mark.live


@pytest.fixture
def real(tmux_socket: str, tmp_path: Path) -> Typed:
    return Typed(tmux_socket, tmp_path)


@contextmanager
def watched(real: Typed, *more: str) -> Iterator[None]:
    """The monitor that the document puts into its orchestrator."""
    words = [warm.program(), "watch", "--quiet", "--registry", str(real.registry)]
    watch = subprocess.Popen([*words, *more], stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        watch.terminate()
        watch.wait()


def connected(real: Typed) -> list[str]:
    return [one["name"] for one in real.type("list", "--live").json["results"]]


@pytest.mark.parametrize("place", ["tmux", "none"])
def test_a_killed_agent_is_reported_at_once(real: Typed, place: str) -> None:
    """With "agent removed from connected-agents.json within ~10s"; it takes milliseconds. And
    "other agents are untouched"."""
    other = real.begin("other")
    pid = real.begin("acme", "--terminal", place)
    with watched(real, "--interval", "1h"):  # reported by an event, not by a periodic look
        os.kill(pid, signal.SIGKILL)
        until("its row", lambda: real.row()["status"] == "terminated")
    assert (real.row()["termination_mode"], connected(real)) == ("lost", ["other"])
    os.kill(other, 0)
    real.type("kill", "other")


def test_a_crash_below_a_shell_is_reported(real: Typed) -> None:
    """The pane lives on: reported as no longer connected."""
    words = ("--agent", "demo", "--server", real.socket, "--confirm", "1")
    real.type("start", "acme", *words, "--", "sh", "-c", f"{' '.join(DEMO)}; exec sh -i")
    real.shows("acme", "demo agent")
    (agent,) = [
        one["pid"] for one in real.result("show", "acme")["processes"] if one["name"] != "sh"
    ]
    os.kill(agent, signal.SIGKILL)
    until("its end", lambda: connected(real) == [])
    (listed,) = real.type("list").json["results"]
    assert listed["live"] == "agent_gone"
    assert real.result("stop", "acme")["stopped_by"] == "already_gone"
    assert real.row()["status"] == "stopped"


def test_list_sessions_is_accurate_without_a_monitor(real: Typed) -> None:
    """Through the MCP call, without a running monitor."""
    pid = real.begin("acme")
    real.begin("other")
    os.kill(pid, signal.SIGKILL)
    until("its session", lambda: real.sessions() == {"other"})
    (told,) = calls(real, ("list_sessions", {"live": True}))
    assert [one["name"] for one in told["results"]] == ["other"]
    real.type("kill", "other")


def test_list_sessions_and_remove_session_serve_a_relay(real: Typed) -> None:
    """The two tools are our `list_sessions live` and `remove_session`."""
    real.begin("acme")
    real.type("kill", "acme")
    listed, removed = calls(
        real,
        ("list_sessions", {"live": True}),
        ("remove_session", {"targets": ["acme"], "reason": "stale", "history": True}),
    )
    assert (listed["results"], removed["ok"], real.rows()) == ([], True, {})
    # Of its history only the reason is left.
    assert real.sql("SELECT kind FROM events WHERE name = 'acme'") == [("forgotten",)]


def test_the_python_interface_lists_live_agents_and_removes_one(real: Typed) -> None:
    """From a program: "only currently connected agents, not historical ones", and "optionally
    removes message history"."""
    pid = real.begin("acme")
    real.begin("other")
    os.kill(pid, signal.SIGKILL)
    until("its session", lambda: real.sessions() == {"other"})
    registry = program.open_registry(str(real.registry))
    assert [one.name for one in registry.sessions(live=True)] == ["other"]
    assert {one.name for one in registry.sessions()} == {"acme", "other"}
    registry.reconcile()
    registry.forget("acme", history=True)
    assert list(real.rows()) == ["other"]
    registry.kill("other")


def test_a_watch_does_not_report_a_requested_end(real: Typed) -> None:
    """An agent that exited on request is stopped, not lost, whatever the monitor saw."""
    real.begin("acme")
    with watched(real):
        assert real.type("stop", "acme").exit == 0
        assert real.row()["status"] == "stopped"
    assert real.row()["termination_mode"] == "graceful"
