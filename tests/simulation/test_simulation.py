"""The simulation holds for a while, repeats itself, and finds what is broken on purpose."""

from __future__ import annotations

import time
from random import SystemRandom

import pytest

from tests.simulation.history import draw, play
from tests.simulation.shrink import failure_of, kind_of, shrink
from tmuxreap.proof import see

# Each broke a promise once: of the program, or of a simulation that knew too little.
KEPT = (42, 141, 262, 373, 412, 936, 1155, 1464, 1922, 1938, 2085, 2170, 3373, 4094, 4541, 5248)
FRESH_S = 20.0


@pytest.mark.parametrize("seed", KEPT)
def test_what_was_found_once_holds(seed: int) -> None:
    play(draw(seed))


def test_fresh_histories_keep_all_promises() -> None:
    first = SystemRandom().randrange(1_000, 1_000_000_000)
    until, seed = time.monotonic() + FRESH_S, first
    while time.monotonic() < until:
        failure = failure_of(draw(seed))
        assert failure is None, f"{failure}\nshrink it: scripts/simulate {seed}"
        seed += 1


def test_a_seed_is_one_history() -> None:
    assert draw(7) == draw(7)
    assert draw(7) != draw(8)


def test_what_is_broken_on_purpose_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Survivors are told as nobody's: sessions are recorded as ended while they live."""
    monkeypatch.setattr(see, "unproven_of", lambda *_: ())
    found = ((seed, failure_of(draw(seed))) for seed in range(1, 2_000))
    seed, failure = next((seed, failure) for seed, failure in found if failure is not None)
    steps = shrink(draw(seed), failure)
    assert len(steps) < len(draw(seed))
    again = failure_of(steps)
    assert again is not None
    assert kind_of(again) == kind_of(failure)
