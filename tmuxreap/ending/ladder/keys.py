"""The first rung: the agent's own exit keys, each only where it can do no harm. Asks, and does no
I/O of its own."""

from __future__ import annotations

from collections.abc import Callable, Generator
from enum import Enum
from functools import partial

from tmuxreap.agents.profiles import Key, KeyStep, Pause, Text
from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.model import Conversation, ProcessId
from tmuxreap.ending.ladder.requests import (
    Capture,
    Draft,
    KeepDraft,
    Press,
    ReadScreen,
    Request,
    Run,
    Wait,
)
from tmuxreap.ending.plan import REPEATS, SETTLE_S, PlannedRung, fast, pauses_s

LINES_CLEARED = 8
CLEAR_S = 0.3
LOOK_S = 0.1
SAME_S = 0.3  # between two looks at one that is behind a carrier
ROUNDED_S = 1e-6
PARTIAL = "the screen showed only a part of it"
BETWEEN = "\n\n"  # several that were kept, in one answer


class _Way(Enum):
    """What came of a sequence of keys."""

    LEFT = "the agent left"
    STAYED = "it did not"
    BROKEN = "no key could be sent"
    CUT = "one could not be sent after others were"


def press_keys(run: Run, planned: PlannedRung) -> Generator[Request, object, bool]:
    assert run.profile is not None  # noqa: S101 - a plan without a profile skips the rung
    limit = None if run.policy.keys_timeout_s is None else run.clock.monotonic() + planned.wait_s
    way = _Way.BROKEN
    seen = yield from for_certain(run, (yield from read_now(ready=True)))
    if seen is not None:
        seen = yield from take_back(run, seen)
    if seen is not None and seen.setup:
        way = yield from _unanswered(run, limit, seen)
    elif seen is not None:
        seen = yield from _interrupted(run, seen, limit)
        if fast(seen, run.profile):
            way = yield from _sequence(run, run.profile.idle_keys, limit, run.profile.leave_s, seen)
            seen = None
        if way in (_Way.BROKEN, _Way.CUT):
            way = yield from _safely(run, limit, seen)
    if way is _Way.LEFT:
        run.agent_left = True
        run.conversation = yield from _captured()
    return False


def for_certain(run: Run, screen: Screen) -> Generator[Request, object, Screen | None]:
    """Behind a carrier the screen alone tells that the agent is there: two looks must agree on its
    whole state."""
    carrier = run.sight.carrier
    if carrier is None:
        return screen
    yield Wait(frozenset(), run.clock.monotonic() + SAME_S)
    again = yield from read_now()
    if again == screen and again.state is not State.UNKNOWN:
        return again
    run.unsent = f"behind {carrier.program} no state of the agent was seen twice"
    return None


def take_back(run: Run, screen: Screen) -> Generator[Request, object, Screen | None]:
    """What waits to be begun comes back into the input, and is kept: the key that ends a turn would
    begin it. The screen then; None when it does not come back: no key is sent."""
    assert run.profile is not None  # noqa: S101 - see press_keys
    yield from _keep(run, screen.draft)
    before = ""
    while screen.queued not in ("", before):
        if screen.state is State.DIALOG or not run.profile.unqueue_keys:
            break
        before = screen.queued
        if screen.draft and run.profile.clear_keys:
            screen = yield from _cleared(run, screen)
        yield from type_keys(run, run.profile.unqueue_keys)
        screen = yield from screen_when(run, partial(_has_changed, before))
        yield from _keep(run, screen.draft)
    yield from _keep(run, screen.queued)
    return None if screen.queued else screen


def _has_changed(queued: str, screen: Screen) -> bool:
    return screen.queued != queued


def _cleared(run: Run, screen: Screen) -> Generator[Request, object, Screen]:
    """The input emptied, line by line, where the keys that take prompts back need it so."""
    assert run.profile is not None  # noqa: S101 - see press_keys
    for _ in range(LINES_CLEARED):
        if not screen.draft:
            break
        yield from _keep(run, screen.draft)
        yield from type_keys(run, run.profile.clear_keys)
        screen = yield from screen_when(run, lambda seen: not seen.draft, CLEAR_S)
    return screen


def _interrupted(
    run: Run, screen: Screen, limit: float | None
) -> Generator[Request, object, Screen]:
    """A turn is ended before anything is typed, and looked at again: who leaves in the middle of
    one may leave it to a program that goes on with it."""
    assert run.profile is not None  # noqa: S101 - see press_keys
    for _ in range(REPEATS):
        late = limit is not None and run.clock.monotonic() >= limit
        if screen.state is not State.BUSY or late or not run.profile.interrupt_keys:
            break
        if not (yield from type_keys(run, run.profile.interrupt_keys)):
            break
        screen = yield from screen_when(run, lambda seen: seen.state is not State.BUSY)
        yield from _keep(run, screen.draft)
    return screen


def type_keys(run: Run, steps: tuple[KeyStep, ...]) -> Generator[Request, object, bool]:
    """False when a key could not be sent."""
    for step in steps:
        if isinstance(step, Pause):
            yield Wait(run.agent, run.clock.monotonic() + step.seconds)
        elif not (yield Press(step)):
            return False
    return True


def screen_when(
    run: Run, holds: Callable[[Screen], bool], seconds: float = SETTLE_S
) -> Generator[Request, object, Screen]:
    """The screen as soon as it is so, or as it is when the time is up."""
    until = run.clock.monotonic() + seconds
    while True:
        left = yield from _left_by(run, run.agent, LOOK_S, None)
        screen = yield from read_now()
        if left or holds(screen) or run.clock.monotonic() >= until:
            return screen


