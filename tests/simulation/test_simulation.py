"""The simulation holds for a while, repeats itself, and finds what is broken on purpose."""

from __future__ import annotations

import subprocess
import time
from random import SystemRandom
from typing import Any

import pytest

from tests.simulation.history import draw, play
from tests.simulation.kept import HISTORIES
from tests.simulation.reverts import REVERTS, TOP
from tests.simulation.shrink import failure_of, shrink
from tmuxreap.core.model import Row
from tmuxreap.ending.ladder import execute
from tmuxreap.proof import see
from tmuxreap.proof.sight import Past, Sight

FRESH_S = 600.0


FIXED = range(1, 101)


@pytest.mark.parametrize("history", HISTORIES)
def test_a_history_that_failed_once_holds(history: str) -> None:
    play(HISTORIES[history])


def test_fixed_histories_keep_all_promises() -> None:
    assert [failure for seed in FIXED if (failure := failure_of(draw(seed)))] == []


@pytest.mark.long
@pytest.mark.only_long
def test_fresh_histories_keep_all_promises() -> None:
    first = SystemRandom().randrange(1_000, 1_000_000_000)
    until, seed = time.monotonic() + FRESH_S, first
    while time.monotonic() < until:
        failure = failure_of(draw(seed))
        assert failure is None, f"{failure}\nshrink it: scripts/simulate {seed}"
        seed += 1


def test_a_seed_always_gives_the_same_history() -> None:
    assert draw(7) == draw(7)
    assert draw(7) != draw(8)


def test_a_defect_made_on_purpose_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Survivors are nobody's: the session is recorded as ended while its agent lives."""
    monkeypatch.setattr(see, "unproven_of", lambda *_: ())
    needed = HISTORIES["an agent outlives a respawn, and its pane moves"]
    quiet = ("time", 0.1)
    steps = [quiet, *(one for step in needed for one in (step, quiet, quiet))]
    failure = failure_of(steps)
    assert failure is not None
    assert "promise 1" in failure
    assert shrink(steps, failure) == needed


def test_a_kill_that_goes_on_to_a_session_begun_meanwhile_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Later looks go by the name, and take another session of it for the one that was killed."""
    by_identity = see.see_again

    def see_again(row: Row, profile: Any, spares: Any, world: Any, past: Past) -> Sight:
        assert past.first is not None
        socket = past.first.socket
        if world.session_named(world.servers[socket], row.name) is None:
            return by_identity(row, profile, spares, world, past)
        return see.see(Row(row.name, agent=row.agent), socket, profile, spares, world, Past())

    monkeypatch.setattr(execute, "see_again", see_again)
    failure = failure_of(HISTORIES["a name is started anew while its kill waits for a child"])
    assert failure is not None
    assert "which began when it had struck already" in failure


def test_each_known_repair_can_be_reverted() -> None:
    """By `scripts/reverts`: its words stand in the package."""
    package = TOP / "tmuxreap"
    edits = [(name, *edit) for name, every in REVERTS.items() for edit in every]
    gone = [name for name, path, now, _ in edits if now not in (package / path).read_text()]
    assert gone == []


def test_no_real_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *words, **_: started.append(words))
    play(HISTORIES["an agent without tmux is resumed or started again"])
    assert started == []
