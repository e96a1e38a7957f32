"""Restarts by `watch`, on a real tmux: back with the conversation after a crash, never after a
deliberate end, never twice."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest

from tests.live.test_watch import watching
from tests.real import Real
from tmuxreap.ledger.database import ledger_path
from tmuxreap.ledger.ledger import Ledger

pytestmark = pytest.mark.live


def running(real: Real, name: str = "acme", not_pid: int = 0) -> bool:
    row = real.row(name)
    return row["status"] == "running" and row["pane"]["pid"] != not_pid


def begun(real: Real, name: str = "acme", restart: str = "on-failure", **more: Any) -> int:
    """One with a conversation that can be taken up."""
    real.start(name, restart=restart, **more)
    real.say(f"this is {name}", name)
    return real.pid(name)


def kinds(real: Real, name: str = "acme") -> list[str]:
    with Ledger.open(ledger_path(real.registry), now=time.time()) as ledger:
        return [event.kind for event in ledger.events({name}) if event.kind != "state"]


def test_what_crashed_is_back_with_its_conversation(real: Real) -> None:
    real.bystander()
    pid = begun(real)
    before = real.session_file()["sessionId"]
    with watching(real, "--interval", "1h") as watch:
        os.kill(pid, signal.SIGKILL)
        assert watch.event()["event"] == "dead"
        event = watch.event()
        assert (event["event"], event["name"], event["attempt"]) == ("restarted", "acme", 1)
    assert real.row()["status"] == "running"
    real.shows("acme", "You said: this is acme")
    assert real.session_file()["sessionId"] == before
    assert kinds(real) == ["started", "dead", "restarting", "resumed"]
    assert "termination_mode" not in real.row()
    assert real.said().count(("user", "this is acme")) == 1
