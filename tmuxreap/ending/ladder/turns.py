"""`--after-turn`: before the first rung the agent may finish what it is in. Asks, and does no I/O
of its own.

An agent with our hooks hears of it from them, by the open intent, and starts nothing else; of any
other its idle state is awaited. A person's answer is awaited, too: a dialog is part of the turn."""

from __future__ import annotations

from tmuxreap.agents.screens import Screen, State
from tmuxreap.ending.ending import Ending
from tmuxreap.ending.ladder.keys import take_back
from tmuxreap.ending.ladder.requests import (
    Capture,
    Hear,
    Heard,
    Look,
    ReadScreen,
    Recall,
    Steps,
    Wait,
    ask,
)

LOOK_S = 0.15
STILL_LOOKS = 2  # between two steps of a turn a screen may seem idle for a moment
TOLD_LOOKS = 14  # of one that says that it works: two seconds, as its turn may have been broken off
READY = frozenset({State.IDLE, State.DRAFT})
RESTING = frozenset({"idle", "ended"})


def finish_turn(ending: Ending, wait_s: float) -> Steps[bool]:
    """False when the ending is no longer ours. What is known of the agent is looked at again: it
    may be long ago."""
    until, agent, still, enough = ending.now + wait_s, ending.awaited, 0, STILL_LOOKS
    while still < enough:
        heard = yield from ask(Hear())
        if not heard.ours:
            return False
        screen = yield from ask(ReadScreen())
        if (
            screen.queued and ending.sight.carrier is None
        ):  # it may end its turn, and begin no other
            yield from take_back(ending, screen)
        still = still + 1 if _rests(screen, heard) else 0
        enough = STILL_LOOKS if heard.state in (*RESTING, "") else TOLD_LOOKS
        now = ending.now
        if now >= until:
            ending.turn_cut = still == 0
            break
        if not (yield from ask(Wait(agent, min(until, now + LOOK_S)))) and agent:
            break
    yield from _anew(ending)
    return True


def _rests(screen: Screen, heard: Heard) -> bool:
    """The screen is right also where a turn was broken off and no hook said so; where it tells
    nothing, hooks may."""
    if screen.state is State.UNKNOWN:
        return heard.state in RESTING
    return screen.state in READY


def _anew(ending: Ending) -> Steps[None]:
    ending.sight = yield from ask(Look())
    ending.agent_left = ending.sight.agent_gone
    ending.known = yield from ask(Capture() if ending.agent_left else Recall())
    ending.looked_at = ending.now
