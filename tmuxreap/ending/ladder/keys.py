"""The first rung: the agent's own exit keys, each sent only where it can do no harm, after the
draft is saved. Never does I/O itself."""

from __future__ import annotations

import re
import signal
from enum import Enum
from functools import partial

from tmuxreap.agents.profiles import Key, KeyStep, Pause, Text
from tmuxreap.agents.screens import Screen, State
from tmuxreap.ending.ending_state import UNREAD, EndingState
from tmuxreap.ending.ladder.requests import (
    LOOK_S,
    PARTIAL,
    STASHED,
    Capture,
    MayEdit,
    Press,
    ReadEditor,
    ReadScreen,
    Signal,
    Steps,
    Wait,
    ask,
    keep_draft,
    settled_screen,
    type_keys,
    wait_for_exit,
    wait_for_screen,
)
from tmuxreap.ending.plan import REPEATS, SETTLE_S, PlannedRung, exits_quickly, pauses_s
from tmuxreap.sessions.editors import Opened

ESCAPE = Key("Escape")
LINES_CLEARED = 8
CLEAR_S = 0.3
SAME_S = 0.3  # between two looks at an agent behind a carrier
REST_S = 0.15  # between two steps of a turn a screen may look idle for a moment
ROUNDED_S = 1e-6
RESTING = frozenset({State.IDLE, State.DRAFT})


class _KeysResult(Enum):
    """The result of a sequence of keys."""

    LEFT = "the agent left"
    STAYED = "it did not"
    BROKEN = "no key could be sent"
    CUT = "one could not be sent after others were"


FAILED = frozenset({_KeysResult.BROKEN, _KeysResult.CUT})


def press_keys(ending: EndingState, planned: PlannedRung) -> Steps[None]:
    if ending.policy.keys_timeout_s is None:
        limit = None
    else:
        limit = ending.now + planned.wait_s
    result = _KeysResult.BROKEN
    if (yield from _close_late_editor(ending)):  # one that a person has opened
        yield from wait_for_screen(ending, _is_known)
    seen = yield from confirmed_screen(ending, (yield from ready_screen(ending)))
    if seen is not None:
        seen = yield from take_back_queued(ending, seen)
    if seen is not None and seen.stashed:
        seen = yield from _unstash(ending, seen)
    if seen is not None and seen.setup:
        result = yield from _leave_setup(ending, limit, seen)
    elif seen is not None:
        seen = yield from _interrupt_turn(ending, seen, limit)
        if seen.partial:
            seen = yield from read_whole_draft(ending, seen)
        result = yield from _leave(ending, limit, seen)
        yield from _close_late_editor(ending)
    if result is _KeysResult.LEFT:
        ending.agent_left = True
        ending.known = yield from ask(Capture())


def _is_known(screen: Screen) -> bool:
    return screen.state is not State.UNKNOWN


def ready_screen(ending: EndingState) -> Steps[Screen]:
    """Make the pane ready for keys and read its screen, which must be as planned or seen twice."""
    screen = yield from ask(ReadScreen(ready=True))
    return (yield from settled_screen(ending, screen, ending.plan.screen))


def confirmed_screen(ending: EndingState, screen: Screen) -> Steps[Screen | None]:
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


def take_back_queued(ending: EndingState, screen: Screen) -> Steps[Screen | None]:
    """Take queued prompts back into the input and keep them: the key that ends a turn would start
    the next one. Return the new screen, or None when they stay queued: then no key is sent."""
    yield from keep_draft(ending, screen.draft)
    before = ""
    while screen.queued not in ("", before):
        if screen.state is State.DIALOG or not ending.keys.unqueue_keys:
            break
        before = screen.queued
        if screen.draft and ending.keys.clear_keys:
            screen = yield from _clear_input(ending, screen)
        yield from type_keys(ending, ending.keys.unqueue_keys)
        changed = partial(_has_changed, before)
        now = yield from wait_for_screen(ending, changed, ending.keys.leave_s)
        screen = yield from settled_screen(ending, now, screen)
        yield from keep_draft(ending, screen.draft)
    yield from keep_draft(ending, screen.queued)
    return None if screen.queued else screen


