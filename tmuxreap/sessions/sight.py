"""What one look says of one row: whether its session exists and is still the same, which pane and
which processes are the agent's; and what a later look needs of it. Never looks or judges."""

from __future__ import annotations

from collections.abc import Iterable

from tmuxreap.core.errors import Failure
from tmuxreap.core.model import Live, Pane, Process, ProcessId, Row, ServerLook, Session
from tmuxreap.core.values import field, frozen, replace
from tmuxreap.sessions.nested import Carried, Nested
from tmuxreap.sessions.ownership import Owned, Reach
from tmuxreap.sessions.world import Wanted
from tmuxreap.system.tmux.versions import spellings


@frozen
class Past:
    """What is remembered of a session from earlier looks and the ledger."""

    mark: str | None = None
    remembered: frozenset[ProcessId] = frozenset()
    first: Sight | None = None
    leaders: frozenset[ProcessId] = frozenset()
    pane_only: bool = False  # "session" then means only the agent's pane
    whole_session: bool = False  # the panes of the plan are ended, too, whatever runs in them
    struck: frozenset[str] = frozenset()  # panes whose ending has begun
    foreign_seen: bool = (
        False  # foreign panes were seen: the session's mark is no evidence any more
    )
    registry: str | None = None  # of the mark, if only the ledger knows it
    scopes: frozenset[str] = frozenset()  # of its panes, including panes that are gone


@frozen
class Sight:
    live: Live
    socket: str
    server: ServerLook
    session: Session | None = None  # only with the panes that an ending takes
    whole: Session | None = None  # with all its panes
    pane: Pane | None = None
    agent: tuple[Process, ...] = ()
    keyed: tuple[Process, ...] = ()  # the agent's processes that the pane's keys can reach
    owned: Owned = field(default_factory=Owned)
    foreign: tuple[Pane, ...] = ()
    reach: Reach | None = None
    contains_caller: bool = False  # the caller runs inside it
    trouble: Failure | None = None
    nested: Nested | None = None
    carrier: Carried | None = None  # receives the keys; only the screen shows what they reach
    leads: frozenset[str] = frozenset()  # the conversations that the agent's teammates name

    @property
    def agent_gone(self) -> bool:
        return self.live is not Live.ALIVE and not self.agent


def past_of(sight: Sight, before: Past) -> Past:
    """Return what to remember of a look: a process that belonged once belongs permanently."""
    reach = sight.reach
    return replace(
        before,
        mark=before.mark or (reach.mark if reach else None),
        remembered=before.remembered | sight.owned.ids,
        first=before.first or sight,
        leaders=before.leaders | (reach.leaders if reach else frozenset()),
        foreign_seen=before.foreign_seen or (before.first is not None and bool(sight.foreign)),
        scopes=before.scopes | (reach.scopes if reach else frozenset()),
    )


def wanted_by(known: Iterable[tuple[Row, Past]], *, unregistered: bool = False) -> Wanted:
    """Return everything that these rows could mean."""
    sessions, scopes = set[str](), set[str]()
    pids, identified_by_start = set[int](), set[int]()
    for row, past in known:
        sessions.update(spellings(row.name))
        sessions.add(row.name)
        if row.tmux.session_id:
            sessions.add(row.tmux.session_id)
        if past.first is not None and past.first.session is not None:
            sessions.add(past.first.session.id)
        if past.remembered or past.leaders:
            pids.update(process.pid for process in past.remembered | past.leaders)
        if row.pane.pid:
            pids.add(row.pane.pid)
            if row.pane.created_epoch is not None:
                identified_by_start.add(row.pane.pid)
        scopes |= past.scopes
    return Wanted(
        frozenset(sessions),
        frozenset(pids),
        frozenset(identified_by_start),
        frozenset(scopes),
        unregistered,
    )
