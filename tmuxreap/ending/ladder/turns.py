"""`--after-turn`: before the first rung the agent may finish what it is in. Asks, and does no I/O
of its own.

An agent with our hooks hears of it from them, by the open intent, and starts nothing else; of any
other its idle state is awaited. A person's answer is awaited, too: a dialog is part of the turn."""

from __future__ import annotations

from collections.abc import Generator

from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.model import Conversation, Live
from tmuxreap.ending.ladder.keys import take_back
from tmuxreap.ending.ladder.requests import (
    Capture,
    Hear,
    Heard,
    Look,
    ReadScreen,
    Recall,
    Request,
    Run,
    Wait,
)
from tmuxreap.sessions.sight import Sight

LOOK_S = 0.15
STILL_LOOKS = 2  # between two steps of a turn a screen may seem idle for a moment
READY = frozenset({State.IDLE, State.DRAFT})
RESTING = frozenset({"idle", "ended"})


def finish_turn(run: Run, wait_s: float) -> Generator[Request, object, bool]:
    """False when the ending is no longer ours. What is known of the agent is looked at again: it
    may be long ago."""
    until = run.clock.monotonic() + wait_s
    agent = run.agent
    still = 0
    while still < STILL_LOOKS:
        heard = yield Hear()
        assert isinstance(heard, Heard)  # noqa: S101 - see the request
        if not heard.ours:
            return False
        screen = yield ReadScreen()
        assert isinstance(screen, Screen)  # noqa: S101 - see the request
        if screen.queued and run.sight.carrier is None:  # it may end its turn, and begin no other
            yield from take_back(run, screen)
        still = still + 1 if _rests(screen, heard) else 0
        now = run.clock.monotonic()
        if now >= until:
            run.turn_cut = still == 0
            break
        if not (yield Wait(agent, min(until, now + LOOK_S))) and agent:
            break
    yield from _anew(run)
    return True


def _rests(screen: Screen, heard: Heard) -> bool:
    """The screen is right also where a turn was broken off and no hook said so; where it tells
    nothing, hooks may."""
    if screen.state is State.UNKNOWN:
        return heard.state in RESTING
    return screen.state in READY


def _anew(run: Run) -> Generator[Request, object, None]:
    sight = yield Look()
    assert isinstance(sight, Sight)  # noqa: S101 - see the request
    run.sight = sight
    run.agent_left = sight.live is not Live.ALIVE and not sight.agent
    conversation = yield Capture() if run.agent_left else Recall()
    assert isinstance(conversation, Conversation)  # noqa: S101 - see the requests
    run.conversation = conversation
