"""`send`: gives an idle agent one prompt, and watches it begin. Never does I/O itself.

Pastes only into an input that two looks show idle and empty, and presses Enter only while the
input, read again, holds that prompt alone. Never pastes twice, and never presses Enter twice: the
second could answer a dialog."""

from __future__ import annotations

import re

from tmuxreap.agents.profiles import Key, Profile
from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import AgentState, Outcome
from tmuxreap.core.text import visible
from tmuxreap.core.values import slotted
from tmuxreap.ending.ending_state import EndingState
from tmuxreap.ending.ladder.keys import confirmed_screen
from tmuxreap.ending.ladder.requests import (
    Checkpoint,
    Paste,
    Press,
    ReadScreen,
    ReadTrace,
    Steps,
    Wait,
    ask,
    wait_for_screen,
)
from tmuxreap.ending.plan import RungKind
from tmuxreap.proof.state import STATE_OF_SCREEN
from tmuxreap.sessions.conversation import ConversationTrace

AGAIN_S = 0.15  # between two steps of a turn a screen may look idle for a moment
LOOK_S = 0.05  # a turn may be over after a tenth of a second
SHOWN_S = 5.0  # from a paste until the input shows it
SETTLES_S = 0.5  # between the text and its Enter: an agent may still be taking in the paste
UNDER_WAY = frozenset({State.BUSY, State.DIALOG})
ENTER = Key("Enter")

Delivered = tuple[Outcome, Failure | None]


@slotted
class Delivery:
    """One prompt on its way, and how far it came."""

    text: str
    confirm_s: float
    pasted: bool = False
    submitted: bool = False
    state: AgentState = AgentState.UNKNOWN  # as last seen


def deliver(ending: EndingState, delivery: Delivery) -> Steps[None]:
    """Give the prompt: from the first look to the sign that the agent began."""
    ending.outcome, ending.trouble = yield from _deliver(ending, delivery)


def _deliver(ending: EndingState, delivery: Delivery) -> Steps[Delivered]:
    screen = yield from _settled(ending, delivery)
    refused = yield from _paste_into_empty(ending, delivery, screen)
    if refused is not None:
        return Outcome.REFUSED, refused
    trace = yield from ask(ReadTrace())
    if not (yield from _is_alone(ending, delivery)):
        reason = "its input does not hold this text alone"
        return Outcome.UNKNOWN, unconfirmed(ending.name, delivery, reason)
    if not (yield from ask(Press(ENTER))):
        reason = "the agent is not in front any more"
        return Outcome.UNKNOWN, unconfirmed(ending.name, delivery, reason)
    delivery.submitted = True
    return (yield from _confirm(ending, delivery, trace))


def put_back(ending: EndingState, delivery: Delivery) -> Steps[None]:
    """Type a draft into an idle and empty input, without Enter. One that is there already, as some
    agents keep it themselves, stays."""
    ending.outcome, ending.trouble = yield from _put_back(ending, delivery)


def _put_back(ending: EndingState, delivery: Delivery) -> Steps[Delivered]:
    screen = yield from _settled(ending, delivery)
    if _holds(ending, delivery, screen):
        return Outcome.SENT, None
    refused = yield from _paste_into_empty(ending, delivery, screen)
    if refused is not None:
        return Outcome.REFUSED, refused
    screen = yield from ask(ReadScreen())
    if _holds(ending, delivery, screen):
        return Outcome.SENT, None
    if why_not_empty(screen) is None:
        reason = "its input does not show it"
        return Outcome.REFUSED, not_idle(ending.name, delivery.state, reason)
    reason = "its input shows it in another way"
    return Outcome.UNKNOWN, unconfirmed(ending.name, delivery, reason)


def _settled(ending: EndingState, delivery: Delivery) -> Steps[Screen]:
    """Read the screen and note the state that it shows."""
    screen = yield from _seen_twice(ending)
    delivery.state = STATE_OF_SCREEN[screen.state]
    return screen


def _seen_twice(ending: EndingState) -> Steps[Screen]:
    """Make the pane ready and read its screen twice; the second look counts if both are idle."""
    screen = yield from ask(ReadScreen(ready=True))
    if why_not_empty(screen) is not None:
        return screen
    confirmed = yield from confirmed_screen(ending, screen)
    if confirmed is None:
        return Screen(State.UNKNOWN)
    yield from ask(Wait(ending.awaited, ending.now + AGAIN_S))
    return (yield from ask(ReadScreen()))


def _paste_into_empty(
    ending: EndingState, delivery: Delivery, screen: Screen
) -> Steps[Failure | None]:
    """Paste the text if this screen shows an idle and empty input; else return why not."""
    reason = why_not_empty(screen)
    if reason is None and not (yield from ask(Checkpoint(RungKind.KEYS))):
        reason = "it is being ended"
    if reason is None and not (yield from _paste(ending, delivery)):
        reason = "its pane took no text: the agent is not in front"
    if reason is None:
        return None
    return not_idle(ending.name, delivery.state, reason)


