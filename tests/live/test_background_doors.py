"""Sessions that an agent's own daemon or server runs, through `wait`, `watch`, MCP and the popup:
each takes them as any other."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests import stub_daemon, warm
from tests.background import Daemon
from tests.mcp_client import calls
from tests.real import PATIENCE_S, Real, alive, answer, until
from tests.served import Server
from tmuxreap.app import real_app
from tmuxreap.commands import adopt, wait
from tmuxreap.commands.wait import Until, WaitRequest
from tmuxreap.core.answers import Session
from tmuxreap.interfaces.popup.actions import Desk
from tmuxreap.interfaces.popup.app import Popup
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings

pytestmark = pytest.mark.live
LOOKS_S = 1.2  # some looks of a watch; with fewer the test holds as well


@pytest.fixture
def daemon(real: Real) -> Iterator[Daemon]:
    found = Daemon(real)
    yield found
    found.close()


@pytest.fixture
def server(real: Real) -> Iterator[Server]:
    found = Server(real)
    yield found
    found.kill()


def adopted(real: Real, seat: str) -> None:
    with real.app() as app:
        answer(adopt.run(app, adopt.AdoptRequest("acme", background=seat)))


class Waiting:
    """A `wait` in a thread."""

    def __init__(self, real: Real, wanted: Until) -> None:
        self._real, self._wanted = real, wanted
        self._found: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        request = WaitRequest(("acme",), self._wanted, timeout_s=PATIENCE_S)
        with self._real.app() as app:
            (item,) = wait.run(app, request).results
        self._found.append(item.as_json())

    def told(self) -> dict[str, Any]:
        self._thread.join()
        return self._found[0]


def test_a_wait_sees_the_state_of_a_background_session_change(real: Real, daemon: Daemon) -> None:
    pid = daemon.begin(status="busy")
    adopted(real, "demo:w1")
    waiting = Waiting(real, Until.IDLE)
    record = daemon.store / "sessions" / f"{pid}.json"
    stub_daemon.write(record, {**json.loads(record.read_text()), "status": "idle"})
    told = waiting.told()
    assert (told["reached"], told["state"]) == (True, "idle")


def test_a_wait_sees_the_end_of_a_background_session(real: Real, daemon: Daemon) -> None:
    pid = daemon.begin()
    adopted(real, "demo:w1")
    waiting = Waiting(real, Until.GONE)
    stub_daemon.write(daemon.store / "wanted.json", {})
    os.kill(pid, signal.SIGKILL)
    assert waiting.told()["reached"] is True


def test_a_wait_sees_the_end_of_work_at_a_server(real: Real, server: Server) -> None:
    server.begin()
    adopted(real, "demo:s1")
    waiting = Waiting(real, Until.GONE)
    server.end()
    assert waiting.told()["reached"] is True


@contextlib.contextmanager
def watched(real: Real) -> Iterator[Callable[[], dict[str, Any]]]:
    """Yield what waits for the next death that a watch reports. When its first look is does not
    matter: a death before it is reported as well."""
    words = ["watch", "--json", "--registry", str(real.registry), "--interval", "0.5s"]
    process = subprocess.Popen([warm.program(), *words], stdout=subprocess.PIPE, text=True)
    lines = process.stdout
    assert lines is not None

    def death() -> dict[str, Any]:
        for line in lines:
            event: dict[str, Any] = json.loads(line)
            if event["event"] == "dead":
                return event
        raise AssertionError("the watch has ended")

    try:
        yield death
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0


def test_a_watch_records_the_death_of_a_background_session(real: Real, daemon: Daemon) -> None:
    pid = daemon.begin()
    adopted(real, "demo:w1")
    with watched(real) as death:
        stub_daemon.write(daemon.store / "wanted.json", {})
        os.kill(pid, signal.SIGKILL)
        event = death()
    assert (event["name"], event["settled"]) == ("acme", True)
    assert real.row()["status"] == "terminated"


def test_a_watch_follows_a_background_session_to_another_process(
    real: Real, daemon: Daemon
) -> None:
    """Its daemon brings it back: only its real end is a death."""
    pid = daemon.begin()
    adopted(real, "demo:w1")
    with watched(real) as death:
        os.kill(pid, signal.SIGKILL)
        until("the end of the first", lambda: not alive(pid))
        later = daemon.lives()
        time.sleep(LOOKS_S)
        assert real.row()["status"] == "running"
        stub_daemon.write(daemon.store / "wanted.json", {})
        os.kill(later, signal.SIGKILL)
        assert death()["name"] == "acme"


def test_a_watch_records_the_end_of_work_at_a_server(real: Real, server: Server) -> None:
    server.begin()
    adopted(real, "demo:s1")
    with watched(real) as death:
        server.end()
        assert death()["name"] == "acme"
    assert real.row()["status"] == "terminated"


def test_an_mcp_client_sees_and_ends_a_background_session(real: Real, daemon: Daemon) -> None:
    pid = daemon.begin()
    adopted(real, "demo:w1")
    listed, stopped, after = calls(
        real,
        ("list_sessions", {"fields": ["seat", "state", "live"]}),
        ("stop_session", {"targets": ["acme"], "reason": "done"}),
        ("list_sessions", {"targets": ["acme"]}),
    )
    (one,) = listed["results"]
    assert (one["seat"], one["live"], one["state"]) == ("demo:w1", "alive", "idle")
    assert stopped["results"][0]["stopped_by"] == "daemon"
    assert after["results"][0]["status"] == "stopped"
    assert (alive(pid), daemon.told()) == (False, [])


def test_the_popup_shows_and_ends_a_background_session(real: Real, daemon: Daemon) -> None:
    pid = daemon.begin(status="waiting", asks="may I?")
    adopted(real, "demo:w1")
    settings = Settings(dict(os.environ), real.folder, os.getuid(), os.getpid(), sys.platform)

    def context(**more: Any) -> Context:
        return real_app(settings, str(real.registry), **more)

    async def play() -> list[Session]:
        popup = Popup(Desk(context))
        async with popup.run_test(size=(120, 40)) as pilot:
            while not popup._seen.sessions:
                await pilot.pause(0.05)
            shown = list(popup._seen.sessions)
            await pilot.press("x", "y")
            while alive(pid):
                await pilot.pause(0.05)
            for thread in popup._threads:
                await asyncio.to_thread(thread.join)
        return shown

    (one,) = asyncio.run(asyncio.wait_for(play(), PATIENCE_S))
    assert (one.name, one.seat, one.state) == ("acme", "demo:w1", "waiting")
    assert (daemon.told(), real.row()["stopped_by"]) == ([], "daemon")
