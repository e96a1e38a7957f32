"""What the ladder of one session may ask for, how it answers in the end, and what it has seen so
far. Plain values."""

from __future__ import annotations

import signal

from tmuxreap.agents.profiles import Key, Profile, Text
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import Conversation, Outcome, Pane, ProcessId, StoppedBy
from tmuxreap.core.ports import Clock
from tmuxreap.core.values import field, frozen, slotted
from tmuxreap.ending.plan import Plan, Policy, Rung
from tmuxreap.sessions.ownership import Belonging
from tmuxreap.sessions.sight import Sight


@frozen
class Checkpoint:
    """Is the ending still ours? Answered with a bool."""

    rung: Rung


@frozen
class Look:
    """What is left? Answered with a Sight. `processes_only`: the session was seen to be gone, and
    since a server gives an id once, it is not asked again."""

    processes_only: bool = False


@frozen
class Wait:
    """Until all of them are gone, or the time is there. Answered with those that are not gone."""

    processes: frozenset[ProcessId]
    until: float


@frozen
class Signal:
    """Answered with a dict of what became of each."""

    processes: frozenset[ProcessId]
    signals: tuple[signal.Signals, ...]


@frozen
class Close:
    """Close the session (or the one pane) in tmux."""


@frozen
class ReadScreen:
    """Answered with a Screen. `ready`: the pane is made ready for keys first (a mode is left, keys
    are kept from its siblings, the pane is kept for the banner)."""

    ready: bool = False


@frozen
class Press:
    """One key or one text, if the agent is in front and the pane takes keys. Answered with a bool:
    was it sent?"""

    step: Key | Text


@frozen
class KeepDraft:
    """Answered with the number of the event that holds it, or None."""

    text: str


@frozen
class Capture:
    """Look for the conversation again: the agent has left. Answered with a Conversation."""


@frozen
class Hear:
    """What has come of a turn that is to end? Answered with what was heard."""


@frozen
class Heard:
    ours: bool  # the ending is
    state: str  # as the agent told it last; empty where it tells nothing


@frozen
class Recall:
    """Time has gone by, the agent lives: look for its conversation again. Answered with a
    Conversation."""


Request = (
    Checkpoint
    | Look
    | Wait
    | Signal
    | Close
    | ReadScreen
    | Press
    | KeepDraft
    | Capture
    | Hear
    | Recall
)


@frozen
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


@frozen
class Draft:
    text: str
    event: int | None


@frozen
class Ended:
    """How it went."""

    outcome: Outcome
    stopped_by: StoppedBy | None
    swept_by: (
        StoppedBy | None
    )  # the rung that ended the last of it, whether the agent was still there or not
    rungs: tuple[RungReport, ...]
    conversation: Conversation
    draft: Draft | None
    swept: tuple[Belonging, ...]
    survivors: tuple[Belonging, ...]
    denied: bool
    trouble: Failure | None
    turn_cut: bool = False  # it was still in its turn when the ladder began
    draft_lost: str = ""  # why what was half-typed was not kept whole
    foreign: tuple[Pane, ...] = ()  # panes at work that came since the plan, and live on
    beyond: str | None = None  # what carried an agent that nobody can see from here
    cut_off: bool = False  # it was ended, and did not leave by itself


@slotted
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
    draft: Draft | None = None  # all that was kept, for the answer
    kept: list[str] = field(default_factory=list)  # each text of it
    denied: bool = False
    turn_cut: bool = False
    draft_lost: str = ""
    cleared: bool = (
        False  # a key was sent that clears what is half-typed: nothing is lost by the next
    )
    touched: bool = False  # something of it was ended
    beyond: str | None = None  # the carrier of an agent that nobody can see from here
    unsent: str | None = None  # why no exit key was sent after all

    @property
    def agent(self) -> frozenset[ProcessId]:
        """Whose end is awaited: of one that cannot be seen, its carrier's."""
        carrier = self.sight.carrier
        seen = (carrier.process,) if carrier is not None and carrier.beyond else self.sight.agent
        return frozenset(process.id for process in seen)

    @property
    def barred(self) -> bool:
        """Panes of others came into it before anything was ended: how far to go is asked again."""
        return bool(self.sight.foreign) and not self.touched
