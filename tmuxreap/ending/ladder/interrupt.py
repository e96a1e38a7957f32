"""`interrupt`: ends the turn that an agent is in, and leaves it there. Asks, and does no I/O of its
own.

Its keys pass the same gates as those of an ending. None goes to a screen that was not read just
before, to one that asks before its first prompt, or past a queued prompt that does not come back
into the input."""

from __future__ import annotations

from collections.abc import Generator

from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.model import Conversation, Outcome
from tmuxreap.core.ports import Clock
from tmuxreap.ending.ladder.keys import for_certain, read_now, screen_when, take_back, type_keys
from tmuxreap.ending.ladder.requests import Ended, Request, Run, Wait
from tmuxreap.ending.plan import REPEATS, Plan, Policy
from tmuxreap.sessions.sight import Sight

AGAIN_S = 0.15  # between two steps of a turn a screen may seem idle for a moment
LOOKS = 5
RESTING = frozenset({State.IDLE, State.DRAFT})
UNDER_WAY = frozenset({State.BUSY, State.DIALOG})


def end_turn(
    plan: Plan,
    profile: Profile | None,
    policy: Policy,
    clock: Clock,
    sight: Sight,
    conversation: Conversation,
    *,
    looked_at: float | None = None,
) -> Generator[Request, object, Ended]:
    """From the first look to the state that proves it. `looked_at`: as of every ladder; here each
    look is fresh."""
    run = Run(plan, profile, policy, clock, sight, conversation)
    screen = yield from _settled(run)
    if screen.state in RESTING:
        return _ended(run, Outcome.ALREADY_IDLE)
    if (reason := why_not(screen)) is not None:
        return _ended(run, Outcome.REFUSED, refused(plan.name, reason))
    seen = yield from for_certain(run, (yield from read_now(ready=True)))
    seen = (yield from take_back(run, seen)) if seen is not None else None
    if seen is None:
        reason = run.unsent or "a prompt is queued, and could not be taken back"
        return _ended(run, Outcome.REFUSED, refused(plan.name, reason))
    sent = yield from _pressed(run, seen)
    return (yield from _confirmed(run, sent))


def why_not(screen: Screen | None) -> str | None:
    """Why no key may be sent to what this screen shows."""
    if screen is None or screen.state is State.UNKNOWN:
        return "its screen shows no state that is known"
    if screen.setup:
        return "it asks something before its first prompt, and any key could be the answer"
    return None


def refused(name: str, reason: str) -> Failure:
    hint = f"see what it shows: {command('show', name)}"
    return Failure(Code.NOT_INTERRUPTIBLE, f"could not interrupt {name}: {reason}", hint)


def _pressed(run: Run, screen: Screen) -> Generator[Request, object, bool]:
    """Whether any key was sent. A dialog that is closed may show a turn that goes on."""
    assert run.profile is not None  # noqa: S101 - one without is refused before
    sent = False
    for _ in range(REPEATS):
        if screen.state not in UNDER_WAY or screen.setup:
            break
        if not (yield from type_keys(run, run.profile.turn_keys)):
            break
        sent = True
        screen = yield from screen_when(run, lambda seen: seen.state in RESTING)
    return sent


def _confirmed(run: Run, sent: bool) -> Generator[Request, object, Ended]:
    screen = yield from _settled(run)
    if run.agent and not (yield Wait(run.agent, run.clock.monotonic())):
        reason = f"could not interrupt {run.plan.name}: its agent has left"
        return _ended(
            run, Outcome.FAILED, Failure(Code.GONE, reason, "settle its row: tmuxreap reconcile")
        )
    if screen.state in RESTING:
        return _ended(run, Outcome.INTERRUPTED if sent else Outcome.ALREADY_IDLE)
    if not sent:
        return _ended(run, Outcome.REFUSED, refused(run.plan.name, "its pane took no key"))
    reason = f"its key was sent, and its screen is {screen.state.value} still"
    return _ended(run, Outcome.FAILED, refused(run.plan.name, reason))


def _settled(run: Run) -> Generator[Request, object, Screen]:
    """What is under way is so at once; anything else is seen twice."""
    screen = yield from read_now()
    for _ in range(LOOKS):
        if screen.state in UNDER_WAY and not screen.setup:
            break
        yield Wait(run.agent, run.clock.monotonic() + AGAIN_S)
        before, screen = screen, (yield from read_now())
        if screen.state is before.state:
            break
    return screen


def _ended(run: Run, outcome: Outcome, trouble: Failure | None = None) -> Ended:
    return Ended(
        outcome=outcome,
        stopped_by=None,
        swept_by=None,
        rungs=(),
        conversation=run.conversation,
        draft=run.draft,
        swept=(),
        survivors=(),
        denied=False,
        trouble=trouble,
    )
