"""Judges one row by one look at the world: does its session exist, is it still the same, which
pane and which processes are the agent's. Never looks itself; only the lists of agents' own daemons
are read when a row needs them (`World.lists`)."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from tmuxreap.agents.conversations.find import GUESS
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.programs import Spares
from tmuxreap.core.errors import Code, Failure, could_not
from tmuxreap.core.model import (
    Live,
    Pane,
    Process,
    ProcessId,
    Row,
    Server,
    ServerLook,
    ServerSession,
    Terminal,
)
from tmuxreap.core.values import replace
from tmuxreap.proof.identity import (
    find_session,
    has_its_name_only,
    moved_failure,
    outlived_failure,
    pick_pane,
    tracked_process,
    unreadable_failure,
    was_made_in,
    why_unknown,
)
from tmuxreap.proof.ownership import Owned, World, owned
from tmuxreap.proof.panes import (
    KnownPanes,
    agent_among,
    agent_in,
    carried_in,
    conversations_of,
    holder_of,
    judge_panes,
    live_in,
    nested_in,
    on_terminal,
    own_panes,
    within,
)
from tmuxreap.proof.reach import (
    belongings_of,
    headless_reach,
    job_reach,
    reach_of,
    recorded_leader,
    spare_reason,
    unproven_of,
)
from tmuxreap.proof.sight import Past, Sight
from tmuxreap.registry.rows import recorded_conversation

if TYPE_CHECKING:
    from tmuxreap.agents.conversations.jobs import Job, Jobs

    Listed = tuple[Jobs | None, Job | None]  # a list, and the session in it

NOTHING = (None, None)


def see(
    row: Row, socket: str, profile: Profile | None, spares: Spares, world: World, past: Past
) -> Sight:
    """Judge a row at a first look: its session, by identity or else by name; then the agent's pane,
    the agent in it, and the processes. What cannot be told is in `trouble`."""
    server = world.servers[socket]
    trouble = why_unknown(row, server, world)
    if trouble is not None:
        return Sight(Live.UNKNOWN, socket, server, trouble=trouble)
    if row.terminal is Terminal.BACKGROUND:
        return _see_job(row, socket, profile, spares, world, past)
    if row.terminal is not Terminal.TMUX:
        return _see_headless(row, socket, profile, spares, world, past)
    session = find_session(row, server, profile, world, past)
    if isinstance(session, Failure) and session.code is not Code.SESSION_REPLACED:
        return Sight(Live.UNKNOWN, socket, server, trouble=session)
    outlived = _outlived(row, session, server, spares, world, past)
    if isinstance(session, Failure):
        return outlived or Sight(Live.REPLACED, socket, server, trouble=session)
    if outlived is not None:
        return outlived
    whole = session
    picked = None
    if session:
        picked = pick_pane(row, session, profile, world, past)
    if isinstance(picked, Failure):
        trouble = picked
        pane = None
    else:
        trouble = None
        pane = picked
    foreign: tuple[Pane, ...] = ()
    agent = agent_in(pane, profile, world) if pane else ()
    leads = conversations_of(agent, dict(row.conversations).values(), profile, world)
    if session is not None and trouble is None:
        session, foreign = _judge_first(session, pane, leads, profile, world, past)
    reach = reach_of(row, server, session, world, past)
    belongings = belongings_of(server, session, reach, spares, world)
    sight = Sight(
        Live.GONE,
        socket,
        server,
        session,
        whole,
        owned=belongings,
        foreign=foreign,
        reach=reach,
        contains_caller=_contains_caller(belongings, world),
        trouble=trouble,
        leads=leads if session else frozenset(),
    )
    if trouble is not None:
        return replace(sight, live=Live.ALIVE)
    if session is not None and pane is not None:
        if agent:
            nested = None
        else:
            nested = nested_in(belongings, profile, world)
        return replace(_with_agent(sight, row, pane, agent, profile, spares, world), nested=nested)
    others = list(foreign)
    if whole is not None:
        others += [pane for pane in whole.panes if not was_made_in(whole, pane, world)]
    agent = _agent_left_behind(row, belongings, others, profile, world, past)
    if session is None:
        unproven = unproven_of(row, server, belongings, spares, world, past)
        left = replace(sight, agent=agent, unproven=unproven)
        jobs, job = _taken_along(agent, row, profile, world)
        if jobs is not None and not jobs.is_known:
            return Sight(Live.UNKNOWN, socket, server, trouble=_unlisted(row))
        if job is not None:
            return _see_moved(left, job.id, row, profile, spares, world, past)
        return left
    # The agent's pane is gone; the others may be foreign.
    leads = conversations_of(agent, leads, profile, world)
    sight = replace(sight, agent=agent, leads=leads)
    return _without_pane(sight, row, profile, world)


def _outlived(
    row: Row,
    session: ServerSession | Failure | None,
    server: ServerLook,
    spares: Spares,
    world: World,
    past: Past,
) -> Sight | None:
    """Return what is seen of a running row whose recorded processes live, while a session that only
    has its name is there: that one is another's."""
    if session is None or row.status.ended:
        return None
    if isinstance(session, ServerSession) and not has_its_name_only(
        row, session, server, world, past
    ):
        return None
    reach = reach_of(row, server, None, world, past)
    left = belongings_of(server, None, reach, spares, world)
    unproven = unproven_of(row, server, left, spares, world, past)
    known = [it.process for it in left.own]
    if not (known or unproven):
        return None
    if isinstance(session, Failure):
        trouble = session
    else:
        trouble = outlived_failure(row, session, [*known, *unproven][0], adopts=not known)
    return Sight(
        Live.REPLACED, server.socket, server, owned=left, unproven=unproven, trouble=trouble
    )