def read_now(*, ready: bool = False) -> Generator[Request, object, Screen]:
    screen = yield ReadScreen(ready=ready)
    assert isinstance(screen, Screen)  # noqa: S101 - see the request
    return screen


def _unanswered(run: Run, limit: float | None, seen: Screen) -> Generator[Request, object, _Way]:
    """What it asks before its first prompt is left without an answer, and by no other key: an
    Escape may be a "no" that it writes down."""
    assert run.profile is not None  # noqa: S101 - see press_keys
    way, pause_s = _Way.BROKEN, run.profile.leave_s / REPEATS
    for _ in range(REPEATS if run.profile.setup_keys else 0):
        way = yield from _sequence(run, run.profile.setup_keys, limit, pause_s, seen)
        if way is not _Way.STAYED:
            break
    return way


def _safely(run: Run, limit: float | None, seen: Screen | None) -> Generator[Request, object, _Way]:
    """The sequence that worked in every state, then its end again as often as that fits into the
    time to leave, which counts from the last key of the sequence."""
    assert run.profile is not None  # noqa: S101 - see press_keys
    again, leave_s = run.profile.again_keys, run.profile.leave_s
    pause_s = leave_s / (2 * REPEATS) if again else leave_s
    way = yield from _sequence(run, run.profile.safe_keys, limit, pause_s, seen)
    until = run.clock.monotonic() - pause_s + leave_s
    last = until if limit is None else min(until, limit)
    for _ in range(REPEATS if again else 0):
        fits = run.clock.monotonic() + pauses_s(again) + pause_s <= until + ROUNDED_S
        if way is not _Way.STAYED or not fits:
            break
        way = yield from _sequence(run, again, last, pause_s)
    if way in (
        _Way.STAYED,
        _Way.CUT,
    ):  # cut: of its several processes one, and the terminal, are gone first
        left = yield from _left_by(run, run.agent, until - run.clock.monotonic(), limit)
        way = _Way.LEFT if left else _Way.STAYED
    return way


def _sequence(
    run: Run,
    steps: tuple[KeyStep, ...],
    limit: float | None,
    leave_s: float,
    seen: Screen | None = None,
) -> Generator[Request, object, _Way]:
    """Key by key, no longer than the agent lives; then as long as it may take to leave. `seen`:
    just now."""
    agent, sent = run.agent, False
    for step in steps:
        if limit is not None and run.clock.monotonic() >= limit:
            return _Way.STAYED
        left = broken = False
        if isinstance(step, Pause):
            left, seen = (yield from _left_by(run, agent, step.seconds, limit)), None
        else:
            broken = not (yield from _press(run, step, seen))
            seen = None
        if broken:
            left = yield from _left_by(run, agent, 0, limit)
            return _Way.LEFT if left else _Way.CUT if sent else _Way.BROKEN
        if left:
            return _Way.LEFT
        sent = sent or not isinstance(step, Pause)
    left = yield from _left_by(run, agent, leave_s, limit)
    return _Way.LEFT if left else _Way.STAYED


def _press(run: Run, step: Key | Text, seen: Screen | None) -> Generator[Request, object, bool]:
    """A key only where it can do no harm: the screen is read before each one."""
    if run.sight.carrier is not None:
        seen = seen or (yield from read_now())
        if seen.state is State.UNKNOWN:
            return False
    if isinstance(step, Key):
        screen = seen or (yield from read_now())
        ours = _is_ours(run, screen)
        if step.name == "Enter" and not ours:
            return False
        if not ours:
            now = yield from take_back(run, screen)
            if now is None:
                return False
            _note_lost(run, step, now)
    sent = yield Press(step)
    return bool(sent)


def _note_lost(run: Run, key: Key, screen: Screen) -> None:
    """What the first key clears, and could not be kept before it."""
    if run.cleared or key.name == "Escape":
        return
    run.cleared = True
    if screen.partial:
        run.draft_lost = PARTIAL
    elif screen.state is State.UNKNOWN and not screen.blank:
        run.draft_lost = "its screen could not be read"


def keep_shown(run: Run) -> Generator[Request, object, None]:
    """What stood on the screen before the first rung, of one that gets no keys."""
    screen = run.plan.screen
    if screen is None or run.cleared:
        return
    yield from _keep(run, screen.draft)
    yield from _keep(run, screen.queued)
    if screen.partial:
        run.draft_lost = PARTIAL


def _keep(run: Run, text: str) -> Generator[Request, object, None]:
    """Each text once; one that grew replaces what it grew from."""
    if not text or text in run.kept:
        return
    event = yield KeepDraft(text)
    run.kept = [*(one for one in run.kept if one not in text), text]
    run.draft = Draft(BETWEEN.join(run.kept), event if isinstance(event, int) else None)


def _is_ours(run: Run, screen: Screen) -> bool:
    """Enter submits what stands there: it must be what we typed and nothing else."""
    assert run.profile is not None  # noqa: S101 - see press_keys
    ours = "".join(step.text for step in run.profile.idle_keys if isinstance(step, Text))
    return screen.state is State.DRAFT and screen.draft.strip() == ours


def _left_by(
    run: Run, agent: frozenset[ProcessId], seconds: float, limit: float | None
) -> Generator[Request, object, bool]:
    until = run.clock.monotonic() + seconds
    remaining = yield Wait(agent, until if limit is None else min(until, limit))
    return not remaining


def _captured() -> Generator[Request, object, Conversation]:
    conversation = yield Capture()
    assert isinstance(conversation, Conversation)  # noqa: S101 - see the request
    return conversation