def _has_changed(queued: str, screen: Screen) -> bool:
    return screen.queued != queued


def _clear_input(ending: EndingState, screen: Screen) -> Steps[Screen]:
    """Clear the input line by line: some agents take prompts back only into an empty input."""
    for _ in range(LINES_CLEARED):
        if not screen.draft:
            break
        yield from keep_draft(ending, screen.draft)
        yield from type_keys(ending, ending.keys.clear_keys)
        screen = yield from wait_for_screen(ending, lambda seen: not seen.draft, CLEAR_S)
    return screen


def _unstash(ending: EndingState, screen: Screen) -> Steps[Screen]:
    """Bring a stashed draft back into the empty input and keep it."""
    if screen.state is State.IDLE and ending.keys.unstash_keys:
        yield from type_keys(ending, ending.keys.unstash_keys)
        screen = yield from wait_for_screen(ending, lambda seen: not seen.stashed)
        yield from keep_draft(ending, screen.draft)
    if screen.stashed:
        ending.draft_lost = STASHED
    return screen


def _interrupt_turn(ending: EndingState, screen: Screen, limit: float | None) -> Steps[Screen]:
    """End the turn before anything is typed: an agent that exits in the middle of a turn may leave
    a program behind that continues it. Its keys are sent again only if the profile allows it."""
    presses = REPEATS if ending.keys.turn_again else 1
    wait_s = SETTLE_S * REPEATS / presses
    for _ in range(presses):
        late = limit is not None and ending.now >= limit
        if screen.state is not State.BUSY or late or not ending.keys.interrupt_keys:
            break
        if not (yield from type_keys(ending, ending.keys.interrupt_keys)):
            break
        screen = yield from _wait_for_rest(ending, wait_s)
        yield from keep_draft(ending, screen.draft)
    return screen


def _wait_for_rest(ending: EndingState, seconds: float) -> Steps[Screen]:
    """Wait for what ends a turn or closes a dialog: two looks in a row show something else."""
    until = ending.now + seconds
    while True:
        screen = yield from wait_for_screen(ending, _has_ended, max(until - ending.now, 0.0))
        if not _has_ended(screen) or (yield from wait_for_exit(ending, REST_S)):
            return screen
        screen = yield from ask(ReadScreen())
        if _has_ended(screen) or ending.now >= until:
            return screen


def _has_ended(screen: Screen) -> bool:
    return screen.state in RESTING


def _leave(ending: EndingState, limit: float | None, seen: Screen) -> Steps[_KeysResult]:
    """Leave from an empty prompt, if there is one or the first of the safe keys brings one; else by
    the safe keys."""
    steps = ending.keys.safe_keys
    pause = next((step for step in steps if isinstance(step, Pause)), None)
    if pause is not None and not _has_ended(seen):
        place = steps.index(pause)
        result = yield from _send_keys(ending, steps[:place], limit, 0.0, seen)
        if result is not _KeysResult.STAYED:
            return result
        steps = steps[place + 1 :]
        seen = yield from _wait_for_rest(ending, _within(pause.seconds, ending, limit))
    result = yield from _leave_at_rest(ending, limit, seen)
    if result is _KeysResult.CUT:
        return (yield from _send_safe_keys(ending, limit, ending.keys.safe_keys, None))
    if result is _KeysResult.BROKEN:
        return (yield from _send_safe_keys(ending, limit, steps, seen))
    return result