def see_again(row: Row, profile: Profile | None, spares: Spares, world: World, past: Past) -> Sight:
    """Judge the same session at a later look, by its identity alone and not by its name."""
    first = past.first
    assert first is not None  # noqa: S101 - there was a first look
    server = world.servers[first.socket]
    trouble = why_unknown(row, server, world)
    if trouble is not None:
        return Sight(Live.UNKNOWN, first.socket, server, trouble=trouble)
    if row.terminal is Terminal.BACKGROUND:
        return _see_job(row, first.socket, profile, spares, world, past)
    if first.job is not None and first.session is None:
        reach = reach_of(row, server, None, world, past)
        belongings = belongings_of(server, None, reach, spares, world)
        unproven = unproven_of(row, server, belongings, spares, world, past)
        left = Sight(
            Live.GONE, first.socket, server, owned=belongings, reach=reach, unproven=unproven
        )
        return _see_moved(left, first.job.id, row, profile, spares, world, past)
    if row.terminal is not Terminal.TMUX:
        return _see_headless(row, first.socket, profile, spares, world, past)
    whole = _session_still_there(first, server, world)
    session_id = first.session.id if first.session else None
    hidden = unreadable_failure(f"look at {row.name}", server, row.name, session_id)
    if whole is None and hidden is not None:
        return Sight(Live.UNKNOWN, first.socket, server, trouble=hidden)
    session, foreign = _judge_again(whole, profile, world, past)
    reach = reach_of(row, server, session, world, past, foreign_seen=bool(foreign))
    belongings = belongings_of(server, session, reach, spares, world)
    holder = None
    if first.pane is not None:
        holder = holder_of(first.pane, whole, server)
    if holder is not None and _same_server(first, server):
        trouble = moved_failure(row, holder, lives=True)
        return Sight(
            Live.REPLACED, first.socket, server, session, whole, owned=belongings, trouble=trouble
        )
    sight = Sight(
        Live.GONE,
        first.socket,
        server,
        session,
        whole,
        owned=belongings,
        foreign=foreign,
        reach=reach,
    )
    if session is None:
        return replace(sight, unproven=unproven_of(row, server, belongings, spares, world, past))
    pane = next((pane for pane in session.panes if first.pane and pane.id == first.pane.id), None)
    if pane is None:
        return _without_pane(sight, row, profile, world)
    agent = agent_in(pane, profile, world)
    return _with_agent(sight, row, pane, agent, profile, spares, world)


def _with_agent(
    sight: Sight,
    row: Row,
    pane: Pane,
    agent: tuple[Process, ...],
    profile: Profile | None,
    spares: Spares,
    world: World,
) -> Sight:
    """Add what runs in the agent's pane."""
    carrier = carried_in(row, pane, agent, profile, spares.carriers, world)
    keyed = on_terminal(pane, agent, world)
    if carrier:
        keyed = (carrier.process,)
    live = Live.ALIVE if carrier else live_in(pane, agent, world)
    jobs, job = _parked(agent, row, profile, world)
    if live is Live.AGENT_GONE and (profile is None or profile.own_server is None):
        # A shell is left where its agent was. A server is asked once that pane is gone.
        jobs, job = _continued(row, profile, world)
    if job is not None and live is Live.AGENT_GONE:
        live = Live.ALIVE
    if jobs is not None and not jobs.is_known:
        return replace(sight, live=Live.UNKNOWN, pane=pane, trouble=_unlisted(row))
    daemon = None
    if jobs is not None and job is not None:
        daemon = jobs.daemon
    return replace(
        sight,
        job=job,
        daemon=daemon,
        live=live,
        pane=pane,
        agent=agent,
        keyed=keyed,
        carrier=carrier,
    )


