"""One look at the world, as plain data: what `observe` gathers and `sights` judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tmuxreap.model import Process, ProcessId, Server, ServerLook, Session
from tmuxreap.ownership import Index
from tmuxreap.values import frozen


@frozen
class Names:
    """What a process is called."""

    argv: tuple[str, ...]
    executable: str | None


@frozen
class World:
    """One look: every process, the tmux servers that were asked, and where this program itself stands in it."""

    host: str
    boot_id: str
    servers: Mapping[str, ServerLook]
    sessions: Mapping[tuple[str, str, int], Session]  # by socket, id and creation: among a thousand, one is asked for
    index: Index
    names: Callable[[Process], Names]
    tty_of: Callable[[str], int]
    canonical: Callable[[str], str]  # the one path of a socket
    epoch_of: Callable[[ProcessId], float]
    protected: frozenset[int]  # this program and those that called it


def by_identity(servers: Mapping[str, ServerLook]) -> Mapping[tuple[str, str, int], Session]:
    found = ((socket, server) for socket, server in servers.items() if isinstance(server, Server))
    return {(socket, one.id, one.created): one for socket, server in found for one in server.sessions}
