"""A draft that the screen shows only in part: the agent opens it in the user's editor, from whose
file it is read whole; then the editor is ended. Never does I/O itself."""

from __future__ import annotations

import signal

from tmuxreap.agents.screens import Screen, State
from tmuxreap.ending.ending import Ending
from tmuxreap.ending.ladder.requests import (
    LOOK_S,
    STASHED,
    MayEdit,
    ReadEditor,
    Signal,
    Steps,
    Wait,
    ask,
    keep_draft,
    type_keys,
    wait_for_screen,
)
from tmuxreap.sessions.conversation import Opened

OPENS_S = 5.0  # from the key until the editor runs
CLOSES_S = 2.0
SIGNALS = ((signal.SIGTERM,), (signal.SIGKILL,))


def read_whole_draft(ending: Ending, screen: Screen) -> Steps[Screen]:
    """Read the whole draft through the editor; return the screen afterwards, with the draft as
    before."""
    keys = ending.keys.editor_keys
    reachable = screen.state is State.DRAFT and ending.sight.carrier is None
    if not keys or not reachable or not (yield from ask(MayEdit())):
        return screen
    if not (yield from type_keys(ending, keys)):
        return screen
    ending.editor_screen = screen
    yield from _take_draft(ending, (yield from _wait_for_editor(ending)))
    return (yield from wait_for_screen(ending, lambda seen: seen.state is not State.UNKNOWN))


def take_from_late_editor(ending: Ending) -> Steps[bool]:
    """Take the draft from an editor that opened after OPENS_S: no key may go into it."""
    return (yield from _take_draft(ending, (yield from ask(ReadEditor()))))


def _take_draft(ending: Ending, editor: Opened | None) -> Steps[bool]:
    if ending.editor_screen is None or editor is None:
        return False
    yield from _keep_whole(ending, ending.editor_screen, editor.text)
    yield from _close_editor(ending, editor)
    ending.editor_screen = None
    return True


def _wait_for_editor(ending: Ending) -> Steps[Opened | None]:
    until = ending.now + OPENS_S
    while True:
        editor: Opened | None = yield from ask(ReadEditor())
        if editor is not None or ending.now >= until:
            return editor
        if not (yield from ask(Wait(ending.awaited, ending.now + LOOK_S))):
            ending.editor_screen = None
            return None


def _keep_whole(ending: Ending, screen: Screen, text: str) -> Steps[None]:
    """Keep the draft unless it holds a placeholder for a paste, which some agents pass on."""
    shortened = ending.keys.marks.get("shortened")
    if not text.strip() or (shortened and shortened.search(text)):
        return
    sign = "!" if screen.draft.startswith("!") and not text.startswith("!") else ""
    whole = sign + text.rstrip("\n")
    ending.kept = [known for known in ending.kept if known != screen.draft]
    yield from keep_draft(ending, whole)  # first, since it keeps no text that is in `replaced`
    ending.replaced += [screen.draft, whole]
    ending.cleared = True
    if ending.draft_lost != STASHED:
        ending.draft_lost = ""


def _close_editor(ending: Ending, opened: Opened) -> Steps[None]:
    for signals in SIGNALS:
        yield from ask(Signal(frozenset({opened.editor}), signals, strikes=False))
        if not (yield from ask(Wait(frozenset({opened.editor}), ending.now + CLOSES_S))):
            return
