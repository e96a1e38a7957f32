"""Owns libtmux: its sessions and panes as targets, and our sessions as its objects. Compares IDs,
never only names. Imported when a libtmux object is given or requested."""

from __future__ import annotations

from collections.abc import Iterable

import libtmux
from libtmux import Pane as TmuxPane
from libtmux import Session as TmuxSession

from tmuxreap.core.answers import Session
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Row, Server, ServerSession
from tmuxreap.interfaces.python.options import error_of
from tmuxreap.sessions.context import Context

__all__ = ["TmuxPane", "TmuxSession", "pane_of", "session_of", "target_of"]


def pane_of(session: Session) -> TmuxPane:
    """Find the pane by its ID, and check that its process is still the same."""
    if session.socket is None or session.pane_id is None:
        raise error_of(_not_found(session.name))
    server = libtmux.Server(socket_path=session.socket)
    try:
        pane = libtmux.Pane.from_pane_id(server=server, pane_id=session.pane_id)
    except Exception:  # noqa: BLE001 - libtmux raises many classes for a missing pane
        raise error_of(_not_found(session.name)) from None
    if session.pid is not None and pane.pane_pid != str(session.pid):
        raise error_of(_not_found(session.name))
    return pane


def session_of(session: Session) -> TmuxSession:
    """Find the session that holds the pane."""
    return pane_of(session).session


def target_of(context: Context, wanted: TmuxSession | TmuxPane) -> str:
    """Find the row of this object, by its IDs on its server."""
    socket = _socket(context, wanted.server)
    server = context.tmux.look(socket)
    session = None
    if isinstance(server, Server):
        session = _seen(server, wanted)
    if session is None or not isinstance(server, Server):
        raise _not_found(str(wanted))
    rows = []
    for row in context.registry.look().usable:
        if context.servers.of(row) == socket:
            rows.append(row)
    name = _row_of(server, session, rows)
    if name is None:
        raise Failure(
            Code.SESSION_NOT_REGISTERED,
            f"could not find {session.name!r}: there is no row of that session on {socket}",
            f"register it: tmuxreap adopt {session.name}",
        )
    return name


def _row_of(server: Server, seen: ServerSession, rows: Iterable[Row]) -> str | None:
    """Find the row by identity, even after a rename; rows of other tools by name."""
    identity = (server.pid, seen.id, seen.created)
    for row in rows:
        tmux = row.tmux
        if (tmux.server_pid, tmux.session_id, tmux.session_created) == identity:
            return row.name
    return next((row.name for row in rows if row.name == seen.name), None)


def _seen(server: Server, wanted: TmuxSession | TmuxPane) -> ServerSession | None:
    if isinstance(wanted, TmuxPane):
        pane = str(wanted.pane_id)
        return next((session for session in server.sessions if session.holds(pane)), None)
    return next((session for session in server.sessions if session.id == wanted.session_id), None)


def _socket(context: Context, server: libtmux.Server) -> str:
    """Find the socket as tmux does: a path, a name, the server that we run in, the default."""
    if server.socket_path:
        return str(server.socket_path)
    if server.socket_name:
        return context.servers.socket(server.socket_name)
    return context.settings.tmux_socket or context.servers.socket(None)


def _not_found(name: str) -> Failure:
    return Failure(
        Code.PROCESS_NOT_FOUND,
        f"could not find the tmux session of {name}: it is not there any more",
        "look again: registry.session(NAME)",
    )
