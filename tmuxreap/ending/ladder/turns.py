"""`--after-turn`, which lets the agent finish its turn before the first rung, and `interrupt`,
which ends the turn and leaves the agent running. Never does I/O itself.

Never sends a key to a screen that was not read just before, to a setup dialog, or while a queued
prompt cannot be taken back into the input."""

from __future__ import annotations

from functools import partial

from tmuxreap.agents.profiles import Key, KeyStep, Pause, Profile
from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import Outcome
from tmuxreap.ending.ending_state import EndingState
from tmuxreap.ending.ladder.daemons import end_turn_at_server
from tmuxreap.ending.ladder.keys import confirmed_screen, ready_screen, take_back_queued
from tmuxreap.ending.ladder.requests import (
    PARTIAL,
    Capture,
    Look,
    ReadScreen,
    ReadTurn,
    Recall,
    Steps,
    Wait,
    ask,
    settled_screen,
    type_keys,
    wait_for_screen,
)
from tmuxreap.ending.plan import REPEATS, SETTLE_S

LOOK_S = 0.15
IDLE_LOOKS = 2  # between two steps of a turn a screen may look idle for a moment
BUSY_LOOKS = 14  # two seconds, if hooks say "working": a cancelled turn calls no hook
READY = frozenset({State.IDLE, State.DRAFT})
REPORTED_REST = frozenset({"idle", "ended"})


def finish_turn(ending: EndingState, wait_s: float) -> Steps[bool]:
    """Wait for the end of the turn, then look at the session again: the plan may be old by now.
    Return False when another process took the ending over."""
    until = ending.now + wait_s
    agent = ending.awaited
    resting = 0
    needed = IDLE_LOOKS
    while resting < needed:
        reported = yield from ask(ReadTurn())
        if reported is None:
            return False
        screen = yield from ask(ReadScreen())
        if screen.queued and ending.sight.carrier is None:  # else it would start another turn
            yield from take_back_queued(ending, screen)
        resting = resting + 1 if _rests(screen, reported) else 0
        if reported in (*REPORTED_REST, ""):
            needed = IDLE_LOOKS
        else:
            needed = BUSY_LOOKS
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
        return reported in REPORTED_REST
    return screen.state in READY


def _look_again(ending: EndingState) -> Steps[None]:
    ending.sight = yield from ask(Look())
    ending.agent_left = ending.sight.agent_gone
    ending.known = yield from ask(Capture() if ending.agent_left else Recall())
    ending.looked_at = ending.now


KEYS_SENT = 6  # at most: a menu may have several pages
TURN_ENDS_S = 8.0  # how long a turn may take to end after its key, at most
AGAIN_S = 0.15  # between two steps of a turn a screen may look idle for a moment
PAUSE_S = 2.0  # how long a screen may look idle while hooks say "working"
LOOKS = 5
RESTING = frozenset({State.IDLE, State.DRAFT})
UNDER_WAY = frozenset({State.BUSY, State.DIALOG})
AFTER_THE_KEY = {State.BUSY: "its turn goes on", State.DIALOG: "its dialog is open still"}

TurnResult = tuple[Outcome, Failure | None]


def end_turn(ending: EndingState) -> Steps[None]:
    """End the turn: from the first look to the screen that proves it."""
    if ending.in_daemon:
        ending.outcome, ending.trouble = yield from end_turn_at_server(ending, TURN_ENDS_S)
        return
    ending.outcome, ending.trouble = yield from _end_turn(ending)


def _end_turn(ending: EndingState) -> Steps[TurnResult]:
    screen = yield from _settled_state(ending)
    if ending.says_working and screen.state in RESTING:
        screen = yield from wait_for_screen(ending, lambda seen: seen.state not in RESTING, PAUSE_S)
    if screen.state in RESTING:
        return Outcome.ALREADY_IDLE, None
    if (reason := why_not_interruptible(screen, ending.keys)) is not None:
        return Outcome.REFUSED, not_interruptible(ending.name, reason)
    confirmed = yield from confirmed_screen(ending, (yield from ready_screen(ending)))
    if confirmed is not None:
        confirmed = yield from take_back_queued(ending, confirmed)
    if confirmed is None:
        reason = ending.unsent or "a prompt is queued, and could not be taken back"
        return Outcome.REFUSED, not_interruptible(ending.name, reason)
    if confirmed.state is State.DIALOG and confirmed.partial:
        ending.draft_lost = PARTIAL  # the words go with the dialog; a draft in the input stays
    sent = yield from _press_keys(ending, confirmed)
    return (yield from _confirm(ending, sent))


def why_not_interruptible(screen: Screen | None, profile: Profile) -> str | None:
    """Return why no key may be sent to this screen, or None."""
    if screen is None or screen.state is State.UNKNOWN:
        return "its screen shows no state that is known"
    if screen.setup:
        return "it asks something before its first prompt, and any key could be the answer"
    if screen.deaf:
        return "it asks a question that only an answer closes"
    if screen.state is State.DIALOG and not profile.turn_keys_in(screen.state):
        return "it asks a question, and its turn continues whatever the answer"
    return None


def not_interruptible(name: str, reason: str) -> Failure:
    hint = f"see what it shows: {command('show', name)}"
    return could_not("interrupt", name, reason, hint, Code.NOT_INTERRUPTIBLE)


