"""The first rung: the agent's own exit keys, each sent only where it can do no harm. Never does
I/O itself."""

from __future__ import annotations

from enum import Enum
from functools import partial

from tmuxreap.agents.profiles import Key, KeyStep, Pause, Text
from tmuxreap.agents.screens import Screen, State
from tmuxreap.ending.ending import Ending
from tmuxreap.ending.ladder.requests import (
    PARTIAL,
    STASHED,
    Capture,
    Press,
    ReadScreen,
    Steps,
    Wait,
    ask,
    keep,
    left_by,
    screen_when,
    settled,
    type_keys,
)
from tmuxreap.ending.plan import REPEATS, PlannedRung, fast, pauses_s

LINES_CLEARED = 8
CLEAR_S = 0.3
SAME_S = 0.3  # between two looks at an agent behind a carrier
ROUNDED_S = 1e-6
GOES_ON = frozenset({State.BUSY, State.UNKNOWN})


class _Way(Enum):
    """The result of a sequence of keys."""

    LEFT = "the agent left"
    STAYED = "it did not"
    BROKEN = "no key could be sent"
    CUT = "one could not be sent after others were"


def press_keys(ending: Ending, planned: PlannedRung) -> Steps[bool]:
    limit = None if ending.policy.keys_timeout_s is None else ending.now + planned.wait_s
    way = _Way.BROKEN
    seen = yield from for_certain(ending, (yield from at_first(ending)))
    if seen is not None:
        seen = yield from take_back(ending, seen)
    if seen is not None and seen.stashed:
        seen = yield from _unstashed(ending, seen)
    if seen is not None and seen.setup:
        way = yield from _unanswered(ending, limit, seen)
    elif seen is not None:
        seen = yield from _interrupted(ending, seen, limit)
        if seen.partial:
            from tmuxreap.ending.ladder.handing_over import whole_of  # late: rarely needed

            seen = yield from whole_of(ending, seen)
        if fast(seen, ending.keys) and ending.handed is None:
            way = yield from _sequence(
                ending, ending.keys.idle_keys, limit, ending.keys.leave_s, seen
            )
            seen = None
        if way in (_Way.BROKEN, _Way.CUT):
            way = yield from _safely(ending, limit, seen)
        yield from _in_an_editor(ending)
    if way is _Way.LEFT:
        ending.agent_left = True
        ending.known = yield from ask(Capture())
    return False


def at_first(ending: Ending) -> Steps[Screen]:
    """Make the pane ready for keys and read its screen, which must be as planned or seen twice."""
    screen = yield from ask(ReadScreen(ready=True))
    return (yield from settled(ending, screen, ending.plan.screen))


def for_certain(ending: Ending, screen: Screen) -> Steps[Screen | None]:
    """Confirm the screen of an agent behind a carrier, where it is the only evidence of the agent:
    two looks must agree. Return None when they do not."""
    carrier = ending.sight.carrier
    if carrier is None:
        return screen
    yield from ask(Wait(frozenset(), ending.now + SAME_S))
    again = yield from ask(ReadScreen())
    if again == screen and again.state is not State.UNKNOWN:
        return again
    ending.unsent = f"behind {carrier.program} no state of the agent was seen twice"
    return None


def take_back(ending: Ending, screen: Screen) -> Steps[Screen | None]:
    """Take queued prompts back into the input and keep them: the key that ends a turn would start
    the next one. Return the new screen, or None when they stay queued: then no key is sent."""
    yield from keep(ending, screen.draft)
    before = ""
    while screen.queued not in ("", before):
        if screen.state is State.DIALOG or not ending.keys.unqueue_keys:
            break
        before = screen.queued
        if screen.draft and ending.keys.clear_keys:
            screen = yield from _cleared(ending, screen)
        yield from type_keys(ending, ending.keys.unqueue_keys)
        changed = partial(_has_changed, before)
        now = yield from screen_when(ending, changed, ending.keys.leave_s)
        screen = yield from settled(ending, now, screen)
        yield from keep(ending, screen.draft)
    yield from keep(ending, screen.queued)
    return None if screen.queued else screen


def _has_changed(queued: str, screen: Screen) -> bool:
    return screen.queued != queued


def _cleared(ending: Ending, screen: Screen) -> Steps[Screen]:
    """Clear the input line by line: some agents take prompts back only into an empty input."""
    for _ in range(LINES_CLEARED):
        if not screen.draft:
            break
        yield from keep(ending, screen.draft)
        yield from type_keys(ending, ending.keys.clear_keys)
        screen = yield from screen_when(ending, lambda seen: not seen.draft, CLEAR_S)
    return screen


def _unstashed(ending: Ending, screen: Screen) -> Steps[Screen]:
    """Bring a stashed draft back into the empty input and keep it."""
    if screen.state is State.IDLE and ending.keys.unstash_keys:
        yield from type_keys(ending, ending.keys.unstash_keys)
        screen = yield from screen_when(ending, lambda seen: not seen.stashed)
        yield from keep(ending, screen.draft)
    if screen.stashed:
        ending.draft_lost = STASHED
    return screen


