"""Which panes of a session an ending may take: the agent's, those that were judged, and idle
shells. Pure.

It never takes a pane that came since the plan and is at work, and never follows one into another
session."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from tmuxreap.agents.profiles import Profile
from tmuxreap.core.model import Pane, Process, Server, ServerLook, Session
from tmuxreap.core.values import frozen, replace
from tmuxreap.sessions.panes import agent_in, is_busy, took_up_work, with_names
from tmuxreap.sessions.world import World


@frozen
class Judged:
    """The panes of one session at one look: those that may be ended, and those at work that may
    not."""

    session: Session | None  # with its own panes only; None when nothing of it is left to end
    foreign: tuple[Pane, ...] = ()


@frozen
class Known:
    """What is known of a session's panes when it is judged again."""

    agent: Pane | None
    planned: tuple[Pane, ...]
    struck: frozenset[str] = (
        frozenset()
    )  # their ending has begun: what a hook starts in them is ended, too
    whole_session: bool = False
    leader_of: frozenset[str] = frozenset()  # the conversations that team mates name


def judge(session: Session, known: Known, profile: Profile | None, world: World) -> Judged:
    own = own_panes(session, known.agent)
    foreign = tuple(pane for pane in own if not _may_end(pane, known, profile, world))
    ours = tuple(pane for pane in own if pane not in foreign) if foreign else own
    # A window that another session shows too is closed here without harm; a foreign pane keeps its
    # session.
    left = within(session, ours) if ours or not foreign else None
    return Judged(left, with_names(foreign, world))


def within(session: Session, panes: tuple[Pane, ...]) -> Session:
    """The session with these of its panes: most have one."""
    return session if panes == session.panes else replace(session, panes=panes)


def own_panes(session: Session, agent: Pane | None) -> tuple[Pane, ...]:
    """Another window that another session shows too is that one's."""
    if agent is None or not any(map(session.shares, session.panes)):
        return session.panes
    now = next((one for one in session.panes if one.id == agent.id), agent)
    return tuple(
        one for one in session.panes if one.window_id == now.window_id or not session.shares(one)
    )


def _may_end(pane: Pane, known: Known, profile: Profile | None, world: World) -> bool:
    if pane.id in known.struck or (known.agent is not None and pane.id == known.agent.id):
        return True
    planned = any((one.id, one.pid) == (pane.id, pane.pid) for one in known.planned)
    if planned and (known.whole_session or not took_up_work(pane, world)):
        return True
    return not is_busy(pane, world) or is_mate(pane, known.leader_of, profile, world)


def is_mate(
    pane: Pane, conversations: frozenset[str], profile: Profile | None, world: World
) -> bool:
    """The agent opened it itself: what runs there names the agent's conversation as its
    leader's."""
    if profile is None or not profile.mates:
        return False
    return any(
        _led_by(world.names_of(one).argv, profile.mates) & conversations
        for one in agent_in(pane, profile, world)
    )


def conversations_of(
    agent: Iterable[Process], known: Iterable[str | None], profile: Profile | None, world: World
) -> frozenset[str]:
    """The conversations of an agent that may have mates: as recorded, and as its own command line
    tells them."""
    if profile is None or not profile.mates:
        return frozenset()
    said = chain.from_iterable(world.names_of(process).argv for process in agent)
    return frozenset(word for word in (*known, *said) if word)


def _led_by(argv: tuple[str, ...], flags: tuple[str, ...]) -> frozenset[str]:
    pairs = zip(argv, argv[1:])  # noqa: B905, RUF007 - each word and its next
    joined = (word.partition("=")[2] for word in argv if word.partition("=")[0] in flags)
    return frozenset((*(value for flag, value in pairs if flag in flags), *joined))


def holder_of(pane: Pane, session: Session | None, server: ServerLook) -> Session | None:
    """The other session that this pane, with this process, was put into; None where it stands as it
    did, or is no more."""
    if not isinstance(server, Server) or (session is not None and session.holds(pane.id)):
        return None
    same = (pane.id, pane.pid, False)
    others = (
        one for one in server.sessions if any((it.id, it.pid, it.dead) == same for it in one.panes)
    )
    return next(others, None)