def _press_keys(ending: EndingState, screen: Screen) -> Steps[bool]:
    """Send the keys and tell whether any was sent. Closing a dialog or a view may reveal a running
    turn, which has keys of its own. The same keys are sent again only if the profile allows it: a
    slow agent shows the screen before the key, and some exit when it is doubled. Or if the screen
    shows that it heard them: a field of the dialog is empty, or a view is another one."""
    sent: list[tuple[KeyStep, ...]] = []
    heard = False
    until = ending.now
    while len(sent) < KEYS_SENT and screen.state in UNDER_WAY and not screen.setup:
        steps = ending.keys.turn_keys_in(screen.state)
        again = heard or (ending.keys.turn_again and len(sent) < REPEATS)
        if (steps in sent and not again) or not (yield from _send_turn_keys(ending, steps)):
            break
        sent.append(steps)
        until = ending.now + max(TURN_ENDS_S, ending.keys.leave_s)
        before = screen
        screen = yield from _after_keys(ending, before)
        heard = _is_emptied(ending.keys, before, screen)
        if _is_left(before, screen):
            shown = yield from _behind_view(ending)
            if shown is None:
                break
            screen = shown
            heard = True
    if screen.state not in RESTING:  # a command may be ending, or the agent be slow
        left_s = max(until - ending.now, 0.0)
        yield from wait_for_screen(ending, lambda seen: seen.state in RESTING, left_s)
    return bool(sent)


def _after_keys(ending: EndingState, before: Screen) -> Steps[Screen]:
    """Return the screen that the keys have brought. A frozen agent shows its dialog or view for
    seconds; a turn that comes to light may end by itself."""
    done = partial(_is_done, ending.keys, before)
    if before.view:
        return (yield from wait_for_screen(ending, done, TURN_ENDS_S))
    if before.state is State.DIALOG:
        closed = partial(_is_closed, ending.keys, before)
        yield from wait_for_screen(ending, closed, TURN_ENDS_S)
    return (yield from wait_for_screen(ending, done, SETTLE_S))


def _is_closed(profile: Profile, before: Screen, seen: Screen) -> bool:
    return seen.state is State.BUSY or _is_done(profile, before, seen)


def _behind_view(ending: EndingState) -> Steps[Screen | None]:
    """Return the screen that a view had hidden, once it is drawn; None if a prompt is queued there
    that cannot be taken back."""
    screen = yield from ask(ReadScreen())
    screen = yield from settled_screen(ending, screen, Screen(State.UNKNOWN))
    return (yield from take_back_queued(ending, screen))


def _is_left(before: Screen, seen: Screen) -> bool:
    """Tell whether a page of a menu, or a view, was left, and something is under way behind it."""
    return bool(before.view) and seen.view != before.view and seen.state in UNDER_WAY


def _is_done(profile: Profile, before: Screen, seen: Screen) -> bool:
    ended = seen.state in RESTING or _is_emptied(profile, before, seen)
    return ended or _is_left(before, seen)


def _is_emptied(profile: Profile, before: Screen, seen: Screen) -> bool:
    """Tell whether the key took the words out of a dialog that is open still."""
    is_open = before.state is seen.state is State.DIALOG
    return profile.deny_again and is_open and bool(before.draft) and not seen.draft


def _send_turn_keys(ending: EndingState, steps: tuple[KeyStep, ...]) -> Steps[bool]:
    """Send the keys; return False when the first could not be sent. An agent whose key is sent
    twice may rest after the first."""
    for place, step in enumerate(steps):
        doubled = isinstance(step, Key) and step in steps[:place]
        if doubled and (yield from ask(ReadScreen())).state in RESTING:
            break
        if isinstance(step, Pause) and not step.whole:
            yield from wait_for_screen(ending, _is_answered, step.seconds)
            continue
        if not (yield from type_keys(ending, (step,))):
            return place > 0
    return bool(steps)


def _is_answered(screen: Screen) -> bool:
    """Tell whether the agent has heard the first of two keys: it waits for the second, or rests."""
    return screen.armed or screen.state in RESTING


def _confirm(ending: EndingState, sent: bool) -> Steps[TurnResult]:
    screen = yield from _settled_state(ending)
    if ending.awaited and not (yield from ask(Wait(ending.awaited, ending.now))):
        hint = "settle its row: tmuxreap reconcile"
        failure = could_not("interrupt", ending.name, "its agent has left", hint, Code.GONE)
        return Outcome.FAILED, failure
    if screen.state in RESTING:
        return (Outcome.INTERRUPTED if sent else Outcome.ALREADY_IDLE), None
    if not sent:
        return Outcome.REFUSED, not_interruptible(ending.name, "its pane took no key")
    shows = AFTER_THE_KEY.get(screen.state, "its screen shows no state that is known")
    reason = f"its key was sent, and {shows}"
    return Outcome.FAILED, not_interruptible(ending.name, reason)


def _settled_state(ending: EndingState) -> Steps[Screen]:
    """Return the screen at once if a turn is running; any other state must be seen twice."""
    screen = yield from ask(ReadScreen())
    for _ in range(LOOKS):
        if screen.state in UNDER_WAY and not screen.setup:
            break
        yield from ask(Wait(ending.awaited, ending.now + AGAIN_S))
        before = screen
        screen = yield from ask(ReadScreen())
        if screen.state is before.state is not State.UNKNOWN:
            break
    return screen
