"""What the ladder of one session may ask for, and what it is told: plain values."""

from __future__ import annotations

import signal
from collections.abc import Generator, Mapping
from typing import Any, Generic, TypeVar

from tmuxreap.agents.profiles import Key, Text
from tmuxreap.agents.screens import Screen
from tmuxreap.core.model import ProcessId
from tmuxreap.core.ports import Sent
from tmuxreap.core.values import frozen
from tmuxreap.ending.plan import Rung
from tmuxreap.sessions.conversation import Known
from tmuxreap.sessions.sight import Sight

T = TypeVar("T")


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
