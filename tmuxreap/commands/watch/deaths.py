"""Owns which processes' ends concern a row, and what the kernel tells of such an end.

Never looks at rows: that follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tmuxreap.commands.watch.waiting import Waiter
from tmuxreap.core.model import Live, ProcessId, Server
from tmuxreap.core.values import frozen
from tmuxreap.proof.ownership import panes_of
from tmuxreap.proof.sight import Sight
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.under_way import GOOD_EXIT, SERVER
from tmuxreap.system.processes.procfs import is_exiting

# tmux takes a moment to close what is left of an agent
SETTLE_S = (0.0, 0.002, 0.004, 0.008, 0.016, 0.032)
HANGUP_S = 0.1  # what an agent takes to exit after its server
LEAVING_S = 10.0  # a process that closed its files is soon gone, except on a busy machine


@frozen
class _Watched:
    """Processes whose end affects a row: its agent, its pane's first process, and the server."""

    socket: str
    agent: tuple[ProcessId, ...]
    server: ProcessId | None
    alone: bool = False  # the server's only session: the server ends with it

    @property
    def all(self) -> frozenset[ProcessId]:
        return frozenset((*self.agent, self.server) if self.server else self.agent)


class Deaths:
    def __init__(self, context: Context, waiter: Waiter) -> None:
        self._processes = context.processes
        self._clock = context.clock
        self._tmux = context.tmux
        self._waiter = waiter
        self._rows: dict[str, _Watched] = {}
        self._causes: dict[str, str] = {}

    @property
    def awaited(self) -> frozenset[ProcessId]:
        return frozenset().union(*(row.all for row in self._rows.values()))

    def follow(self, sights: Mapping[str, Sight], dropped: Iterable[str]) -> bool:
        """Await the ends of these rows and no more of those dropped. Tell whether a server has
        died since it was looked at: its death would not be reported."""
        for name in dropped:
            self._rows.pop(name, None)
        watched = {name: self._watched(sight) for name, sight in sights.items()}
        self._rows.update(watched)
        return any(
            watched[name].server is None and isinstance(sight.server, Server)
            for name, sight in sights.items()
        )

    def forget_causes(self) -> None:
        self._causes.clear()

    def cause_of(self, name: str) -> str | None:
        """Return the cause of the row's end, even if it was not reported yet."""
        row = self._rows.get(name)
        if name not in self._causes and row is not None:
            return self._cause(row, frozenset(filter(self._is_over, row.agent)))
        return self._causes.get(name)

    def hear(self, gone: frozenset[ProcessId]) -> frozenset[str]:
        """Keep the causes of these deaths, and return the names of the rows that they affect."""
        touched = {name: row for name, row in self._rows.items() if row.all & gone}
        # tmux may hear that a terminal closed before the process that closed it is dead.
        dying = gone
        for row in touched.values():
            dying |= frozenset(filter(is_exiting, row.agent))
        for row in touched.values():
            if row.server in gone:  # its agents got a hangup, and take a moment to exit
                self._await_exit(set(row.agent) - gone)
        self._let_tmux_close({row.socket for row in touched.values()}, gone)
        for name, row in touched.items():
            cause = self._cause(row, dying)
            if cause and not (cause == GOOD_EXIT and name in self._causes):
                self._causes[name] = cause
        self._waiter.remember_memory()
        return frozenset(touched)

    def _await_exit(self, left: set[ProcessId]) -> None:
        until = self._clock.monotonic() + HANGUP_S
        while left and self._clock.monotonic() < until:
            left -= self._processes.wait(left, until - self._clock.monotonic())

    def _let_tmux_close(self, sockets: Iterable[str], gone: Iterable[ProcessId]) -> None:
        """Wait a moment until tmux closed the panes of dead processes, except those set to
        remain."""
        pids = {process.pid for process in gone}
        for pause_s in SETTLE_S:
            self._processes.wait((), pause_s)
            looks = [self._tmux.look(socket) for socket in sockets]
            panes = panes_of([server for server in looks if isinstance(server, Server)])
            if not any(one.pid in pids and one.remain_on_exit == "off" for _, _, one in panes):
                return

    def _cause(self, row: _Watched, gone: frozenset[ProcessId]) -> str | None:
        """Tell how the row ended. A server closes its files before it exits, so its agents' deaths
        may be reported first; and the server of the last agent ends after that agent."""
        ends = []
        for process in row.agent:
            if process in gone:
                ends.append(self._waiter.how_ended(process))
        # A process that was killed is the cause; the others then exited cleanly on the hangup.
        own = min(filter(None, ends), key=lambda how: how == GOOD_EXIT, default=None)
        server = row.server
        if server is None or not (server in gone or self._is_over(server)):
            return own
        self._processes.wait({server}, LEAVING_S)  # it is exiting: how it ends tells more
        how = self._waiter.how_ended(server)
        if row.alone and own == GOOD_EXIT and how in (None, GOOD_EXIT):
            return own
        return f"{SERVER} ({how})" if how else SERVER

    def _is_over(self, process: ProcessId) -> bool:
        return self._processes.refresh(process) is None or is_exiting(process)

    def _watched(self, sight: Sight) -> _Watched:
        agent = {one.id: None for one in sight.agent}  # first, because its own end is the cause
        living = (*agent, *(_living(sight) - agent.keys()))
        if not isinstance(sight.server, Server):
            return _Watched(sight.socket, living, None)
        server = self._processes.identify(sight.server.pid)
        return _Watched(sight.socket, living, server, len(sight.server.sessions) == 1)


def _living(sight: Sight) -> frozenset[ProcessId]:
    """Return the processes whose end may end the row, live ones only: a dead one would wake every
    wait. If the session is gone, return its remaining processes."""
    if sight.live is Live.GONE:
        return sight.owned.ids.union(process.id for process in sight.unproven)
    if sight.reach:
        leaders = sight.reach.leaders
    else:
        leaders = frozenset[ProcessId]()
    seen = sight.owned.ids.union(one.process.id for one in sight.owned.spared)
    return (leaders & seen).union(one.id for one in sight.agent)
