"""Agents' sessions that no row has: which there are, on which server, and what registers them.
Looks, and never writes.

A session that another registry has is none of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.model import Row, Server, ServerLook, Session
from tmuxreap.core.values import frozen
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.elsewhere import owners_of
from tmuxreap.sessions.panes import agents_in
from tmuxreap.sessions.sight import Sight
from tmuxreap.system.tmux.versions import spellings

TOLD = 8  # names; more are counted


@frozen
class Newcomer:
    name: str
    agent: str
    socket: str
    flag: tuple[str, ...] = ()  # what names its server on a command line

    def as_json(self) -> dict[str, object]:
        words = ("--agent", self.agent, *self.flag)
        return {
            "name": self.name,
            "agent": self.agent,
            "command": command("adopt", self.name, *words),
        }


def newcomers(context: Context, rows: Sequence[Row], sights: Sequence[Sight]) -> list[Newcomer]:
    """On the servers that were looked at for these rows."""
    servers = {sight.socket: sight.server for sight in sights if isinstance(sight.server, Server)}
    return without_row(context, rows, sights, servers)


def all_newcomers(
    context: Context, rows: Sequence[Row], sights: Sequence[Sight], sockets: Iterable[str]
) -> list[Newcomer]:
    """The same, and on these servers too."""
    servers = {sight.socket: sight.server for sight in sights}
    more = [socket for socket in dict.fromkeys(sockets) if socket not in servers]
    if more:
        servers |= context.observer.look(more, 0, servers).servers
    return without_row(context, rows, sights, servers)


def told(found: Sequence[Newcomer]) -> str:
    """For people: each with its agent."""
    names = [f"{one.name} ({one.agent})" for one in found[:TOLD]]
    more = [f"{len(found) - TOLD} more"] if len(found) > TOLD else []
    return ", ".join([*names, *more])


def not_registered(context: Context, target: str) -> Failure | None:
    """Why a name means no row, where a session of that name is alive."""
    for socket in context.servers.near(context.default_server):
        server = context.tmux.look(socket)
        if isinstance(server, Server) and server.named(target) is not None:
            flag = context.servers.flag(socket)
            adopt = f"register it with: {command('adopt', target, *flag)}"
            end = (
                f", or end it without: {command('stop', target, '--unregistered')}"
                if not flag
                else ""
            )
            return Failure(
                Code.SESSION_NOT_REGISTERED,
                f"could not find {target!r} in the registry, but tmux has a session of that name",
                adopt + end,
            )
    return None


def without_row(
    context: Context,
    rows: Sequence[Row],
    sights: Sequence[Sight],
    servers: Mapping[str, ServerLook],
) -> list[Newcomer]:
    """On these servers, as they were looked at."""
    taken = {(sight.socket, sight.session.id) for sight in sights if sight.session is not None}
    names = {row.name for row in rows}
    names |= set(chain.from_iterable(map(spellings, names)))
    found: list[Newcomer] = []
    for socket, server in servers.items():
        if isinstance(server, Server):
            strangers = [
                s for s in server.sessions if (socket, s.id) not in taken and s.name not in names
            ]
            found += _agents_in(context, server, strangers)
    return found


def _agents_in(context: Context, server: Server, sessions: Sequence[Session]) -> list[Newcomer]:
    if not sessions:
        return []
    world = context.observer.latest  # just made, for the rows
    if world is None or not world.strangers or server.socket not in world.servers:
        world = context.observer.look([server.socket], 0)
    agents = {
        one.id: found[0]
        for one in sessions
        if (found := agents_in(one.panes, context.profiles, world))
    }
    mine = [one for one in sessions if one.id in agents]
    ours, boot_id = context.own_registry, context.place.boot_id
    anothers = owners_of(context.tmux, ours, boot_id, server, mine) if mine else {}
    flag = context.servers.flag(server.socket)
    return [
        Newcomer(one.name, agents[one.id], server.socket, flag)
        for one in mine
        if one.id not in anothers
    ]
