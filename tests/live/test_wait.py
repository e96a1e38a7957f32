"""`wait` on real sessions: the kernel tells of deaths and words, a screen is seen within a
second."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.real import Real
from tmuxreap.commands import wait
from tmuxreap.commands.wait import Until, WaitRequest
from tmuxreap.ledger.records import Heartbeat

pytestmark = pytest.mark.live

SOON_S = 2.0  # on a busy machine; docs/figures.md has what it takes on an idle one


def awaited(
    real: Real, until: Until, happens: Callable[[], object]
) -> tuple[dict[str, Any], float]:
    """The answer, and how long after it happened it came."""
    found: list[tuple[dict[str, Any], float]] = []

    def work() -> None:
        with real.app() as app:
            (item,) = wait.run(app, WaitRequest(("acme",), until, timeout_s=20.0)).results
        found.append((item.as_json(), time.monotonic()))

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.6)
    began = time.monotonic()
    happens()
    thread.join()
    return found[0][0], found[0][1] - began


def test_a_death_is_told_at_once(real: Real) -> None:
    real.start()
    told, took_s = awaited(real, Until.GONE, lambda: os.kill(real.pid(), signal.SIGKILL))
    assert (told["reached"], told["state"]) == (True, None)
    assert took_s < SOON_S


def test_one_that_dies_while_a_state_is_awaited_is_gone(real: Real) -> None:
    real.start()
    told, _ = awaited(real, Until.WORKING, lambda: os.kill(real.pid(), signal.SIGKILL))
    assert (told["reached"], told["error"]["code"]) == (False, "gone")


def test_a_word_in_the_ledger_is_heard(real: Real) -> None:
    real.start()

    def say() -> None:
        with real.app() as app:
            app.books.beat(Heartbeat("acme", app.clock.now(), "working", "prompt", None, {}))

    told, took_s = awaited(real, Until.WORKING, say)
    assert (told["reached"], told["state"]) == (True, "working")
    assert took_s < SOON_S


def test_the_end_of_a_row_is_told(real: Real) -> None:
    real.start()
    told, _ = awaited(real, Until.ENDED, real.stop)
    assert told["reached"]
