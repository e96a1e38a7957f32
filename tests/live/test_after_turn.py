"""`stop --after-turn` on real tmux: the turn is awaited, cut off at the timeout, and overtaken by
other verbs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from tests.ledger_records import Ledger
from tests.real import PATIENCE_S, Real, answer, until
from tmuxreap.core.results import Result
from tmuxreap.ledger.database import ledger_path


def in_background(work: Callable[[], Result]) -> Future[dict[str, Any]]:
    """Run in separate threads, which share only the registry, like two programs."""
    came: Future[dict[str, Any]] = Future()

    def run() -> None:
        try:
            came.set_result(answer(work()))
        except BaseException as error:
            came.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return came


def waiting(real: Real) -> bool:
    with Ledger.open(ledger_path(real.registry), now=time.time()) as ledger:
        intent = ledger.open_intent("acme")
        return intent is not None and '"after_turn"' in intent.plan


def test_a_stop_waits_for_the_turn_and_then_ends_quickly(real: Real) -> None:
    real.start("acme", "--state", "busy")
    stopping = in_background(lambda: real.stop(after_turn_s=600.0))
    until("the intent", lambda: waiting(real))
    time.sleep(0.8)  # it keeps working, and no key is sent
    assert not stopping.done()
    assert "working" in real.screen()
    real.keys("acme", "Escape")  # the user ends the turn
    result = stopping.result(PATIENCE_S)  # not after ten minutes
    assert (result["outcome"], result["stopped_by"], result["warnings"]) == (
        "stopped",
        "exit_keys",
        [],
    )
    assert result["duration_ms"] >= 800


def test_after_turn_does_not_wait_for_an_idle_agent(real: Real) -> None:
    real.start()
    stopping = in_background(lambda: real.stop(after_turn_s=600.0))
    assert stopping.result(PATIENCE_S)["outcome"] == "stopped"


def test_the_ladder_begins_when_the_time_is_up(real: Real) -> None:
    real.start("acme", "--state", "busy")
    result = answer(real.stop(after_turn_s=0.4))
    assert result["outcome"] == "stopped"
    assert result["warnings"] == ["turn_not_finished: it was still in its turn after 0.4 s"]
    assert result["duration_ms"] >= 400


def test_a_kill_takes_over_and_a_second_stop_joins(real: Real) -> None:
    real.start("acme", "--state", "busy")
    first = in_background(lambda: real.stop(after_turn_s=30.0))
    until("the intent", lambda: waiting(real))
    second = in_background(real.stop)
    killed = answer(real.kill())
    assert killed["outcome"] == "killed"
    assert first.result(PATIENCE_S)["outcome"] == "taken_over"
    assert second.result(PATIENCE_S)["outcome"] in ("killed", "already_stopped")
    assert real.row()["termination_mode"] == "kill"


def test_an_agent_that_exits_by_itself_is_swept_up(real: Real) -> None:
    real.start("acme", "--state", "busy")
    stopping = in_background(lambda: real.stop(after_turn_s=30.0))
    until("the intent", lambda: waiting(real))
    real.keys("acme", "Escape", "C-c")
    time.sleep(0.05)
    real.keys("acme", "C-c")
    result = stopping.result(PATIENCE_S)
    assert result["outcome"] == "stopped"
    assert result["warnings"] == []
    assert real.row()["status"] == "stopped"


def test_a_plan_says_that_it_waits_for_the_turn(real: Real) -> None:
    real.start()
    assert answer(real.stop(dry_run=True, after_turn_s=90.0))["plan"]["after_turn"] == {
        "waits_ms": 90_000
    }
    assert "after_turn" not in answer(real.stop(dry_run=True))["plan"]
