"""Several rows of one pane: it is ended once, and the rows that were seen in it end with it.

A pid in a row is a memory, and small numbers come again: two rows are of one pane only where both
were seen in it. Never writes a row, and never asks tmux."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tmuxreap.core.model import ProcessId, Row, Server
from tmuxreap.ending.ending import EndingState
from tmuxreap.proof.servers import Servers


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


def twins_of(ending: EndingState, rows: Iterable[Row], servers: Servers) -> tuple[Row, ...]:
    """Return the other running rows of the pane that was ended."""
    if ending.row.status.ended:
        return ()
    others = (row for row in rows if row.name != ending.name and not row.status.ended)
    return tuple(row for row in others if _is_of_pane(row, ending, servers))


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
    # First what costs nothing: with a hundred endings this is asked of ten thousand pairs.
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
