"""What the ladder of one session may ask for, how it answers in the end, and what it has seen so far. Plain values."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field

from tmuxreap.errors import Failure
from tmuxreap.model import Conversation, Outcome, ProcessId, StoppedBy
from tmuxreap.ownership import Belonging
from tmuxreap.plan import Plan, Policy, Rung
from tmuxreap.profiles import Key, Profile, Text
from tmuxreap.seams import Clock
from tmuxreap.sights import Sight


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Is the ending still ours? Answered with a bool."""

    rung: Rung


@dataclass(frozen=True, slots=True)
class Look:
    """What is left? Answered with a Sight."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Until all of them are gone, or the time is there. Answered with those that are not gone."""

    processes: frozenset[ProcessId]
    until: float


@dataclass(frozen=True, slots=True)
class Signal:
    """Answered with a dict of what became of each."""

    processes: frozenset[ProcessId]
    signals: tuple[signal.Signals, ...]


@dataclass(frozen=True, slots=True)
class Close:
    """Close the session (or the one pane) in tmux."""


@dataclass(frozen=True, slots=True)
class Ready:
    """Make the pane ready for keys: leave a mode, keep keys from its siblings, keep the pane for the banner."""


@dataclass(frozen=True, slots=True)
class ReadScreen:
    """Answered with a Screen."""


@dataclass(frozen=True, slots=True)
class Press:
    """One key or one text, if the agent is in front and the pane takes keys. Answered with a bool: was it sent?"""

    step: Key | Text


@dataclass(frozen=True, slots=True)
class KeepDraft:
    """Answered with the number of the event that holds it, or None."""

    text: str


@dataclass(frozen=True, slots=True)
class Capture:
    """Look for the conversation again: the agent has left. Answered with a Conversation."""


Request = Checkpoint | Look | Wait | Signal | Close | Ready | ReadScreen | Press | KeepDraft | Capture


@dataclass(frozen=True, slots=True)
class RungReport:
    rung: Rung
    waited_s: float = 0.0
    enough: bool = False
    skipped: str | None = None

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.rung.value,
            "waited_ms": round(self.waited_s * 1000),
            "enough": self.enough,
            "skipped": self.skipped,
        }


@dataclass(frozen=True, slots=True)
class Draft:
    text: str
    event: int | None


@dataclass(frozen=True, slots=True)
class Ended:
    """How it went."""

    outcome: Outcome
    stopped_by: StoppedBy | None
    swept_by: StoppedBy | None  # the rung that ended the last of it, whether the agent was still there or not
    rungs: tuple[RungReport, ...]
    conversation: Conversation
    draft: Draft | None
    swept: tuple[Belonging, ...]
    survivors: tuple[Belonging, ...]
    denied: bool
    trouble: Failure | None


@dataclass(slots=True)
class Run:
    """What the ladder of one session has seen and done so far."""

    plan: Plan
    profile: Profile | None
    policy: Policy
    clock: Clock
    sight: Sight
    conversation: Conversation
    rungs: list[RungReport] = field(default_factory=list)
    swept: dict[ProcessId, Belonging] = field(default_factory=dict)
    agent_left: bool = False
    last: Rung | None = None
    draft: Draft | None = None
    denied: bool = False