def _leave_at_rest(ending: EndingState, limit: float | None, seen: Screen) -> Steps[_KeysResult]:
    """Leave by the keys for an empty prompt. A draft that is alone in it is kept, cleared, and read
    back empty before."""
    if ending.editor_screen is not None:
        return _KeysResult.BROKEN
    cleared = seen.state is State.DRAFT and not seen.background and bool(ending.keys.empty_keys)
    if cleared:
        result = yield from _send_keys(ending, ending.keys.empty_keys, limit, 0.0, seen)
        if result is not _KeysResult.STAYED:
            return result
        seen = yield from wait_for_screen(ending, partial(_is_quick, ending))
    if not exits_quickly(seen, ending.keys):
        return _KeysResult.CUT if cleared else _KeysResult.BROKEN
    idle_keys = ending.keys.idle_keys
    return (yield from _send_keys(ending, idle_keys, limit, ending.keys.leave_s, seen))


def _leave_setup(ending: EndingState, limit: float | None, seen: Screen) -> Steps[_KeysResult]:
    """Leave a setup dialog unanswered, by its own keys only: the agent may store an Escape as a
    "no"."""
    result = _KeysResult.BROKEN
    pause_s = ending.keys.leave_s / REPEATS
    for _ in range(REPEATS if ending.keys.setup_keys else 0):
        result = yield from _send_keys(ending, ending.keys.setup_keys, limit, pause_s, seen)
        if result is not _KeysResult.STAYED:
            break
    return result


def _is_quick(ending: EndingState, screen: Screen) -> bool:
    return exits_quickly(screen, ending.keys)


def _send_safe_keys(
    ending: EndingState, limit: float | None, steps: tuple[KeyStep, ...], seen: Screen | None
) -> Steps[_KeysResult]:
    """Send the sequence that works in every state, or the part of it that is left; then repeat its
    last keys as often as fits into the time to exit, which counts from the last key of it."""
    again = ending.keys.again_keys
    leave_s = ending.keys.leave_s
    goes_on = bool(again or ending.keys.idle_keys)
    pause_s = leave_s / (2 * REPEATS) if goes_on else leave_s
    result = yield from _send_keys(ending, steps, limit, pause_s, seen)
    until = ending.now - pause_s + leave_s
    last = until if limit is None else min(until, limit)
    if result is _KeysResult.STAYED and not again:
        result = yield from _leave_emptied(ending, limit, result)
    for _ in range(REPEATS if again else 0):
        fits = ending.now + pauses_s(again) + pause_s <= until + ROUNDED_S
        if result is not _KeysResult.STAYED or not fits:
            break
        result = yield from _send_keys(ending, again, last, pause_s)
    # After a cut the agent may be exiting: the terminal goes before the last of its processes.
    if result in (_KeysResult.STAYED, _KeysResult.CUT):
        exited = yield from wait_for_exit(ending, until - ending.now, limit)
        result = _KeysResult.LEFT if exited else _KeysResult.STAYED
    return result


def _leave_emptied(
    ending: EndingState, limit: float | None, result: _KeysResult
) -> Steps[_KeysResult]:
    """Leave by the keys for an empty prompt, if the safe keys have emptied it: an agent without
    keys to repeat may know no other way."""
    screen = yield from ask(ReadScreen())
    if not exits_quickly(screen, ending.keys):
        return result
    steps = ending.keys.idle_keys
    leave_s = ending.keys.leave_s
    return (yield from _send_keys(ending, steps, limit, leave_s, screen))


def _send_keys(
    ending: EndingState,
    steps: tuple[KeyStep, ...],
    limit: float | None,
    leave_s: float,
    seen: Screen | None = None,
) -> Steps[_KeysResult]:
    """Send key after key while the agent lives, then wait for its exit. `seen`: the screen as just
    read."""
    sent = False
    before: KeyStep | None = None
    for step in steps:
        if limit is not None and ending.now >= limit:
            return _KeysResult.STAYED
        if isinstance(step, Pause):
            left, seen = yield from _pause(ending, before, step, limit)
            if left:
                return _KeysResult.LEFT
        elif (yield from _press(ending, step, seen)):
            sent = True
            seen = None
        elif (yield from wait_for_exit(ending, 0, limit)):
            return _KeysResult.LEFT
        else:
            return _KeysResult.CUT if sent else _KeysResult.BROKEN
        before = step
    exited = yield from wait_for_exit(ending, leave_s, limit)
    return _KeysResult.LEFT if exited else _KeysResult.STAYED


