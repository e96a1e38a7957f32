"""Finds what a row means before anything is looked at: the socket of its tmux server, its agent,
the profile and the programs to spare. Finds the row of a hook's report that was recorded before the
ledger knew the row. Never asks a server, looks at no process but those that such a report names,
and never guesses between two rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from tmuxreap.agents.load import Profiles
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.programs import Clients, Spares
from tmuxreap.core.model import Row
from tmuxreap.core.values import frozen
from tmuxreap.registry.rows import ended_epoch
from tmuxreap.system.environment import Settings
from tmuxreap.system.tmux.sockets import socket_path

if TYPE_CHECKING:
    from tmuxreap.core.ports import Processes
    from tmuxreap.proof.sight import Sight


@frozen
class Servers:
    settings: Settings
    boot_id: str

    def of(self, row: Row) -> str:
        """Return the row's socket: the recorded one if it is of this boot, else by tmux's rules."""
        if row.tmux.socket and row.tmux.of_boot(self.boot_id):
            return row.tmux.socket
        return self.socket(row.tmux_server)

    def of_all(self, rows: Iterable[Row]) -> dict[str, str]:
        """Return the sockets by row name, applying tmux's rules once for each server."""
        by_server: dict[str | None, str] = {}
        sockets: dict[str, str] = {}
        for row in rows:
            if row.tmux.socket:
                sockets[row.name] = self.of(row)
                continue
            if row.tmux_server not in by_server:
                by_server[row.tmux_server] = self.of(row)
            sockets[row.name] = by_server[row.tmux_server]
        return sockets

    def socket(self, server: str | None) -> str:
        return socket_path(self.named(server), self.settings.environ, self.settings.uid)

    def named(self, server: str | None) -> str | None:
        """Make a path absolute: the next command may run in another folder."""
        if server and "/" in server:
            return str(self.settings.cwd / server)
        return server

    def flag(self, socket: str) -> tuple[str, ...]:
        """Return the flag that selects this server; none for the default."""
        default = self.socket(None)
        if socket == default:
            return ()
        folder, _, name = socket.rpartition("/")
        return ("--server", name if folder == default.rpartition("/")[0] else socket)

    def default_sockets(self, default: str | None) -> list[str]:
        """Return the sockets of tmux's and the user's default servers, and of the caller's."""
        sockets = (self.socket(None), self.socket(default), self.settings.tmux_socket)
        return list(dict.fromkeys(socket for socket in sockets if socket))


class RowAgents:
    def __init__(self, profiles: Profiles, clients: Clients | None = None) -> None:
        self.profiles = profiles
        self._clients = clients
        # A thousand rows name few programs, and each is asked about several times.
        self._by_command = lru_cache(maxsize=1024)(self._by_start_command)
        self._spares: dict[str | None, Spares] = {}

    def of(self, row: Row, sight: Sight | None = None) -> str | None:
        """Return the agent that the row names, else the one that this look found in its pane."""
        return self.named_by(row) or (sight.found if sight is not None else None)

    def named_by(self, row: Row) -> str | None:
        """Return the agent that the row names; else by the last word of its name; else by its start
        command, or by the command that other tools recorded of its pane."""
        if row.agent is not None:
            return row.agent
        by_name = self.profiles.by_name_suffix(row.name)
        return by_name or self._by_command(row.start_command, row.pane.cmd)

    def profile(self, row: Row, sight: Sight | None = None) -> Profile | None:
        return self.profiles.of(self.of(row, sight))

    def spares(self, profile: Profile | None) -> Spares:
        name = profile.name if profile else None
        if name not in self._spares:
            spared = (*self.profiles.common_spare, *(profile.spare if profile else ()))
            self._spares[name] = Spares.of(
                *spared, carriers=self.profiles.carriers, clients=self._clients
            )
        return self._spares[name]

    def _by_start_command(self, *commands: str | None) -> str | None:
        agents = (self.profiles.by_command(command.split()) for command in commands if command)
        return next((agent for agent in agents if agent is not None), None)


def row_of_report(
    said: Mapping[str, object],
    at: float,
    rows: Iterable[Row],
    servers: Servers,
    processes: Processes,
) -> str | None:
    """Return the name of the only row on the report's server that was running then and whose pane
    it came from; if another tool wrote the row, whose pane's process is an ancestor of the
    report's."""
    socket = said.get("socket")
    above = said.get("above")
    agent = said.get("agent")
    if not isinstance(above, list) or not isinstance(socket, str):
        return None
    pids = {pid for pid, start in above if not _is_another(processes, pid, start)}
    pane = said.get("pane"), said.get("server")
    place = os.path.realpath(socket)
    names = []
    for row in rows:
        if row.tmux.socket:
            is_there = (row.pane.id, str(row.tmux.server_pid)) == pane
        else:
            is_there = row.pane.pid in pids
        if (
            is_there
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
