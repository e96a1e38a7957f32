"""Settles restarts that were cut off: a pane that waits for its agent, or in which an agent began
that nobody recorded, is closed, so that the row is true and can be resumed.

Never closes a pane in which anybody else has begun something."""

from __future__ import annotations

from tmuxreap.core.model import (
    EndVerb,
    NoServer,
    Pane,
    ProcessId,
    RecordedPane,
    Row,
    Server,
    ServerSession,
)
from tmuxreap.core.values import frozen
from tmuxreap.ledger.records import START, Intent
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import MARK

RESTART = EndVerb.RESTART.value


@frozen
class HeldPlace:
    """Where the agent of a restart was, as its intent says."""

    socket: str
    session: str
    pane: str
    server_pid: int
    marks: tuple[str, ...]


@frozen
class Held:
    """What is in the pane of a restart that was cut off. `row`: what a look needs to end it, None
    where there is nothing of ours; `stranger`: somebody else has begun something in it."""

    row: Row | None = None
    stranger: bool = False


def is_of_restart(intent: Intent) -> bool:
    """Tell whether the intent is of a restart that had got as far as to hold the pane."""
    return place_of(intent) is not None


def place_of(intent: Intent) -> HeldPlace | None:
    if intent.verb == START:
        start = intent.recorded_start
        if start.pane is None or start.session is None or start.held_by is None:
            return None
        return HeldPlace(start.socket, start.session, start.pane, start.held_by, start.marks)
    plan = intent.recorded if intent.verb == RESTART else None
    if plan is None or None in (plan.socket, plan.session, plan.pane, plan.held_by):
        return None
    return HeldPlace(str(plan.socket), str(plan.session), str(plan.pane), plan.held_by or 0, ())


def held_by(context: Context, row: Row, intent: Intent) -> Held | None:
    """Return what is in the pane; None if tmux cannot tell."""
    place = place_of(intent)
    if place is None:
        return Held()
    server = context.tmux.look(place.socket)
    if isinstance(server, NoServer):
        return Held()
    if not isinstance(server, Server):
        return None
    if server.pid != place.server_pid:
        return Held()
    for session in server.sessions:
        for pane in session.panes if session.id == place.session else ():
            if pane.id == place.pane:
                return _in_pane(context, row, place, server, session, pane)
    hidden = server.may_hide(place.session, row.name)
    return None if hidden else Held()


def _in_pane(
    context: Context, row: Row, place: HeldPlace, server: Server, session: ServerSession, pane: Pane
) -> Held:
    leader = None
    if not pane.dead:
        leader = context.processes.identify(pane.pid or 0)
        if not _has_mark(context, leader, place):
            return Held(stranger=True)
    start = None if leader is None else leader.start
    recorded = RecordedPane(pid=pane.pid, id=pane.id, start_ticks=start, cwd=row.pane.cwd)
    tmux = context.place.identity_of(server, session)
    agent = context.agents.of(row)
    server_word = row.tmux_server
    return Held(Row(row.name, agent=agent, tmux_server=server_word, tmux=tmux, pane=recorded))


def _has_mark(context: Context, leader: ProcessId | None, place: HeldPlace) -> bool:
    if leader is None:
        return False
    environ = context.processes.environ(leader) or {}
    return environ.get(MARK) in place.marks


def close(context: Context, row: Row) -> bool:
    """End what began in the pane, as a stop does, and close it; tell whether it is gone."""
    from tmuxreap.commands.starting.comeback import close_pane  # few sessions need it

    return close_pane(context, row, EndVerb.STOP)