def _pause(
    ending: EndingState, before: KeyStep | None, pause: Pause, limit: float | None
) -> Steps[tuple[bool, Screen | None]]:
    """Wait until the input holds the text that was typed before, or the time is up; after a key,
    and where the agent measures the time itself, wait all of it. Tell whether the agent left, with
    the screen as just read."""
    if pause.whole or not isinstance(before, Text):
        return (yield from wait_for_exit(ending, pause.seconds, limit)), None
    shown = partial(_is_our_text, ending)
    screen = yield from wait_for_screen(ending, shown, _within(pause.seconds, ending, limit))
    return (yield from wait_for_exit(ending, 0, limit)), screen


def _within(seconds: float, ending: EndingState, limit: float | None) -> float:
    """Return the part of these seconds that is left before the limit."""
    if limit is None:
        return seconds
    return max(min(seconds, limit - ending.now), 0.0)


def _press(ending: EndingState, step: Key | Text, seen: Screen | None) -> Steps[bool]:
    """Send a key or text only where it can do no harm: the screen is read before each key."""
    if (yield from _close_late_editor(ending)):
        seen = None
    if ending.sight.carrier is not None:
        seen = seen or (yield from ask(ReadScreen()))
        if seen.state is State.UNKNOWN:
            return False
    if isinstance(step, Key):
        screen = seen or (yield from ask(ReadScreen()))
        is_our_text = _is_our_text(ending, screen)
        if step.name == "Enter" and not is_our_text:
            return False
        if not is_our_text:
            if _may_clear(ending, step) and screen.state is State.UNKNOWN:
                screen = yield from settled_screen(ending, screen, ending.plan.screen)
            screen_after = yield from take_back_queued(ending, screen)
            if screen_after is None:
                return False
            _note_lost(ending, step, screen_after)
            if step == ESCAPE and _is_harmed_by_escape(ending, screen_after):
                return True
    return (yield from ask(Press(step)))


def _is_harmed_by_escape(ending: EndingState, screen: Screen) -> bool:
    """Tell whether this is a dialog that is left by another key: Escape may be an answer to it, or
    lose a part of the conversation. The keys that follow leave it."""
    others = ending.keys.dialog_keys
    return screen.state is State.DIALOG and bool(others) and ESCAPE not in others


def _close_late_editor(ending: EndingState) -> Steps[bool]:
    """Tell whether an editor that opened late was in front; it is ended now."""
    if ending.editor_screen is None:
        return False

    return (yield from take_from_late_editor(ending))


def _may_clear(ending: EndingState, key: Key) -> bool:
    """Tell whether this key is the first that may clear a draft."""
    return not ending.cleared and key.name != "Escape"


def _note_lost(ending: EndingState, key: Key, screen: Screen) -> None:
    """Note a draft that this key destroys and that could not be kept before."""
    if not _may_clear(ending, key):
        return
    ending.cleared = True
    ending.draft_lost = _loss_on(screen) or ending.draft_lost


def _loss_on(screen: Screen) -> str:
    """Return why a draft there cannot be kept whole; nothing if it can, or if there is none."""
    if screen.partial:
        return PARTIAL
    if screen.stashed:
        return STASHED
    if screen.state is State.UNKNOWN and not screen.blank:
        return UNREAD
    return ""


def keep_shown_drafts(ending: EndingState) -> Steps[None]:
    """Keep the drafts of the planned screen, for an ending without keys."""
    screen = ending.plan.screen
    if screen is None or ending.cleared:
        return
    yield from keep_draft(ending, screen.draft)
    yield from keep_draft(ending, screen.queued)
    ending.draft_lost = _loss_on(screen) or ending.draft_lost