def _interrupted(ending: Ending, screen: Screen, limit: float | None) -> Steps[Screen]:
    """End the turn before anything is typed: an agent that exits in the middle of a turn may leave
    a program behind that continues it."""
    for _ in range(REPEATS):
        late = limit is not None and ending.now >= limit
        if screen.state is not State.BUSY or late or not ending.keys.interrupt_keys:
            break
        if not (yield from type_keys(ending, ending.keys.interrupt_keys)):
            break
        screen = yield from screen_when(ending, lambda seen: seen.state not in GOES_ON)
        yield from keep(ending, screen.draft)
    return screen


def _unanswered(ending: Ending, limit: float | None, seen: Screen) -> Steps[_Way]:
    """Leave a setup dialog unanswered, by its own keys only: the agent may store an Escape as a
    "no"."""
    way, pause_s = _Way.BROKEN, ending.keys.leave_s / REPEATS
    for _ in range(REPEATS if ending.keys.setup_keys else 0):
        way = yield from _sequence(ending, ending.keys.setup_keys, limit, pause_s, seen)
        if way is not _Way.STAYED:
            break
    return way


def _safely(ending: Ending, limit: float | None, seen: Screen | None) -> Steps[_Way]:
    """Send the sequence that works in every state, then repeat its last keys as often as fits into
    the time to exit, which counts from the last key of the sequence."""
    again, leave_s = ending.keys.again_keys, ending.keys.leave_s
    pause_s = leave_s / (2 * REPEATS) if again else leave_s
    way = yield from _sequence(ending, ending.keys.safe_keys, limit, pause_s, seen)
    until = ending.now - pause_s + leave_s
    last = until if limit is None else min(until, limit)
    for _ in range(REPEATS if again else 0):
        fits = ending.now + pauses_s(again) + pause_s <= until + ROUNDED_S
        if way is not _Way.STAYED or not fits:
            break
        way = yield from _sequence(ending, again, last, pause_s)
    # After a cut the agent may be exiting: the terminal goes before the last of its processes.
    if way in (_Way.STAYED, _Way.CUT):
        left = yield from left_by(ending, ending.awaited, until - ending.now, limit)
        way = _Way.LEFT if left else _Way.STAYED
    return way


def _sequence(
    ending: Ending,
    steps: tuple[KeyStep, ...],
    limit: float | None,
    leave_s: float,
    seen: Screen | None = None,
) -> Steps[_Way]:
    """Send key after key while the agent lives, then wait for its exit. `seen`: the screen as just
    read."""
    agent, sent = ending.awaited, False
    for step in steps:
        if limit is not None and ending.now >= limit:
            return _Way.STAYED
        left = broken = False
        if isinstance(step, Pause):
            left, seen = (yield from left_by(ending, agent, step.seconds, limit)), None
        else:
            broken = not (yield from _press(ending, step, seen))
            seen = None
        if broken:
            left = yield from left_by(ending, agent, 0, limit)
            if left:
                return _Way.LEFT
            return _Way.CUT if sent else _Way.BROKEN
        if left:
            return _Way.LEFT
        sent = sent or not isinstance(step, Pause)
    left = yield from left_by(ending, agent, leave_s, limit)
    return _Way.LEFT if left else _Way.STAYED


def _press(ending: Ending, step: Key | Text, seen: Screen | None) -> Steps[bool]:
    """Send a key or text only where it can do no harm: the screen is read before each key."""
    if (yield from _in_an_editor(ending)):
        seen = None
    if ending.sight.carrier is not None:
        seen = seen or (yield from ask(ReadScreen()))
        if seen.state is State.UNKNOWN:
            return False
    if isinstance(step, Key):
        screen = seen or (yield from ask(ReadScreen()))
        ours = _is_ours(ending, screen)
        if step.name == "Enter" and not ours:
            return False
        if not ours:
            if _clears(ending, step) and screen.state is State.UNKNOWN:
                screen = yield from settled(ending, screen, ending.plan.screen)
            now = yield from take_back(ending, screen)
            if now is None:
                return False
            _note_lost(ending, step, now)
    return (yield from ask(Press(step)))


def _in_an_editor(ending: Ending) -> Steps[bool]:
    """Tell whether an editor that opened late was in front; it is ended now."""
    if ending.handed is None:
        return False
    from tmuxreap.ending.ladder.handing_over import come_late

    return (yield from come_late(ending))


def _clears(ending: Ending, key: Key) -> bool:
    """Tell whether this key is the first that may clear a draft."""
    return not ending.cleared and key.name != "Escape"


def _note_lost(ending: Ending, key: Key, screen: Screen) -> None:
    """Note a draft that this key destroys and that could not be kept before."""
    if not _clears(ending, key):
        return
    ending.cleared = True
    if screen.partial:
        ending.draft_lost = PARTIAL
    elif screen.state is State.UNKNOWN and not screen.blank:
        ending.draft_lost = "its screen could not be read"


def keep_shown(ending: Ending) -> Steps[None]:
    """Keep the drafts of the planned screen, for an ending without keys."""
    screen = ending.plan.screen
    if screen is None or ending.cleared:
        return
    yield from keep(ending, screen.draft)
    yield from keep(ending, screen.queued)
    if screen.partial or screen.stashed:
        ending.draft_lost = PARTIAL if screen.partial else STASHED


def _is_ours(ending: Ending, screen: Screen) -> bool:
    """Tell whether the input holds exactly the text that we typed: Enter would submit it."""
    typed = "".join(step.text for step in ending.keys.idle_keys if isinstance(step, Text))
    return screen.state is State.DRAFT and screen.draft.strip() == typed
