"""How a ladder asks, and how its rungs are told."""

from __future__ import annotations

import pytest

from tmuxreap.ending.ladder.requests import Checkpoint, ask
from tmuxreap.ending.plan import Rung
from tmuxreap.ending.results import RungReport


def test_a_rung_is_told_in_milliseconds() -> None:
    assert RungReport(Rung.KEYS, 0.2504, enough=True).as_json() == {
        "name": "keys",
        "waited_ms": 250,
        "enough": True,
        "skipped": None,
    }
    assert RungReport(Rung.KILL, skipped="--no-force").as_json()["skipped"] == "--no-force"


def test_who_asks_is_told_what_was_answered() -> None:
    asking = ask(Checkpoint(Rung.KEYS))
    assert next(asking) == Checkpoint(Rung.KEYS)
    with pytest.raises(StopIteration) as told:
        asking.send(False)
    assert told.value.value is False
