"""`watch`: what `reconcile` does, at the moment that something happens, and in full every interval."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterable, Mapping

from tmuxreap.app import App
from tmuxreap.cases import look_at
from tmuxreap.commands import reconcile
from tmuxreap.errors import Failure
from tmuxreap.model import ProcessId, Row, Server
from tmuxreap.results import PlainResult
from tmuxreap.states import iso
from tmuxreap.values import frozen
from tmuxreap.waiting import Waiter

INTERVAL_S = 10.0
SETTLE_S = 0.01  # an agent that was all of its session: tmux takes a moment to close what is left of it
SETTLE_LOOKS = 5
AGAIN_S = 0.1  # and sometimes a longer one
EXEC_S = 30.0


@frozen
class WatchRequest:
    interval_s: float = INTERVAL_S
    command: str | None = None


Tell = Callable[[PlainResult], None]


def run(app: App, request: WatchRequest, tell: Tell) -> None:
    """Until it is asked to end."""
    told = _Told(tell, request.command)
    waiter = Waiter(app.processes, app.registry.resolved)
    try:
        due = app.clock.monotonic()
        while True:
            watched = _look(app, told)
            if app.clock.monotonic() >= due:
                due = app.clock.monotonic() + request.interval_s
            woken = waiter.wait(watched, due - app.clock.monotonic())
            if woken.ending:
                return
            if woken.gone:
                _let_tmux_close(app, {watched[process] for process in woken.gone}, woken.gone)
                due = min(due, app.clock.monotonic() + AGAIN_S)
    finally:
        waiter.close()


class _Told:
    """Each drift is told when it comes, and again when it comes back; not at every look."""

    def __init__(self, tell: Tell, command: str | None) -> None:
        self._tell = tell
        self._command = command
        self._standing: set[tuple[str, str]] = set()

    def drifts(self, at: float, drifts: Iterable[Mapping[str, object]]) -> None:
        found = {(str(drift["name"]), str(drift["drift"])): drift for drift in drifts}
        for key in found.keys() - self._standing:
            self._event(at, found[key])
        self._standing = {key for key, drift in found.items() if not drift["settled"]}

    def trouble(self, at: float, failure: Failure) -> None:
        """A registry that cannot be read for a moment: said once, and the watch goes on."""
        self.drifts(at, [{"name": "", "drift": failure.code.text, "evidence": failure.message, "settled": False,
                          "hint": failure.hint}])  # fmt: skip

    def _event(self, at: float, facts: Mapping[str, object]) -> None:
        event = {"event": facts["drift"], "timestamp": iso(at), **facts}
        self._tell(PlainResult(str(facts["name"]), event))
        if self._command is not None:
            threading.Thread(target=_execute, args=(self._command, json.dumps(event)), daemon=True).start()


def _let_tmux_close(app: App, sockets: Iterable[str], gone: Iterable[ProcessId]) -> None:
    """Until no pane names a process that is gone, but for those that are to stay; not longer than a moment."""
    pids = {process.pid for process in gone}
    for _ in range(SETTLE_LOOKS):
        app.processes.wait((), SETTLE_S)
        servers = [server for socket in sockets if isinstance(server := app.tmux.look(socket), Server)]
        panes = [pane for server in servers for session in server.sessions for pane in session.panes]
        if not any(pane.pid in pids and pane.remain_on_exit == "off" for pane in panes):
            return


def _look(app: App, told: _Told) -> dict[ProcessId, str]:
    """Reconcile, and who is to be watched from now on: agents, what tmux started, and the servers themselves."""
    at = app.clock.now()
    app.books.hope()
    try:
        result = reconcile.run(app)
        told.drifts(at, [item.as_json() for item in result.results])
        rows = [row for row in app.registry.look().rows if isinstance(row, Row) and not row.status.ended]
    except Failure as failure:
        told.trouble(at, failure)
        return {}
    found: dict[ProcessId, str] = {}
    for sight, _ in look_at(app, rows):
        server = app.processes.identify(sight.server.pid) if isinstance(sight.server, Server) else None
        own = {process.id for process in sight.agent} | (sight.reach.leaders if sight.reach else frozenset())
        found.update({process: sight.socket for process in (*own, server) if process is not None})
    return found


def _execute(command: str, event: str) -> None:
    """The user's command with the event on its stdin; one that hangs is ended."""
    try:
        subprocess.run(["sh", "-c", command], input=event.encode(), timeout=EXEC_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return
