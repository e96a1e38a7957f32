"""The state of one session's ending, from the first look to the record, and the answers it can
have. `prepare` creates it and adds the intent, the ladder notes what it saw and did, `record` reads
the result. Several rows of one pane are one ending: the pane is ended once, and the rows that
were seen in it end with it. Never acts on tmux, processes or files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tmuxreap.agents.conversations.records import Record
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.programs import Spares
from tmuxreap.agents.screens import Screen
from tmuxreap.core.errors import Code, Failure, could_not
from tmuxreap.core.masking import mask_secrets
from tmuxreap.core.model import EndVerb, Outcome, Process, ProcessId, Row, Server, StoppedBy
from tmuxreap.core.results import Conversation, Draft, Item
from tmuxreap.core.results import Process as ProcessAnswer
from tmuxreap.core.text import plain
from tmuxreap.core.values import field, frozen, replace, slotted
from tmuxreap.ending.plan import Plan, RungKind, trouble_for
from tmuxreap.ending.policy import Policy
from tmuxreap.ledger.records import Intent
from tmuxreap.proof.ownership import Belonging
from tmuxreap.proof.servers import Servers
from tmuxreap.proof.sight import Past, Sight
from tmuxreap.proof.state import with_record
from tmuxreap.sessions.conversation import Known

if TYPE_CHECKING:
    from tmuxreap.agents.conversations.jobs import Served
    from tmuxreap.agents.conversations.purge import Purged

UNREAD = "its screen could not be read"  # why a draft may be lost


@frozen
class RungReport:
    rung: RungKind
    waited_s: float = 0.0
    enough: bool = False
    skipped: str | None = None


def as_answer(belongings: Iterable[Belonging], *, why: bool = False) -> tuple[ProcessAnswer, ...]:
    """Convert processes to the form of answers."""
    return tuple(
        ProcessAnswer(it.process.pid, it.process.comm, it.why if why else None) for it in belongings
    )


def screen_for_keys(verb: EndVerb, screen: Screen, record: Record, sight: Sight) -> Screen:
    """Return the screen as it matters to the keys of a verb. That of an interrupt waits in the
    terminal of an agent that is stopped, until it goes on."""
    reads = () if verb is EndVerb.INTERRUPT else sight.agent
    return with_record(screen, record, reads)


def out_of_reach(verb: EndVerb, name: str, carrier: str | None) -> Failure:
    """Return the failure for an agent of which only the carrier was ended."""
    what = f"what {name} ran behind {carrier}"
    reason = (
        f"only {carrier} itself was ended; what ran behind it cannot be seen from here and may"
        " continue"
    )
    hint = "end it where it runs, with --host if that is one of: tmuxreap hosts"
    return could_not(verb.value, what, reason, hint, Code.BEYOND_REACH)


LONGEST_LINE = 80  # of a command line in a sentence


@slotted
class EndingState:
    """The notes on one ending, filled in from top to bottom."""

    row: Row
    agent: str | None
    profile: Profile | None
    spares: Spares
    policy: Policy
    plan: Plan
    sight: Sight  # the latest
    past: Past  # what all looks so far have seen
    known: Known  # of its conversation
    last_screen: str | None = None
    memory: int = 0  # bytes that its processes use
    looked_at: float = 0.0
    answer: Item | None = None  # set when there is nothing to do
    served: Served | None = None  # what its agent's own server runs for the session in the pane
    seats: frozenset[str] | None = None  # of its conversation in the agent's own daemon, before
    undone: Row | None = None  # the row as the registry has it, if that went back in time
    # Set when the intent is recorded
    intent: Intent | None = None
    started: float = 0.0
    # What the ladder saw and did
    now: float = 0.0  # when its last request was answered
    rungs: list[RungReport] = field(default_factory=list)
    last: RungKind | None = None
    agent_left: bool = False
    touched: bool = False  # a part of the session was ended
    denied: bool = False  # a signal was refused: no permission
    turn_cut: bool = False  # the agent was still in its turn when the ladder began
    draft: Draft | None = None  # everything that was kept, for the answer
    kept: list[str] = field(default_factory=list)  # the texts that make up `draft`
    draft_lost: str = ""  # why the draft was not kept whole
    replaced: list[str] = field(default_factory=list)  # drafts read whole, and their short forms
    # The draft is kept whole, or a key that clears it was sent: further keys lose nothing.
    cleared: bool = False
    # The screen with the draft, while an editor that was asked for has not opened yet.
    editor_screen: Screen | None = None
    says_working: bool = False  # by its own report, which an interrupt by hand makes stale
    unsent: str | None = None  # why no exit key was sent after all
    struck: dict[ProcessId, Belonging] = field(default_factory=dict)  # without the agent
    # The result
    outcome: Outcome = Outcome.PLANNED
    stopped_by: StoppedBy | None = None
    swept_by: StoppedBy | None = None  # the rung that ended the last process, agent or not
    trouble: Failure | None = None
    unended: Failure | None = None  # why the agent's own daemon has the session still
    purged: Purged | None = None
    twins: tuple[Row, ...] = ()  # other rows of the same pane, recorded together with this one

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def in_daemon(self) -> bool:
        """Whether its agent's own daemon runs it, and no pane shows it."""
        return self.first.job is not None and self.first.session is None

    @property
    def found(self) -> Row:
        """The row as the registry had it, maybe older than the ledger knows it."""
        return self.undone or self.row

    @property
    def first(self) -> Sight:
        """The sight that the plan was made from."""
        return self.past.first or self.sight

    @property
    def conversation(self) -> Conversation:
        return self.known.conversation

    @property
    def keys(self) -> Profile:
        """The profile, where keys are sent: without a profile the keys rung is skipped."""
        assert self.profile is not None  # noqa: S101 - see `why_no_keys`
        return self.profile

    @property
    def awaited(self) -> frozenset[ProcessId]:
        """The processes whose exit is awaited: the agent's, or the carrier of an unseen agent."""
        carrier = self.sight.carrier
        if carrier is not None and carrier.beyond:
            return frozenset({carrier.process.id})
        return frozenset(process.id for process in self.sight.agent)

    @property
    def barred(self) -> bool:
        """Foreign panes appeared before anything was ended: the user has to choose a scope."""
        return bool(self.sight.foreign) and not self.touched

    @property
    def blocked(self) -> bool:
        """Nothing more can be done. An unreachable server is not asked again at every rung: each
        question would take its full timeout."""
        return self.hindered_by is not None or self.barred

    @property
    def hindered_by(self) -> Failure | None:
        return trouble_for(self.sight, self.policy.scope)

    @property
    def beyond(self) -> str | None:
        """The program that carries an agent whose processes cannot be seen from this machine, with
        its command line: that names the container or host."""
        carrier = self.first.carrier
        if carrier is None or not carrier.beyond:
            return None
        if not carrier.argv:
            return carrier.program
        line = mask_secrets(plain(" ".join(carrier.argv)))
        return f"{carrier.program} ({line[:LONGEST_LINE]})"

    @property
    def carrier_cut(self) -> bool:
        """The agent behind the carrier did not leave by itself: only the carrier was ended."""
        return self.beyond is not None and not self.agent_left

    @property
    def cut_off(self) -> bool:
        return self.stopped_by is not None and self.carrier_cut

    @property
    def is_held(self) -> bool:
        """The agent's pane is there, dead, for the agent to come back."""
        pane = self.sight.pane
        return self.policy.holds_pane and pane is not None and pane.dead

    @property
    def survivors(self) -> tuple[Belonging, ...]:
        if self.outcome is Outcome.SURVIVED:
            return self.sight.owned.own
        return ()

    @property
    def left(self) -> tuple[Process, ...]:
        """The processes that live on: the survivors, and what is not proven to be one."""
        if self.outcome is not Outcome.SURVIVED:
            return ()
        return (*(survivor.process for survivor in self.survivors), *self.sight.unproven)

    @property
    def swept(self) -> tuple[Belonging, ...]:
        """The ended processes, without the agent."""
        alive = self.sight.owned.ids
        return tuple(
            belonging for belonging in self.struck.values() if belonging.process.id not in alive
        )

    def strike(self) -> None:
        """Mark the session's panes as struck: whatever a hook starts in them is ended, too."""
        if self.sight.session:
            panes = self.sight.session.panes
        else:
            panes = ()
        struck = self.past.struck | {pane.id for pane in panes}
        self.past = replace(self.past, struck=struck)


