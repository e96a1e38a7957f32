"""Which tmux server a row, or a word on the command line, means: the path of its socket. Asks no
server."""

from __future__ import annotations

from collections.abc import Iterable

from tmuxreap.core.model import Row
from tmuxreap.core.values import frozen
from tmuxreap.system.environment import Settings
from tmuxreap.system.tmux.sockets import socket_path


@frozen
class Servers:
    settings: Settings
    boot_id: str

    def of(self, row: Row) -> str:
        """Where its server listens: as recorded while this boot lasts, else by tmux's own rules."""
        if row.tmux.socket and row.tmux.of_boot(self.boot_id):
            return row.tmux.socket
        return self.socket(row.tmux_server)

    def of_all(self, rows: Iterable[Row]) -> dict[str, str]:
        """By the names of the rows; the rules are gone through once for each server."""
        named: dict[str | None, str] = {}
        found: dict[str, str] = {}
        for row in rows:
            if row.tmux.socket:
                found[row.name] = self.of(row)
                continue
            if row.tmux_server not in named:
                named[row.tmux_server] = self.of(row)
            found[row.name] = named[row.tmux_server]
        return found

    def socket(self, server: str | None) -> str:
        return socket_path(self.named(server), self.settings.environ, self.settings.uid)

    def named(self, server: str | None) -> str | None:
        """A path is recorded whole: the next command may come from another folder."""
        return str(self.settings.cwd / server) if server and "/" in server else server

    def flag(self, socket: str) -> tuple[str, ...]:
        """What names it on a command line."""
        default = self.socket(None)
        if socket == default:
            return ()
        folder, _, name = socket.rpartition("/")
        return ("--server", name if folder == default.rpartition("/")[0] else socket)

    def near(self, default: str | None) -> list[str]:
        """Of the default server, tmux's and the user's own, and of the one that we run in."""
        found = (self.socket(None), self.socket(default), self.settings.tmux_socket)
        return list(dict.fromkeys(one for one in found if one))

    def same_pane(self, one: Row, other: Row) -> bool:
        """Whether two rows mean the same pane of the same session."""
        here, there = (one.pane.pid, one.terminal), (other.pane.pid, other.terminal)
        if one.pane.pid is None or here != there:
            return False
        if one.tmux.known and other.tmux.known:
            return (one.tmux, one.pane.id) == (other.tmux, other.pane.id)
        return self.of(one) == self.of(other)
