"""One look at the world, as plain data: what `observe` gathers and `sights` judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tmuxreap.core.model import Process, ProcessId, Server, ServerLook, Session
from tmuxreap.core.values import field, frozen
from tmuxreap.sessions.ownership import Index


@frozen
class Names:
    """What a process is called."""

    argv: tuple[str, ...]
    executable: str | None


@frozen
class Places:
    """Which pane each kernel session and each terminal of one tmux server belongs to."""

    ids: frozenset[str] = frozenset()
    by_leader: Mapping[int, str] = field(default_factory=dict)
    by_tty: Mapping[int, str] = field(default_factory=dict)

    def of(self, process: Process, carried: str | None) -> str | None:
        found = self.by_leader.get(process.sid) or self.by_tty.get(process.tty)
        return found or (carried if carried in self.ids else None)


@frozen
class World:
    """One look: every process, the tmux servers that were asked, and where this program itself
    stands in it."""

    host: str
    boot_id: str
    servers: Mapping[str, ServerLook]
    sessions: Mapping[
        tuple[str, str, int], Session
    ]  # by socket, id and creation: among a thousand, one is asked for
    index: Index
    names: Callable[[Process], Names]
    tty_of: Callable[[str], int]
    canonical: Callable[[str], str]  # the one path of a socket
    epoch_of: Callable[[ProcessId], float]
    protected: frozenset[int]  # this program and those that called it
    places: Mapping[str, Places] = field(default_factory=dict)  # by socket


def by_identity(servers: Mapping[str, ServerLook]) -> Mapping[tuple[str, str, int], Session]:
    found = ((socket, server) for socket, server in servers.items() if isinstance(server, Server))
    return {
        (socket, one.id, one.created): one for socket, server in found for one in server.sessions
    }


def places_of(server: ServerLook, tty_of: Callable[[str], int]) -> Places:
    sessions = server.sessions if isinstance(server, Server) else ()
    panes = [pane for session in sessions for pane in session.panes]
    alive = [pane for pane in panes if not pane.dead]
    return Places(
        ids=frozenset(pane.id for pane in panes),
        by_leader={pane.pid: pane.id for pane in alive if pane.pid},
        by_tty={tty: pane.id for pane in alive if (tty := tty_of(pane.tty))},
    )
