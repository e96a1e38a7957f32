"""`--after-turn`: what is awaited before the first rung, and when the wait ends."""

from __future__ import annotations

from typing import Any

from tests.ending.ladder.test_climb import ALONE, IDLE, QUEUED, an_ending
from tests.ending.test_plan import AGENT, SIGHT
from tests.fakes import FakeClock
from tmuxreap.agents.conversations.find import Clues
from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.results import Conversation
from tmuxreap.ending.ending_state import EndingState
from tmuxreap.ending.ladder.requests import (
    Capture,
    KeepDraft,
    Look,
    Press,
    ReadScreen,
    ReadTurn,
    Recall,
    Request,
    Wait,
)
from tmuxreap.ending.ladder.turns import BUSY_LOOKS, finish_turn
from tmuxreap.sessions.conversation import Known

BUSY, UNKNOWN = Screen(State.BUSY), Screen(State.UNKNOWN)
KNOWN = Known(Conversation("id", "hook", None, exists=True), Clues())


def finished(
    screens: list[Screen],
    heard: str = "",
    *,
    ours: bool = True,
    leaves: bool = False,
    wait_s: float = 5.0,
) -> tuple[EndingState, list[Request[Any]], bool]:
    """Run it; the last screen repeats."""
    clock = FakeClock()
    run = an_ending()
    steps = finish_turn(run, wait_s)
    asked: list[Request[Any]] = []
    answer: object = None
    while True:
        run.now = clock.monotonic()
        try:
            request = steps.send(answer)
        except StopIteration as end:
            return run, asked, bool(end.value)
        asked.append(request)
        assert len(asked) < 1000
        if isinstance(request, ReadTurn):
            answer = heard if ours else None
        elif isinstance(request, ReadScreen):
            answer = screens.pop(0) if len(screens) > 1 else screens[0]
        elif isinstance(request, Wait):
            answer = frozenset() if leaves else request.processes
            clock.move_to(request.until)
        elif isinstance(request, Look):
            answer = ALONE if leaves else SIGHT
        else:
            answer = KNOWN if isinstance(request, Capture | Recall) else 1


def test_two_idle_looks_in_a_row_are_the_end_of_a_turn() -> None:
    run, asked, ours = finished([BUSY, IDLE, BUSY, IDLE, IDLE])
    assert sum(isinstance(request, ReadScreen) for request in asked) == 5
    assert (ours, run.turn_cut, run.known) == (True, False, KNOWN)
    assert isinstance(asked[-1], Recall)


def test_a_turn_that_continues_is_cut_when_its_time_is_up() -> None:
    run, asked, ours = finished([BUSY], wait_s=1.0)
    assert (ours, run.turn_cut) == (True, True)
    until = max(request.until for request in asked if isinstance(request, Wait))
    assert until == 1.0 + FakeClock().monotonic()


def test_hooks_are_believed_where_the_screen_says_nothing() -> None:
    assert not finished([UNKNOWN], "idle")[0].turn_cut
    assert finished([UNKNOWN], "working", wait_s=1.0)[0].turn_cut
    assert finished([BUSY], "idle", wait_s=1.0)[0].turn_cut


def test_an_agent_that_reports_work_is_watched_longer() -> None:
    """Between a dialog and its tool a busy machine may briefly draw an empty prompt."""
    dozes = [IDLE] * (BUSY_LOOKS - 1)
    run, asked, _ = finished([*dozes, BUSY, *dozes, IDLE], "working", wait_s=60.0)
    assert sum(isinstance(request, ReadScreen) for request in asked) == 2 * BUSY_LOOKS
    assert not run.turn_cut


def test_an_ending_that_another_took_over_is_left_at_once() -> None:
    _, asked, ours = finished([BUSY], ours=False)
    assert (asked, ours) == ([ReadTurn()], False)


def test_an_agent_that_exits_meanwhile_is_captured() -> None:
    run, asked, _ = finished([BUSY], leaves=True)
    assert run.agent_left
    assert isinstance(asked[-1], Capture)
    assert [request.processes for request in asked if isinstance(request, Wait)] == [
        frozenset({AGENT.id})
    ]


def test_a_queued_prompt_is_kept_and_never_sent() -> None:
    _, asked, _ = finished([QUEUED, BUSY], wait_s=2.0)
    assert KeepDraft("run it") in asked
    assert not [
        request for request in asked if isinstance(request, Press) and request.step == "Enter"
    ]
