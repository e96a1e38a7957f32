"""What a ladder has seen so far, and how its rungs are told."""

from __future__ import annotations

from tests.ending.test_plan import DEMO, OTHER, SIGHT, STOP
from tests.fakes import FakeClock
from tmuxreap.agents.conversations.find import NONE
from tmuxreap.core.values import replace
from tmuxreap.ending.ladder.requests import Run, RungReport
from tmuxreap.ending.plan import Rung, make_plan


def test_a_rung_is_told_in_milliseconds() -> None:
    assert RungReport(Rung.KEYS, 0.2504, enough=True).as_json() == {
        "name": "keys",
        "waited_ms": 250,
        "enough": True,
        "skipped": None,
    }
    assert RungReport(Rung.KILL, skipped="--no-force").as_json()["skipped"] == "--no-force"


def test_panes_of_others_bar_the_way_until_something_was_ended() -> None:
    plan = make_plan("acme", "demo", SIGHT, None, DEMO, STOP)
    run = Run(plan, DEMO, STOP, FakeClock(), SIGHT, NONE)
    assert not run.barred
    run.sight = replace(SIGHT, foreign=(OTHER,))
    assert run.barred
    run.touched = True
    assert not run.barred


def test_two_runs_share_nothing() -> None:
    plan = make_plan("acme", "demo", SIGHT, None, DEMO, STOP)
    one, other = (Run(plan, DEMO, STOP, FakeClock(), SIGHT, NONE) for _ in range(2))
    one.kept.append("draft")
    one.rungs.append(RungReport(Rung.KEYS))
    assert (other.kept, other.rungs, other.swept) == ([], [], {})