def _is_our_text(ending: EndingState, screen: Screen) -> bool:
    """Tell whether the input holds exactly the text that we typed: Enter would submit it."""
    typed = "".join(step.text for step in ending.keys.idle_keys if isinstance(step, Text))
    return screen.state is State.DRAFT and screen.draft.strip() == typed


OPENS_S = 5.0  # from the key until the editor runs
CLOSES_S = 2.0
SIGNALS = ((signal.SIGTERM,), (signal.SIGKILL,))
OF_EDITOR = re.compile(r"~\s*$|\^[A-Z]|\s*\[ .* \]\s*$|\s*GNU nano")  # lines that vi and nano draw


def read_whole_draft(ending: EndingState, screen: Screen) -> Steps[Screen]:
    """Read the whole draft through the editor; return the screen afterwards, with the draft as
    before."""
    editor_keys = {
        State.DRAFT: ending.keys.editor_keys,
        State.DIALOG: ending.keys.words_editor_keys,
    }
    keys = editor_keys.get(screen.state)
    if not keys or ending.sight.carrier is not None or not (yield from ask(MayEdit())):
        return screen
    if not (yield from type_keys(ending, keys)):
        return screen
    ending.editor_screen = screen
    yield from _take_draft(ending, (yield from _wait_for_editor(ending)))
    return (yield from wait_for_screen(ending, _is_known))


def take_from_late_editor(ending: EndingState) -> Steps[bool]:
    """Take the draft from an editor that opened after OPENS_S: no key may go into it."""
    return (yield from _take_draft(ending, (yield from ask(ReadEditor()))))


def _take_draft(ending: EndingState, editor: Opened | None) -> Steps[bool]:
    if ending.editor_screen is None or editor is None:
        return False
    yield from _keep_whole(ending, ending.editor_screen, editor.text)
    if not _is_known(ending.editor_screen):
        yield from _keep_unsaved(ending, editor)
    yield from _close_editor(ending, editor)
    ending.editor_screen = None
    return True


def _wait_for_editor(ending: EndingState) -> Steps[Opened | None]:
    until = ending.now + OPENS_S
    while True:
        editor: Opened | None = yield from ask(ReadEditor())
        if editor is not None or ending.now >= until:
            return editor
        if not (yield from ask(Wait(ending.awaited, ending.now + LOOK_S))):
            ending.editor_screen = None
            return None


def _keep_whole(ending: EndingState, screen: Screen, text: str) -> Steps[None]:
    """Keep the draft unless it holds a placeholder for a paste, which some agents pass on."""
    shortened = ending.keys.marks.get("shortened")
    if not text.strip() or (shortened and shortened.search(text)):
        return
    if screen.draft.startswith("!") and not text.startswith("!"):
        sign = "!"
    else:
        sign = ""
    whole = sign + text.rstrip("\n")
    ending.kept = [known for known in ending.kept if known != screen.draft]
    yield from keep_draft(ending, whole)  # first, since it keeps no text that is in `replaced`
    ending.replaced += [screen.draft, whole]
    ending.cleared = True
    if ending.draft_lost != STASHED:
        ending.draft_lost = ""


def _keep_unsaved(ending: EndingState, editor: Opened) -> Steps[None]:
    """Keep what a person wrote into an editor and did not save: only its screen shows that."""
    shown = (ending.last_screen or "").rstrip().split("\n")[:-1]  # below it is what the editor says
    lines = [line.rstrip() for line in shown if not OF_EDITOR.match(line)]
    if all(line.strip() in editor.text for line in lines):
        return
    yield from keep_draft(ending, "\n".join(lines).strip("\n"))
    ending.draft_lost = f"{editor.name} had changes that were not saved"


def _close_editor(ending: EndingState, opened: Opened) -> Steps[None]:
    for signals in SIGNALS:
        yield from ask(Signal(frozenset({opened.editor}), signals, strikes=False))
        if not (yield from ask(Wait(frozenset({opened.editor}), ending.now + CLOSES_S))):
            return
