"""Finds the row of a hook's report that was recorded before the ledger knew the row, such as one
that another tool has just written: by the process of its pane, an ancestor of the hook's.

Never guesses between two rows, and asks no tmux server."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tmuxreap.core.model import Row
from tmuxreap.registry.rows import ended_epoch

if TYPE_CHECKING:
    from tmuxreap.core.ports import Processes
    from tmuxreap.proof.servers import Servers


def row_of_report(
    said: Mapping[str, object],
    at: float,
    rows: Iterable[Row],
    servers: Servers,
    processes: Processes,
) -> str | None:
    """Return the name of the only row on the report's server that was running then and whose
    pane's process is an ancestor of who reported. Rows with our identity fields are left out: the
    ledger knew those."""
    socket = said.get("socket")
    above = said.get("above")
    agent = said.get("agent")
    if not isinstance(above, list) or not isinstance(socket, str):
        return None
    pids = {pid for pid, start in above if not _is_another(processes, pid, start)}
    place = os.path.realpath(socket)
    names = []
    for row in rows:
        if (
            row.pane.pid in pids
            and not row.tmux.socket
            and row.agent in (None, agent or row.agent)
            and _was_running(row, at)
            and os.path.realpath(servers.of(row)) == place
        ):
            names.append(row.name)
    return names[0] if len(names) == 1 else None


def _is_another(processes: Processes, pid: int, start: int) -> bool:
    """Tell whether the pid has gone to another process since the report."""
    now = processes.identify(pid)
    return now is not None and now.start != start


def _was_running(row: Row, at: float) -> bool:
    return not row.status.ended or (ended_epoch(row) or 0.0) >= at
