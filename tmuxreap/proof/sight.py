"""What one look says of one row: whether its session exists and is still the same, which pane and
which processes are the agent's; and what a later look needs of it, of this command or of another.
Never looks or judges, and never writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tmuxreap.core.errors import Failure, command
from tmuxreap.core.model import (
    Live,
    Pane,
    Process,
    ProcessId,
    Row,
    Server,
    ServerLook,
    ServerSession,
)
from tmuxreap.core.values import field, frozen, replace
from tmuxreap.ledger.records import News, SeenPane
from tmuxreap.proof.ownership import Belonging, Owned, Reach, Sought, World
from tmuxreap.proof.panes import Carried, Nested, leader_of
from tmuxreap.system.tmux.versions import CHANGED, spellings

if TYPE_CHECKING:
    from tmuxreap.agents.conversations.jobs import Job


@frozen
class Past:
    """What is remembered of a session from earlier looks and the ledger."""

    mark: str | None = None
    remembered: frozenset[ProcessId] = frozenset()  # all that ever belonged to it
    first: Sight | None = None  # of this command; None before its first look
    leaders: frozenset[ProcessId] = frozenset()  # of its panes
    pane_only: bool = False  # "session" then means only the agent's pane
    whole_session: bool = False  # the panes of the plan are ended, too, whatever runs in them
    struck: frozenset[str] = frozenset()  # panes whose ending has begun
    foreign_seen: bool = (
        False  # foreign panes were seen: the session's mark is no evidence any more
    )
    registry: str | None = None  # of the mark, if only the ledger knows it
    scopes: frozenset[str] = frozenset()  # of its panes, including panes that are gone
    pane: SeenPane | None = None  # the agent's, as an earlier look saw it
    unproven: frozenset[ProcessId] = frozenset()


@frozen
class Sight:
    """What one look says of one row."""

    live: Live
    socket: str
    server: ServerLook
    session: ServerSession | None = None  # only with the panes that an ending takes
    whole: ServerSession | None = None  # with all its panes
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
    # Of a session that is gone: what the row and its environment name, without more proof. It is
    # named, never signalled.
    unproven: tuple[Process, ...] = ()
    found: str | None = None  # the only agent that runs there, where the row names none
    job: Job | None = None  # the session in the agent's own daemon that has the row's conversation
    daemon: int | None = None  # the living daemon of that session

    @property
    def named_only(self) -> tuple[Belonging, ...]:
        """What is unproven, with the reason why it is named."""
        return tuple(Belonging(process, "recorded pid") for process in self.unproven)

    def adopts_unproven(self, name: str) -> str:
        """Return the command that records what is unproven as the row's."""
        return command("adopt", name, "--pid", str(self.unproven[0].pid))

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
        unproven=before.unproven.union(process.id for process in sight.unproven),
    )


def wanted_by(known: Iterable[tuple[Row, Past]], *, unregistered: bool = False) -> Sought:
    """Return everything that these rows could mean."""
    sessions: set[str] = set()
    scopes: set[str] = set()
    pids: set[int] = set()
    identified_by_start: set[int] = set()
    for row, past in known:
        sessions.add(row.name)
        if not CHANGED.isdisjoint(row.name):
            sessions.update(spellings(row.name))
        if row.tmux.session_id:
            sessions.add(row.tmux.session_id)
        if past.first is not None and past.first.session is not None:
            sessions.add(past.first.session.id)
        if past.remembered or past.leaders:
            pids.update(process.pid for process in past.remembered | past.leaders)
        if past.unproven:
            pids.update(process.pid for process in past.unproven)
        if row.pane.pid:
            pids.add(row.pane.pid)
            if row.pane.created_epoch is not None:
                identified_by_start.add(row.pane.pid)
        scopes |= past.scopes
    return Sought(
        frozenset(sessions),
        frozenset(pids),
        frozenset(identified_by_start),
        frozenset(scopes),
        unregistered,
    )


def news_of(row: Row, sight: Sight, before: Past, world: World, own_pid: int) -> News | None:
    """Return what is new, and what is dead of what was remembered; None without anything new.
    `own_pid`: of this process, which may run in the pane."""
    revived = row.status.ended and sight.session is not None  # somebody else's, of that name
    if row.index < 0 or sight.trouble is not None or revived:
        return None
    fresh: dict[ProcessId, SeenPane | None] = {}
    for process in _of_the_pane(sight, world):
        if process.id not in before.remembered and process.pid != own_pid:
            fresh[process.id] = None
    leader = None
    if sight.pane is not None:
        leader = leader_of(sight.pane, world)
    if leader is not None and leader.id in fresh:
        fresh[leader.id] = _pane_of(sight, world, leader)
    if not fresh:
        return None
    # The leader of a pane that is gone still tells which pane it was.
    kept: frozenset[ProcessId] = frozenset()
    if not any(fresh.values()):
        kept = before.leaders
    dead = []
    for one in before.remembered - kept:
        if world.index.living(one) is None:
            dead.append(one)
    return News(row.name, fresh, dead)


def _of_the_pane(sight: Sight, world: World) -> Iterator[Process]:
    """Yield the processes that belong to the agent's pane, and those of a session that is gone. In
    the user's other panes they may stay when the session ends."""
    own = [one.process for one in sight.owned.own]
    if sight.session is None:
        yield from own
        return
    if sight.pane is None or not isinstance(sight.server, Server):
        return
    panes = sight.whole.panes if sight.whole else ()
    places = world.places_on(sight.server)
    server = sight.server
    tmux = world.tmux_variable(server.socket, server.pid)
    for process in own:
        trace = world.index.trace(process.pid)
        pane = places.of(process, trace.pane if trace.tmux == tmux else None)
        if pane == sight.pane.id or (pane is None and len(panes) == 1):
            yield process


def _pane_of(sight: Sight, world: World, leader: Process) -> SeenPane | None:
    server = sight.server
    pane = sight.pane
    if not isinstance(server, Server) or pane is None:
        return None
    mark = world.index.trace(leader.pid).mark
    return SeenPane(world.tmux_variable(server.socket, server.pid), pane.id, mark)
