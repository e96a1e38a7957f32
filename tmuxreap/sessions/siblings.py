"""Decides which panes of a session an ending may take: the agent's, those of the plan, and idle
shells. Never does I/O.

Never takes a busy pane that appeared after the plan, and never follows a pane into another
session."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from tmuxreap.agents.profiles import Profile
from tmuxreap.core.model import Pane, Process, Server, ServerLook, Session
from tmuxreap.core.values import frozen, replace
from tmuxreap.sessions.panes import agent_in, began_work, is_busy, with_names
from tmuxreap.sessions.world import World


@frozen
class Known:
    """What is known of a session's panes at a later look."""

    agent: Pane | None
    planned: tuple[Pane, ...]
    struck: frozenset[str] = frozenset()  # being ended, with whatever a hook starts in them
    whole_session: bool = False
    leader_of: frozenset[str] = frozenset()  # the conversations that teammates name


def judge(
    session: Session, known: Known, profile: Profile | None, world: World
) -> tuple[Session | None, tuple[Pane, ...]]:
    """Return the session with only the panes that may be ended, None if none is left; and the busy
    panes that may not."""
    own = own_panes(session, known.agent)
    foreign = tuple(pane for pane in own if not _may_end(pane, known, profile, world))
    ours = tuple(pane for pane in own if pane not in foreign) if foreign else own
    # Without foreign panes the session is closed even if it has no own pane: a linked window lives
    # on in the other session.
    left = within(session, ours) if ours or not foreign else None
    return left, with_names(foreign, world)


def within(session: Session, panes: tuple[Pane, ...]) -> Session:
    """Return the session with only these of its panes."""
    return session if panes == session.panes else replace(session, panes=panes)


def own_panes(session: Session, agent: Pane | None) -> tuple[Pane, ...]:
    """Return the panes without those of other windows that are linked into another session."""
    if agent is None or not any(map(session.shares, session.panes)):
        return session.panes
    now = next((pane for pane in session.panes if pane.id == agent.id), agent)
    return tuple(
        pane
        for pane in session.panes
        if pane.window_id == now.window_id or not session.shares(pane)
    )


def _may_end(pane: Pane, known: Known, profile: Profile | None, world: World) -> bool:
    if pane.id in known.struck or (known.agent is not None and pane.id == known.agent.id):
        return True
    planned = any((it.id, it.pid) == (pane.id, pane.pid) for it in known.planned)
    if planned and (known.whole_session or not began_work(pane, world)):
        return True
    return not is_busy(pane, world) or is_mate(pane, known.leader_of, profile, world)


def is_mate(
    pane: Pane, conversations: frozenset[str], profile: Profile | None, world: World
) -> bool:
    """Tell whether the agent itself opened the pane: its process names the agent's conversation as
    its leader."""
    if profile is None or not profile.mates:
        return False
    return any(
        _led_by(world.names_of(process).argv, profile.mates) & conversations
        for process in agent_in(pane, profile, world)
    )


def conversations_of(
    agent: Iterable[Process], known: Iterable[str | None], profile: Profile | None, world: World
) -> frozenset[str]:
    """Return the conversations of an agent that may have teammates: the recorded ones, and the
    words of its command line."""
    if profile is None or not profile.mates:
        return frozenset()
    words = chain.from_iterable(world.names_of(process).argv for process in agent)
    return frozenset(word for word in (*known, *words) if word)


def _led_by(argv: tuple[str, ...], flags: tuple[str, ...]) -> frozenset[str]:
    pairs = zip(argv, argv[1:])  # noqa: B905, RUF007 - each word and its next
    joined = (word.partition("=")[2] for word in argv if word.partition("=")[0] in flags)
    return frozenset((*(value for flag, value in pairs if flag in flags), *joined))


def holder_of(pane: Pane, session: Session | None, server: ServerLook) -> Session | None:
    """Return the other session that this pane was moved into; None if it is still in place, or
    gone."""
    if not isinstance(server, Server) or (session is not None and session.holds(pane.id)):
        return None
    same = (pane.id, pane.pid, False)
    others = (
        one for one in server.sessions if any((it.id, it.pid, it.dead) == same for it in one.panes)
    )
    return next(others, None)
