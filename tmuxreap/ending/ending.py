"""One session on its way out, from the first look to the record: each thing stands here once.

`prepare` makes it and plans or answers it, `end` gives it its intent, the ladder notes what it has
seen and done, `record` reads what came of it. Holds, and does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.spared import Spares
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import Conversation, Outcome, ProcessId, Row, StoppedBy
from tmuxreap.core.results import Item
from tmuxreap.core.values import field, replace, slotted
from tmuxreap.ending.plan import Plan, Policy, Rung
from tmuxreap.ending.results import Draft, RungReport
from tmuxreap.ledger.records import Intent
from tmuxreap.sessions.conversation import Known
from tmuxreap.sessions.ownership import Belonging
from tmuxreap.sessions.sight import Past, Sight

if TYPE_CHECKING:
    from tmuxreap.agents.conversations.purge import Purged


@slotted
class Ending:
    row: Row
    agent: str | None
    profile: Profile | None
    spares: Spares
    policy: Policy
    plan: Plan
    sight: Sight  # the latest
    past: Past
    known: Known
    last_screen: str | None = None
    memory: int = 0
    looked_at: float = 0.0
    answer: Item | None = None  # where nothing is to be done
    # From the intent on
    intent: Intent | None = None
    started: float = 0.0
    # What the ladder has seen and done
    now: float = 0.0  # when its last request was answered
    rungs: list[RungReport] = field(default_factory=list)
    last: Rung | None = None
    agent_left: bool = False
    touched: bool = False  # something of it was ended
    denied: bool = False
    turn_cut: bool = False  # it was still in its turn when the ladder began
    draft: Draft | None = None  # all that was kept, for the answer
    kept: list[str] = field(default_factory=list)  # each text of it
    draft_lost: str = ""  # why what was half-typed was not kept whole
    replaced: list[str] = field(
        default_factory=list
    )  # read whole, and what stood for it on the screen
    cleared: bool = (
        False  # what is half-typed is kept whole, or a key was sent that clears it: the next loses
        # nothing
    )
    unsent: str | None = None  # why no exit key was sent after all
    struck: dict[ProcessId, Belonging] = field(default_factory=dict)  # and is not the agent
    # How it went
    outcome: Outcome = Outcome.PLANNED
    stopped_by: StoppedBy | None = None
    swept_by: StoppedBy | None = None  # the rung that ended the last of it, agent or not
    trouble: Failure | None = None
    purged: Purged | None = None
    twins: tuple[Row, ...] = ()  # other rows of the same pane, which were written with it

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def first(self) -> Sight:
        """What was seen when it was planned."""
        return self.past.first or self.sight

    @property
    def conversation(self) -> Conversation:
        return self.known.conversation

    @property
    def keys(self) -> Profile:
        """The profile of one that gets keys: without one every rung of them is skipped."""
        assert self.profile is not None  # noqa: S101 - see `why_no_keys`
        return self.profile

    @property
    def awaited(self) -> frozenset[ProcessId]:
        """Whose end is awaited: of an agent that cannot be seen, its carrier's."""
        carrier = self.sight.carrier
        seen = (carrier.process,) if carrier is not None and carrier.beyond else self.sight.agent
        return frozenset(process.id for process in seen)

    @property
    def barred(self) -> bool:
        """Panes of others came into it before anything was ended: how far to go is asked again."""
        return bool(self.sight.foreign) and not self.touched

    @property
    def blocked(self) -> bool:
        """Nothing more can be done. Who cannot be asked once is not asked at every rung: each
        question takes its whole time."""
        return self.sight.trouble is not None or self.barred

    @property
    def beyond(self) -> str | None:
        """What carries an agent that nobody can see from here."""
        carrier = self.first.carrier
        return carrier.program if carrier is not None and carrier.beyond else None

    @property
    def carrier_cut(self) -> bool:
        """What carried the agent was ended, and the agent did not leave by itself."""
        return self.beyond is not None and not self.agent_left

    @property
    def cut_off(self) -> bool:
        return self.stopped_by is not None and self.carrier_cut

    @property
    def survivors(self) -> tuple[Belonging, ...]:
        return self.sight.owned.own if self.outcome is Outcome.SURVIVED else ()

    @property
    def swept(self) -> tuple[Belonging, ...]:
        """All that was ended and is not the agent."""
        alive = self.sight.owned.ids
        return tuple(one for one in self.struck.values() if one.process.id not in alive)

    def strike(self) -> None:
        """From now on the panes that it has are ended, whatever a hook starts in them."""
        panes = self.sight.session.panes if self.sight.session else ()
        struck = self.past.struck | {pane.id for pane in panes}
        self.past = replace(self.past, struck=struck)
