"""A draft of which the screen shows a part: the agent hands it to the person's editor, where it is
read whole, and the editor is ended. Asks, and does no I/O of its own."""

from __future__ import annotations

import signal

from tmuxreap.agents.screens import Screen, State
from tmuxreap.ending.ending import Ending
from tmuxreap.ending.ladder.requests import (
    LOOK_S,
    MayEdit,
    ReadEditor,
    Signal,
    Steps,
    Wait,
    ask,
    keep,
    screen_when,
    type_keys,
)
from tmuxreap.sessions.editors import Opened

OPENS_S = 5.0  # from the key to the editor
CLOSES_S = 2.0
HARDER = ((signal.SIGTERM,), (signal.SIGKILL,))


def whole_of(ending: Ending, screen: Screen) -> Steps[Screen]:
    """The screen then: the draft stands there as before, unless the agent has lost its place."""
    keys = ending.keys.editor_keys
    reachable = screen.state is State.DRAFT and ending.sight.carrier is None
    if not keys or not reachable or not (yield from ask(MayEdit())):
        return screen
    if not (yield from type_keys(ending, keys)):
        return screen
    found = yield from _opened(ending)
    if found is not None:
        yield from _kept(ending, screen, found.text)
        yield from _closed(ending, found)
    return (yield from screen_when(ending, lambda seen: seen.state is not State.UNKNOWN))


def _opened(ending: Ending) -> Steps[Opened | None]:
    until = ending.now + OPENS_S
    while True:
        found: Opened | None = yield from ask(ReadEditor())
        if found is not None or ending.now >= until:
            return found
        if not (yield from ask(Wait(ending.awaited, ending.now + LOOK_S))):
            return None


def _kept(ending: Ending, screen: Screen, text: str) -> Steps[None]:
    """Some agents hand over the words that stand for a paste: then nothing is won."""
    shortened = ending.keys.marks.get("shortened")
    if not text.strip() or (shortened and shortened.search(text)):
        return
    sign = "!" if screen.draft.startswith("!") and not text.startswith("!") else ""
    whole = sign + text.rstrip("\n")
    ending.kept = [one for one in ending.kept if one != screen.draft]
    yield from keep(ending, whole)  # first: it may be all that the screen showed
    ending.replaced += [screen.draft, whole]
    ending.cleared = True


def _closed(ending: Ending, found: Opened) -> Steps[None]:
    for signals in HARDER:
        yield from ask(Signal(frozenset({found.editor}), signals, strikes=False))
        if not (yield from ask(Wait(frozenset({found.editor}), ending.now + CLOSES_S))):
            return
