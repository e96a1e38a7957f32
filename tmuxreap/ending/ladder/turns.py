"""`--after-turn`: lets the agent finish its turn before the first rung. Never does I/O itself.

Our hooks see the open intent and keep the agent from starting another turn; without hooks the
idle screen is awaited. A dialog is part of the turn: the user's answer is awaited, too."""

from __future__ import annotations

from tmuxreap.agents.screens import Screen, State
from tmuxreap.ending.ending import Ending
from tmuxreap.ending.ladder.keys import take_back_queued
from tmuxreap.ending.ladder.requests import (
    Capture,
    Look,
    ReadScreen,
    ReadTurn,
    Recall,
    Steps,
    Wait,
    ask,
)

LOOK_S = 0.15
IDLE_LOOKS = 2  # between two steps of a turn a screen may look idle for a moment
BUSY_LOOKS = 14  # two seconds, if hooks say "working": a cancelled turn calls no hook
READY = frozenset({State.IDLE, State.DRAFT})
RESTING = frozenset({"idle", "ended"})


def finish_turn(ending: Ending, wait_s: float) -> Steps[bool]:
    """Wait for the end of the turn, then look at the session anew: the plan may be old by now.
    Return False when another process took the ending over."""
    until, agent, resting, needed = ending.now + wait_s, ending.awaited, 0, IDLE_LOOKS
    while resting < needed:
        reported = yield from ask(ReadTurn())
        if reported is None:
            return False
        screen = yield from ask(ReadScreen())
        if screen.queued and ending.sight.carrier is None:  # else it would start another turn
            yield from take_back_queued(ending, screen)
        resting = resting + 1 if _rests(screen, reported) else 0
        needed = IDLE_LOOKS if reported in (*RESTING, "") else BUSY_LOOKS
        now = ending.now
        if now >= until:
            ending.turn_cut = resting == 0
            break
        if not (yield from ask(Wait(agent, min(until, now + LOOK_S)))) and agent:
            break
    yield from _look_again(ending)
    return True


def _rests(screen: Screen, reported: str) -> bool:
    """Tell whether the agent rests. The screen decides, since a cancelled turn calls no hook; the
    hooks decide when the screen is unknown."""
    if screen.state is State.UNKNOWN:
        return reported in RESTING
    return screen.state in READY


def _look_again(ending: Ending) -> Steps[None]:
    ending.sight = yield from ask(Look())
    ending.agent_left = ending.sight.agent_gone
    ending.known = yield from ask(Capture() if ending.agent_left else Recall())
    ending.looked_at = ending.now
