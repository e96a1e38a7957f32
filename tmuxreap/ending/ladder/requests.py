"""What the ladder of one session may ask for, and what it is told: plain values; and what a rung
of keys makes of them: type, look, wait, keep what is half-typed."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tmuxreap.agents.profiles import Key, KeyStep, Pause, Text
from tmuxreap.agents.screens import Screen
from tmuxreap.core.model import ProcessId
from tmuxreap.core.ports import Sent
from tmuxreap.core.values import frozen
from tmuxreap.ending.ending import Ending
from tmuxreap.ending.plan import SETTLE_S, Rung
from tmuxreap.ending.results import Draft
from tmuxreap.sessions.conversation import Known
from tmuxreap.sessions.sight import Sight

if TYPE_CHECKING:
    from tmuxreap.sessions.editors import Opened  # noqa: F401 - in a string

T = TypeVar("T")
LOOK_S = 0.1
BETWEEN = "\n\n"  # several that were kept, in one answer


class Request(Generic[T]):
    """Something that a ladder wants. `T` is what it is told."""

    __slots__ = ()


Steps = Generator[Request[Any], Any, T]  # a ladder or a part of one, and what it comes to


def ask(request: Request[T]) -> Steps[T]:
    answer: T = yield request
    return answer


@frozen
class Checkpoint(Request[bool]):
    """Is the ending still ours?"""

    rung: Rung


@frozen
class Look(Request[Sight]):
    """What is left? `processes_only`: the session was seen to be gone, and since a server gives an
    id once, it is not asked again."""

    processes_only: bool = False


@frozen
class Wait(Request[frozenset[ProcessId]]):
    """Until all of them are gone, or the time is there: who is not gone?"""

    processes: frozenset[ProcessId]
    until: float


@frozen
class Signal(Request[Mapping[ProcessId, Sent]]):
    """What becomes of each?"""

    processes: frozenset[ProcessId]
    signals: tuple[signal.Signals, ...]
    strikes: bool = True  # it begins to end the session


@frozen
class Close(Request[bool]):
    """Close the session (or the one pane) in tmux."""


@frozen
class ReadScreen(Request[Screen]):
    """`ready`: the pane is made ready for keys first (a mode is left, keys are kept from its
    siblings, the pane is kept for the banner)."""

    ready: bool = False


@frozen
class Press(Request[bool]):
    """One key or one text, if the agent is in front and the pane takes keys: was it sent?"""

    step: Key | Text


@frozen
class KeepDraft(Request["int | None"]):
    """Which event holds it?"""

    text: str


@frozen
class MayEdit(Request[bool]):
    """Would the agent hand its draft to an editor in its terminal?"""


@frozen
class ReadEditor(Request["Opened | None"]):
    """What has it handed over?"""


@frozen
class Capture(Request[Known]):
    """Look for the conversation again: the agent has left."""


@frozen
class Heard:
    ours: bool  # the ending is
    state: str  # as the agent told it last; empty where it tells nothing


@frozen
class Hear(Request[Heard]):
    """What has come of a turn that is to end?"""


@frozen
class Recall(Request[Known]):
    """Time has gone by, the agent lives: look for its conversation again."""


def type_keys(ending: Ending, steps: tuple[KeyStep, ...]) -> Steps[bool]:
    """False when a key could not be sent."""
    for step in steps:
        if isinstance(step, Pause):
            yield from ask(Wait(ending.awaited, ending.now + step.seconds))
        elif not (yield from ask(Press(step))):
            return False
    return True


def screen_when(
    ending: Ending, holds: Callable[[Screen], bool], seconds: float = SETTLE_S
) -> Steps[Screen]:
    """The screen as soon as it is so, or as it is when the time is up."""
    until = ending.now + seconds
    while True:
        left = yield from left_by(ending, ending.awaited, LOOK_S, None)
        screen = yield from ask(ReadScreen())
        if left or holds(screen) or ending.now >= until:
            return screen


def keep(ending: Ending, text: str) -> Steps[None]:
    """Each text once; one that grew replaces what it grew from, and no part of what was read whole
    is one."""
    if not text or text in ending.kept or any(text in one for one in ending.replaced):
        return
    event = yield from ask(KeepDraft(text))
    ending.kept = [*(one for one in ending.kept if one not in text), text]
    ending.draft = Draft(BETWEEN.join(ending.kept), event)


def left_by(
    ending: Ending, agent: frozenset[ProcessId], seconds: float, limit: float | None
) -> Steps[bool]:
    until = ending.now + seconds
    last = until if limit is None else min(until, limit)
    return not (yield from ask(Wait(agent, last)))
