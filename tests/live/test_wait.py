"""`wait` on real sessions: deaths and reports wake it, a screen is seen within a second."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.real import PATIENCE_S, Real
from tmuxreap.commands import wait
from tmuxreap.commands.wait import Until, WaitRequest
from tmuxreap.commands.watch import waiting
from tmuxreap.ledger.records import Heartbeat

pytestmark = pytest.mark.live


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Return an event that is set once it waits. It never polls: only events end the wait."""
    monkeypatch.setattr(wait, "SCREENS_EVERY_S", 3600.0)
    begun, told = threading.Event(), waiting.Waiter.wait

    def noticed(*given: Any) -> Any:
        begun.set()
        return told(*given)

    monkeypatch.setattr(waiting.Waiter, "wait", noticed)
    return begun


def awaited(
    real: Real, waits: threading.Event, until: Until, happens: Callable[[], object]
) -> dict[str, Any]:
    found: list[dict[str, Any]] = []

    def work() -> None:
        with real.app() as app:
            (item,) = wait.run(app, WaitRequest(("acme",), until, timeout_s=PATIENCE_S)).results
        found.append(item.as_json())

    thread = threading.Thread(target=work)
    thread.start()
    assert waits.wait(PATIENCE_S)
    happens()
    thread.join()
    return found[0]


def test_a_death_is_reported_at_once(real: Real, waits: threading.Event) -> None:
    real.start()
    told = awaited(real, waits, Until.GONE, lambda: os.kill(real.pid(), signal.SIGKILL))
    assert (told["reached"], told["state"]) == (True, None)


def test_an_agent_that_dies_during_a_wait_is_gone(real: Real, waits: threading.Event) -> None:
    real.start()
    told = awaited(real, waits, Until.WORKING, lambda: os.kill(real.pid(), signal.SIGKILL))
    assert (told["reached"], told["error"]["code"]) == (False, "gone")


def test_a_report_in_the_ledger_ends_a_wait(real: Real, waits: threading.Event) -> None:
    real.start()
    (file,) = (real.store / "sessions").glob("*.json")
    file.unlink()  # its own record would say idle, and count first

    def say() -> None:
        with real.app() as app:
            app.books.beat(Heartbeat("acme", app.clock.now(), "working", "prompt", None, {}))

    told = awaited(real, waits, Until.WORKING, say)
    assert (told["reached"], told["state"]) == (True, "working")


def test_a_wait_reports_the_end_of_a_row(real: Real, waits: threading.Event) -> None:
    real.start()
    told = awaited(real, waits, Until.ENDED, real.stop)
    assert told["reached"]