def _without_pane(sight: Sight, row: Row, profile: Profile | None, world: World) -> Sight:
    """Add what runs of an agent whose pane is gone, while its session has others."""
    jobs, job = NOTHING
    if profile is not None and profile.own_server is None:
        jobs, job = _taken_along(sight.agent, row, profile, world)
    if jobs is not None and not jobs.is_known:
        return replace(sight, live=Live.UNKNOWN, trouble=_unlisted(row))
    if jobs is None or job is None:
        return replace(sight, live=Live.AGENT_GONE)
    return replace(sight, live=Live.ALIVE, job=job, daemon=jobs.daemon)


def _taken_along(
    agent: tuple[Process, ...], row: Row, profile: Profile | None, world: World
) -> Listed:
    """Return the session in its own daemon to which an agent without a pane took a running row's
    conversation: as it says itself while it lives."""
    if not agent:
        return _continued(row, profile, world)
    if row.status.ended:
        return NOTHING
    return _parked(agent, row, profile, world)


def _parked(agent: tuple[Process, ...], row: Row, profile: Profile | None, world: World) -> Listed:
    """Return the session in its own daemon that the agent in the pane moved its conversation to."""
    if profile is None or not profile.parks:
        return NOTHING
    jobs, job = world.lists().parked(row, profile, tuple(process.id for process in agent))
    if job is None or not job.lives:
        return jobs, None
    return jobs, job


def _continued(row: Row, profile: Profile | None, world: World) -> Listed:
    """Return the session in its own daemon in which the agent continued a running row's
    conversation, and left the pane. A list that cannot be read may have it. A conversation that is
    only a guess is not followed: it may be another agent's."""
    if row.status.ended or profile is None or profile.background is None:
        return NOTHING
    if recorded_conversation(row, profile.name) is None or row.conversation_source == GUESS:
        return NOTHING
    return world.lists().continued(row, profile)


def _judge_first(
    session: ServerSession,
    pane: Pane | None,
    leads: frozenset[str],
    profile: Profile | None,
    world: World,
    past: Past,
) -> tuple[ServerSession | None, tuple[Pane, ...]]:
    """Return the session with the panes that an ending takes, and the foreign panes."""
    if past.pane_only:
        return (replace(session, panes=(pane,)) if pane else None), ()
    own = within(session, own_panes(session, pane))
    if past.whole_session:
        return own, ()
    _, foreign = judge_panes(session, KnownPanes(pane, (), leader_of=leads), profile, world)
    return own, foreign


def _judge_again(
    session: ServerSession | None, profile: Profile | None, world: World, past: Past
) -> tuple[ServerSession | None, tuple[Pane, ...]]:
    """Return the same at a later look: panes that were not planned are judged by what they run."""
    first = past.first
    if session is None or first is None:
        return None, ()
    if past.pane_only:
        panes = tuple(
            pane for pane in session.panes if first.pane is not None and pane.id == first.pane.id
        )
        return (replace(session, panes=panes) if panes else None), ()
    planned = first.session.panes if first.session else ()
    known = KnownPanes(first.pane, planned, past.struck, past.whole_session, first.leads)
    return judge_panes(session, known, profile, world)


def _session_still_there(first: Sight, server: ServerLook, world: World) -> ServerSession | None:
    session = first.session
    if session is None or not isinstance(server, Server) or not _same_server(first, server):
        return None
    return world.sessions.get((server.socket, session.id, session.created))


def _same_server(first: Sight, server: ServerLook) -> bool:
    if not isinstance(server, Server) or not isinstance(first.server, Server):
        return False
    return (server.pid, server.started) == (first.server.pid, first.server.started)


def _agent_left_behind(
    row: Row,
    belongings: Owned,
    others: Collection[Pane],
    profile: Profile | None,
    world: World,
    past: Past,
) -> tuple[Process, ...]:
    """Return an agent that outlived its session or its pane; without a profile, the process that
    tmux had started in the pane. One in a pane of others is another."""
    theirs = {pane.pid for pane in others}
    alive = [one.process for one in belongings.own if one.process.sid not in theirs]
    if profile is not None:
        return agent_among(alive, profile, world)
    leaders = recorded_leader(row, world) | {
        known for known in past.remembered if known.pid == row.pane.pid
    }
    return tuple(process for process in alive if process.id in leaders)


