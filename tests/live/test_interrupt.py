"""`interrupt` on real sessions: the turn ends, and nothing else does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.real import Real, answer
from tmuxreap.commands import interrupt
from tmuxreap.commands.interrupt import InterruptRequest

pytestmark = pytest.mark.live


def interrupted(real: Real) -> dict[str, Any]:
    with real.app() as app:
        return answer(interrupt.run(app, InterruptRequest(("acme",))))


def test_a_turn_ends_and_what_was_queued_stands_in_the_input(real: Real) -> None:
    real.start("acme", "--state", "busy")
    real.submit("run it")
    pid, before = real.pid(), real.registry.read_bytes()
    one = interrupted(real)
    assert (one["outcome"], one["state"], one["error"]) == ("interrupted", "idle", None)
    real.shows("acme", "> run it")
    assert "working" not in real.screen()
    assert (real.pid(), real.registry.read_bytes()) == (pid, before)
    assert ("user", "run it") not in real.said()
    assert interrupted(real)["outcome"] == "already_idle"
    assert len(real.events("interrupted")) == 1


def test_a_dialog_is_closed(real: Real) -> None:
    real.start("acme")
    real.submit("/ask")
    real.shows("acme", "Allow the tool")
    assert interrupted(real)["outcome"] == "interrupted"
    assert ("tool", "approved") not in real.said()
