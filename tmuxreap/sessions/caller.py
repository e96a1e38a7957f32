"""The caller: its user, host, tool, and the registered session that it runs in. All verbs ask
here whose session they are called from; whether a target contains the caller, its look tells."""

from __future__ import annotations

import pwd
from collections.abc import Callable, Sequence

from tmuxreap.core.errors import Failure
from tmuxreap.core.model import Row, Server, ServerSession, Terminal
from tmuxreap.core.ports import Processes, Tmux
from tmuxreap.core.values import frozen
from tmuxreap.ledger.books import Books
from tmuxreap.proof.observe import Place
from tmuxreap.proof.sight import Sight
from tmuxreap.system.environment import Settings, pane_word


@frozen
class Caller:
    """Who called this command. `look`: looks at rows, and remembers nothing."""

    settings: Settings
    tool: str
    place: Place
    tmux: Tmux
    processes: Processes
    books: Books
    look: Callable[[Sequence[Row]], Sequence[Sight]]

    def facts(self) -> dict[str, object]:
        """Return the caller in the form that is recorded with an ending."""
        uid = self.settings.uid
        try:
            user = pwd.getpwuid(uid).pw_name
        except KeyError:
            user = str(uid)
        return {
            "user": user,
            "host": self.place.host,
            "tool": self.tool,
            "session": self.session(),
        }

    def session(self) -> str | None:
        """Return the running row that the caller is in: by its session's mark, else by its pane,
        else by a look at the sessions that it may be in."""
        try:
            registry = self.books.registry.look()
        except Failure:  # an ending without a row needs no registry
            return None
        mark = self.settings.mark
        if mark is not None and (name := self.books.name_of(mark)) is not None:
            row = registry.named(name)
            if row is not None and not row.status.ended:
                return name
            return None
        running = [row for row in registry.usable if not row.status.ended]
        for row in running:
            pane = row.tmux.server_pid and row.pane.id
            if pane and pane_word(row.tmux.server_pid, pane) == self.settings.pane:
                return row.name
        return next((row.name for row in self.rows_around(running)), None)

    def rows_around(self, rows: Sequence[Row]) -> list[Row]:
        """Return those of the rows whose sessions the caller runs in. Looks only at those that it
        may be in: every ending records its caller."""
        if not rows:
            return []
        above = _ancestors(self.processes, self.place.pid)
        session = self._session_around()
        likely = [
            row
            for row in rows
            if row.pane.pid in above
            or row.terminal is not Terminal.TMUX
            or (session is not None and session.id == row.tmux.session_id)
            or (session is not None and session.name == row.name)
        ]
        if not likely:
            return []
        sights = self.look(likely)
        return [row for row, it in zip(likely, sights, strict=True) if it.contains_caller]

    def _session_around(self) -> ServerSession | None:
        """Return the session whose pane the caller runs in, as its tmux server tells it now."""
        socket = self.settings.tmux_socket
        pane = self.settings.environ.get("TMUX_PANE")
        if socket is None or pane is None:
            return None
        server = self.tmux.look(socket)
        if not isinstance(server, Server):
            return None
        sessions = (one for one in server.sessions if any(it.id == pane for it in one.panes))
        return next(sessions, None)


def _ancestors(processes: Processes, pid: int) -> set[int]:
    """Return a process and its ancestors, without a look at all processes."""
    above: set[int] = set()
    while pid not in above and (process := processes.identify(pid)) is not None:
        above.add(pid)
        facts = processes.refresh(process)
        pid = facts.ppid if facts is not None else 0
    return above