def _contains_caller(belongings: Owned, world: World) -> bool:
    return any(belonging.process.pid in world.protected for belonging in belongings.own)


def _see_headless(
    row: Row, socket: str, profile: Profile | None, spares: Spares, world: World, past: Past
) -> Sight:
    """Judge a session without tmux, identified by its process and its start time, or by our
    mark."""
    leader = tracked_process(row, world)
    known = row.pane.pid is not None and row.pane.created_epoch is not None
    reach = headless_reach(leader, past)
    belongings = owned(world.index, reach, spare_reason(spares, world))
    if known or past.mark or row.status.ended:
        trouble = None
    else:
        trouble = _untracked(row)
    server = world.servers[socket]
    if trouble is not None:
        return Sight(Live.UNKNOWN, socket, server, trouble=trouble)
    agent = agent_among([belonging.process for belonging in belongings.own], profile, world)
    # Processes left behind are not the agent, where the profile can tell them apart.
    marked = past.mark and (agent or (profile is None and belongings.own))
    live = Live.ALIVE if leader or marked else Live.GONE
    inside = _contains_caller(belongings, world)
    return Sight(
        live, socket, server, agent=agent, owned=belongings, reach=reach, contains_caller=inside
    )


def _see_job(
    row: Row, socket: str, profile: Profile | None, spares: Spares, world: World, past: Past
) -> Sight:
    """Judge a session that the agent's own daemon runs, by the agent's list and its processes."""
    server = world.servers[socket]
    jobs = world.lists().of_row(row, profile)
    if not jobs.is_known:
        return Sight(Live.UNKNOWN, socket, server, trouble=_unlisted(row))
    job = jobs.of(row.pane.id or "")
    own: frozenset[ProcessId] = frozenset()
    if job is not None:
        own = frozenset(job.processes)
    spare = spare_reason(spares, world)
    known = own | past.remembered
    reach = job_reach(own, past)
    belongings = owned(world.index, reach, lambda it: None if it.id in known else spare(it))
    process = None
    if job is not None and job.process is not None:
        process = world.index.living(job.process)
    daemon = jobs.daemon
    if job is not None and job.server is not None:
        daemon = job.server.pid
    live = Live.GONE
    # One that its daemon has not brought back yet lives, too.
    comes_back = daemon is not None and job is not None and job.begun and not job.ended
    if job is not None and (job.lives or comes_back):
        live = Live.ALIVE
    return Sight(
        live,
        socket,
        server,
        agent=(process,) if process is not None else (),
        owned=belongings,
        reach=reach,
        contains_caller=_contains_caller(belongings, world),
        job=job if live is Live.ALIVE else None,
        daemon=daemon,
    )


def _see_moved(
    left: Sight,
    number: str,
    row: Row,
    profile: Profile | None,
    spares: Spares,
    world: World,
    past: Past,
) -> Sight:
    """Judge a session whose pane is gone, and whose conversation its agent took to its own daemon:
    by what that runs, and by what is `left` of the pane, which may outlive both."""
    seat = replace(row, pane=replace(row.pane, id=number))
    # What was of the pane, and is in another one's by now, is not the daemon's either.
    elsewhere = {it.process.id for it in left.owned.spared}
    known = replace(past, remembered=past.remembered - elsewhere)
    sight = _see_job(seat, left.socket, profile, spares, world, known)
    own = {it.process.pid: it for it in (*left.owned.own, *sight.owned.own)}
    spared = {it.process.pid: it for it in (*left.owned.spared, *sight.owned.spared)}
    belongings = Owned(
        own=tuple(own[pid] for pid in sorted(own)),
        spared=tuple(spared[pid] for pid in sorted(spared.keys() - own.keys())),
    )
    return replace(
        sight,
        owned=belongings,
        reach=left.reach,
        contains_caller=_contains_caller(belongings, world),
        unproven=tuple(one for one in left.unproven if one.id not in belongings.ids),
    )


def _unlisted(row: Row) -> Failure:
    reason = f"the list of {row.agent}'s own daemon could not be read"
    return could_not("look at", row.name, reason, "try again", Code.TMUX_UNREACHABLE)


def _untracked(row: Row) -> Failure:
    reason = "its row does not identify its process: another one may have the pid by now"
    hint = (
        "record pane.pid together with pane.created_epoch (the start of that process, in seconds)"
    )
    return could_not("look at", row.name, reason, hint, Code.NO_TRACKED_PID)