def why_not_empty(screen: Screen | None) -> str | None:
    """Return why nothing may be typed into this screen, or None for an idle and empty input."""
    if screen is None or screen.state is State.UNKNOWN:
        return "its screen shows no state that is known"
    if screen.state is State.DRAFT or screen.draft:
        return "a draft is in its input"
    if screen.state is State.BUSY:
        return "it is in a turn"
    if screen.state is State.DIALOG:
        return "it asks something"
    if screen.queued:
        return "a prompt is queued"
    if screen.limit is not None:
        return "it has met a limit of its provider"
    return None


def _paste(ending: EndingState, delivery: Delivery) -> Steps[bool]:
    """Paste the text; return False if it certainly is not in the input."""
    delivery.pasted = True
    if (yield from ask(Paste(delivery.text))):
        yield from wait_for_screen(ending, lambda seen: _holds(ending, delivery, seen), SHOWN_S)
        return True
    # tmux was not asked, or has not answered: then the text may be there
    screen = yield from ask(ReadScreen())
    delivery.pasted = why_not_empty(screen) is not None
    return delivery.pasted


def _is_alone(ending: EndingState, delivery: Delivery) -> Steps[bool]:
    """Tell, at the last moment, whether Enter would submit this text and nothing else. Some agents
    take an Enter that follows text at once for a part of it."""
    yield from ask(Wait(ending.awaited, ending.now + SETTLES_S))
    if not (yield from ask(Checkpoint(RungKind.KEYS))):
        return False
    screen = yield from ask(ReadScreen())
    delivery.state = STATE_OF_SCREEN[screen.state]
    return _holds(ending, delivery, screen)


def _holds(ending: EndingState, delivery: Delivery, screen: Screen) -> bool:
    return holds_alone(screen, delivery.text, ending.keys)


def holds_alone(screen: Screen, text: str, profile: Profile) -> bool:
    """Tell whether the input holds exactly this text, or the placeholder of this very paste."""
    if screen.state is not State.DRAFT or screen.queued:
        return False
    placeholder = profile.prompt.placeholder
    shown = None
    if placeholder:
        shown = placeholder.fullmatch(screen.draft.strip())
    if shown is not None:
        return _counts_agree(shown, text)
    return not screen.partial and visible(screen.draft) == visible(text)


def _counts_agree(shown: re.Match[str], text: str) -> bool:
    lines = text.count("\n") + 1
    due = {"lines": {lines}, "more": {lines - 1}, "chars": {len(text), len(text.encode())}}
    told = shown.groupdict()
    return all(int(told[name]) in due[name] for name in due if told.get(name))


def _confirm(
    ending: EndingState, delivery: Delivery, before: ConversationTrace
) -> Steps[Delivered]:
    """Watch until the agent has begun, its time is up, or it is gone."""
    until = ending.now + delivery.confirm_s
    while True:
        if ending.awaited and not (yield from ask(Wait(ending.awaited, ending.now + LOOK_S))):
            return Outcome.UNKNOWN, unconfirmed(ending.name, delivery, "the agent has left")
        screen = yield from ask(ReadScreen())
        delivery.state = STATE_OF_SCREEN[screen.state]
        if (yield from _has_begun(ending, screen, before)):
            return Outcome.SENT, None
        if ending.now >= until:
            reason = f"it was not seen to begin in {delivery.confirm_s:g} s"
            return Outcome.UNKNOWN, unconfirmed(ending.name, delivery, reason)


def _has_begun(ending: EndingState, screen: Screen, before: ConversationTrace) -> Steps[bool]:
    if screen.state in UNDER_WAY or screen.limit is not None:
        return True
    after = yield from ask(ReadTrace())
    if after.worked_at > before.worked_at:
        return True
    return screen.state is State.IDLE and after.written != before.written


def not_idle(name: str, state: AgentState, reason: str, hint: str = "") -> Failure:
    hint = (
        hint or f"wait for it with --when-idle 10m, or see what it shows: {command('show', name)}"
    )
    message = f"could not send to {name}: {reason} (state: {state.value}); nothing was typed"
    return Failure(Code.NOT_IDLE, message, hint)


def unconfirmed(name: str, delivery: Delivery, reason: str) -> Failure:
    if delivery.submitted:
        where = "Enter was pressed once"
    else:
        where = "the text was pasted, Enter was not pressed"
    hint = f"see what it shows, and do not send it again before: {command('show', name)}"
    return could_not("confirm the prompt of", name, f"{reason}; {where}", hint, Code.UNCONFIRMED)