# A pid in a row is a memory, and small numbers come again: two rows are of one pane only where both
# were seen in it.


def one_of_each_pane(endings: Sequence[EndingState]) -> tuple[list[EndingState], list[EndingState]]:
    """Return the first ending of each pane, and those that have to wait for it."""
    taken = set[object]()
    first: list[EndingState] = []
    later: list[EndingState] = []
    for ending in endings:
        place = _place_of(ending)
        is_taken = place is not None and place in taken
        (later if is_taken else first).append(ending)
        taken.add(place)
    return first, later


def _place_of(ending: EndingState) -> object:
    """Return what identifies the pane that this ending takes, without tmux its process; None if it
    takes none."""
    sight = ending.sight
    if ending.answer is not None:
        return None
    if isinstance(sight.server, Server) and sight.session and sight.pane:
        return sight.socket, sight.server.pid, sight.session.id, sight.pane.id
    return next((each for each in _leaders(ending) if each.pid == ending.row.pane.pid), None)


RowsByPlace = Mapping[object, Sequence[Row]]


def rows_by_place(rows: Iterable[Row]) -> RowsByPlace:
    """Group the running rows by their recorded pane, else by its process: a hundred endings would
    compare ten thousand pairs."""
    found = defaultdict[object, list[Row]](list)
    for row in rows:
        if not row.status.ended:
            found[row.pane.id if row.tmux.known else row.pane.pid].append(row)
    return found


