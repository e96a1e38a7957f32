"""The requests of one session's ladder, with the types of their answers, as plain values; and the
steps that rungs build from them: type keys, wait for a screen, keep a draft."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tmuxreap.agents.profiles import Key, KeyStep, Pause, Text
from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.model import ProcessId
from tmuxreap.core.ports import SignalSent
from tmuxreap.core.results import Draft
from tmuxreap.core.values import frozen
from tmuxreap.ending.ending_state import EndingState
from tmuxreap.ending.plan import SETTLE_S, RungKind
from tmuxreap.proof.sight import Sight
from tmuxreap.sessions.conversation import ConversationTrace, Known

if TYPE_CHECKING:
    from tmuxreap.agents.conversations.jobs import Job, Jobs  # noqa: F401 - in a string
    from tmuxreap.ending.own_ends import OwnEnd  # noqa: F401 - in a string
    from tmuxreap.sessions.editors import Opened  # noqa: F401 - in a string

T = TypeVar("T")
LOOK_S = 0.1  # between two looks at a screen, at most
SOON_S = 0.015  # until the first look: most agents draw within a few hundredths of a second
GROWS = 1.5
PARTIAL = "the screen showed only a part of it"
STASHED = "it was laid aside, and not shown"
DRAWN_LOOKS = 5  # at most, at a screen that is being drawn
BETWEEN = "\n\n"  # joins several drafts in one answer


class Request(Generic[T]):
    """A request of a ladder. `T` is the type of its answer."""

    __slots__ = ()


Steps = Generator[Request[Any], Any, T]  # a ladder or a part of one, with the type of its result


def ask(request: Request[T]) -> Steps[T]:
    answer: T = yield request
    return answer


@frozen
class Checkpoint(Request[bool]):
    """Does this process still own the ending?"""

    rung: RungKind


@frozen
class Look(Request[Sight]):
    """What is left? `processes_only`: the session is known to be gone; a server never reuses an id,
    so it is not asked again."""

    processes_only: bool = False


@frozen
class Wait(Request[frozenset[ProcessId]]):
    """Wait until all processes are gone, or until the time: which are left?"""

    processes: frozenset[ProcessId]
    until: float


@frozen
class Signal(Request[Mapping[ProcessId, SignalSent]]):
    """Send the signals: what is the result for each process?"""

    processes: frozenset[ProcessId]
    signals: tuple[signal.Signals, ...]
    strikes: bool = True  # the session's end begins with it


@frozen
class Close(Request[bool]):
    """Close the session (or its one pane) in tmux."""


@frozen
class Hold(Request[bool]):
    """Keep the agent's pane when its program ends."""


@frozen
class ReadScreen(Request[Screen]):
    """Read the pane. `ready`: prepare it for keys first (leave a mode, stop synchronize-panes, keep
    the pane for the exit banner)."""

    ready: bool = False


@frozen
class Press(Request[bool]):
    """Send a key or a text if the agent is in the foreground and its pane accepts input: was it
    sent?"""

    step: Key | Text


@frozen
class Paste(Request[bool]):
    """Paste a text under the same conditions: was it sent?"""

    text: str


@frozen
class ReadTrace(Request[ConversationTrace]):
    """What do the agent's hooks and its conversation on disk show of its last turn?"""


@frozen
class KeepDraft(Request["int | None"]):
    """Record a draft: which event holds it?"""

    text: str


@frozen
class MayEdit(Request[bool]):
    """Would the agent open its draft in an editor in its terminal?"""


@frozen
class ReadEditor(Request["Opened | None"]):
    """What did the agent pass to the editor?"""


@frozen
class Capture(Request[Known]):
    """Find the conversation again after the agent exited."""


@frozen
class ReadTurn(Request["str | None"]):
    """Which state did the agent's hooks report last? Empty without hooks; None if this process does
    not own the ending any more."""


@frozen
class BeginOwnEnd(Request["OwnEnd"]):
    """Begin the agent's own way that ends the session in its daemon: how is it getting on?"""

    job: Job


@frozen
class ReadServed(Request["Jobs"]):
    """Read the list of the agent's own server, which runs something for a session in a pane."""


@frozen
class ReadSeats(Request["frozenset[str] | None"]):
    """Read which sessions of the agent's own daemon are in the conversation; None if unreadable."""


@frozen
class Follow(Request[Known]):
    """Follow the conversation again, now that nobody is in it. `job`: what has ended."""

    job: Job


@frozen
class Recall(Request[Known]):
    """Find the conversation again: time has passed, and the agent is alive."""


def type_keys(ending: EndingState, steps: tuple[KeyStep, ...]) -> Steps[bool]:
    """Send keys, texts and pauses; return False when one could not be sent."""
    for step in steps:
        if isinstance(step, Pause):
            yield from ask(Wait(ending.awaited, ending.now + step.seconds))
        elif not (yield from ask(Press(step))):
            return False
    return True


def wait_for_screen(
    ending: EndingState, holds: Callable[[Screen], bool], seconds: float = SETTLE_S
) -> Steps[Screen]:
    """Read the screen until the condition holds, the agent exits or the time is up."""
    until = ending.now + seconds
    look_s = SOON_S
    while True:
        left = yield from wait_for_exit(ending, look_s, until)
        screen = yield from ask(ReadScreen())
        if left or holds(screen) or ending.now >= until:
            return screen
        look_s = min(look_s * GROWS, LOOK_S)


def settled_screen(ending: EndingState, screen: Screen, before: Screen | None) -> Steps[Screen]:
    """Read until the screen is as it was before, or the same twice: while it is being drawn, what
    is queued or half-typed may be missing. An empty prompt needs no second look, since it is read
    again before anything typed into it is submitted."""
    sure = before is None or screen == before
    for _ in range(DRAWN_LOOKS):
        if sure or screen.state is State.IDLE:
            break
        if (yield from wait_for_exit(ending, LOOK_S)):
            break
        yield from keep_draft(ending, screen.draft)
        before = screen
        screen = yield from ask(ReadScreen())
        sure = screen == before and screen.state is not State.UNKNOWN
    return screen


def keep_draft(ending: EndingState, text: str) -> Steps[None]:
    """Keep each text once. A text replaces its own parts; a part of a draft that was read whole is
    not kept."""
    if not text or text in ending.kept or any(text in known for known in ending.replaced):
        return
    event = yield from ask(KeepDraft(text))
    ending.kept = [*(known for known in ending.kept if known not in text), text]
    whole = BETWEEN.join(ending.kept)
    ending.draft = Draft(len(whole), event, whole)


def wait_for_exit(ending: EndingState, seconds: float, limit: float | None = None) -> Steps[bool]:
    until = ending.now + seconds
    last = until if limit is None else min(until, limit)
    return not (yield from ask(Wait(ending.awaited, last)))
