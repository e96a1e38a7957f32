"""Finds agents' sessions without a row, with the commands that register them. Never writes.

A session of another registry does not count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.model import Row, Server, ServerLook, Session
from tmuxreap.core.ports import Tmux
from tmuxreap.core.values import frozen
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.elsewhere import owners_of
from tmuxreap.sessions.panes import agents_in
from tmuxreap.sessions.servers import Servers
from tmuxreap.sessions.sight import Sight
from tmuxreap.system.tmux.versions import spellings

NAMES_SHOWN = 8  # names to print; the rest is counted


@frozen
class Newcomer:
    name: str
    agent: str
    socket: str
    flag: tuple[str, ...] = ()  # selects its server on a command line

    @property
    def command(self) -> str:
        """The command that registers it."""
        return command("adopt", self.name, "--agent", self.agent, *self.flag)

    def as_json(self) -> dict[str, object]:
        return {"name": self.name, "agent": self.agent, "command": self.command}


def all_newcomers(
    context: Context, rows: Sequence[Row], sights: Sequence[Sight], sockets: Iterable[str] = ()
) -> list[Newcomer]:
    """Find newcomers on the servers that were looked at for these rows, and on these sockets."""
    servers = {sight.socket: sight.server for sight in sights}
    more = [socket for socket in dict.fromkeys(sockets) if socket not in servers]
    if more:
        servers |= context.observer.look(more, 0, servers).servers
    return without_row(context, rows, sights, servers)


def describe(found: Sequence[Newcomer]) -> str:
    """Return the names for people, each with its agent."""
    names = [f"{newcomer.name} ({newcomer.agent})" for newcomer in found[:NAMES_SHOWN]]
    rest = [f"{len(found) - NAMES_SHOWN} more"] if len(found) > NAMES_SHOWN else []
    return ", ".join([*names, *rest])


def not_registered(
    servers: Servers, tmux: Tmux, default_server: str | None, target: str
) -> Failure | None:
    """Return the failure for a name without a row, if a session of that name is alive."""
    for socket in servers.default_sockets(default_server):
        server = tmux.look(socket)
        if isinstance(server, Server) and server.named(target) is not None:
            flag = servers.flag(socket)
            hint = f"register it with: {command('adopt', target, *flag)}"
            if not flag:
                hint += f", or end it without: {command('stop', target, '--unregistered')}"
            reason = (
                f"could not find {target!r} in the registry, but tmux has a session of that name"
            )
            return Failure(Code.SESSION_NOT_REGISTERED, reason, hint)
    return None


def without_row(
    context: Context,
    rows: Sequence[Row],
    sights: Sequence[Sight],
    servers: Mapping[str, ServerLook],
) -> list[Newcomer]:
    """Find newcomers on these servers, without a new look."""
    taken = {(sight.socket, sight.session.id) for sight in sights if sight.session is not None}
    names = {row.name for row in rows}
    names |= set(chain.from_iterable(map(spellings, names)))
    result: list[Newcomer] = []
    for socket, server in servers.items():
        if isinstance(server, Server):
            unregistered = [
                s for s in server.sessions if (socket, s.id) not in taken and s.name not in names
            ]
            result += _agents_in(context, server, unregistered)
    return result


def _agents_in(context: Context, server: Server, sessions: Sequence[Session]) -> list[Newcomer]:
    if not sessions:
        return []
    world = context.observer.latest  # from the look at the rows
    if world is None or not world.unregistered or server.socket not in world.servers:
        world = context.observer.look([server.socket], 0)
    agents = {
        session.id: names[0]
        for session in sessions
        if (names := agents_in(session.panes, context.profiles, world))
    }
    candidates = [session for session in sessions if session.id in agents]
    ours, boot_id = context.own_registry, context.place.boot_id
    taken = owners_of(context.tmux, ours, boot_id, server, candidates) if candidates else {}
    flag = context.servers.flag(server.socket)
    return [
        Newcomer(session.name, agents[session.id], server.socket, flag)
        for session in candidates
        if session.id not in taken
    ]