def twins_of(ending: EndingState, rows: RowsByPlace, servers: Servers) -> tuple[Row, ...]:
    """Return the other running rows of the pane that was ended."""
    if ending.row.status.ended:
        return ()
    places: set[object] = {leader.pid for leader in _leaders(ending)}
    if ending.row.tmux.known:
        places.add(ending.row.pane.id)
    if ending.first.pane is not None:
        places |= {ending.first.pane.id, ending.first.pane.pid}
    found: list[Row] = []
    for place in places:
        near = [row for row in rows.get(place, ()) if row.name != ending.name]
        found += [row for row in near if _is_of_pane(row, ending, servers)]
    return tuple(found)


def _is_of_pane(row: Row, ending: EndingState, servers: Servers) -> bool:
    """Tell whether the row was seen in the pane: by a start or adopt of the same session, by the
    start time of its process, or as the session of its name holds its process."""
    if row.terminal is not ending.row.terminal:
        return False
    if row.tmux.known:
        return _is_recorded_there(row, ending)
    if row.pane.pid is None or row.tmux.boot_id not in (None, servers.boot_id):
        return False
    if row.pane.start_ticks is not None:
        return ProcessId(row.pane.pid, row.pane.start_ticks) in _leaders(ending)
    first = ending.first
    if first.session is None or first.pane is None:
        return False
    is_named = (row.name, row.pane.pid) == (first.session.name, first.pane.pid)
    return is_named and servers.of(row) == first.socket


def _is_recorded_there(row: Row, ending: EndingState) -> bool:
    first = ending.first
    own = ending.row
    if own.tmux.known:
        return (row.tmux, row.pane.id) == (own.tmux, own.pane.id)
    if not isinstance(first.server, Server) or first.session is None or first.pane is None:
        return False
    recorded = row.tmux.server_pid, row.tmux.session_id, row.tmux.session_created, row.pane.id
    session = first.session
    return recorded == (first.server.pid, session.id, session.created, first.pane.id)


def _leaders(ending: EndingState) -> set[ProcessId]:
    seen = (*ending.first.agent, *(each.process for each in ending.first.owned.own))
    return {process.id for process in seen}
