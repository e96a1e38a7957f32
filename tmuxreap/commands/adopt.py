"""`adopt`: the row of a session that is there already."""

from __future__ import annotations

from collections.abc import Sequence

from tmuxreap.commands.starting.row import Launch, live_row, record_session, registered
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Outcome, Pane, Process, Row, Server, Session, Unreachable
from tmuxreap.core.results import Item, PlainResult, Result
from tmuxreap.core.times import iso
from tmuxreap.core.values import frozen, replace
from tmuxreap.registry.targets import RESERVED
from tmuxreap.registry.transitions import Event, Value
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.conversation import find_conversation
from tmuxreap.sessions.elsewhere import owners_of, registered_elsewhere
from tmuxreap.sessions.identity import not_all_read, not_asked
from tmuxreap.sessions.look import look_at
from tmuxreap.sessions.panes import agent_in
from tmuxreap.sessions.sight import Sight
from tmuxreap.system.tmux.versions import spellings


@frozen
class AdoptRequest:
    name: str
    agent: str | None = None
    server: str | None = None
    tags: tuple[str, ...] = ()
    dry_run: bool = False
    force: bool = False  # also what another registry has


def run(context: Context, request: AdoptRequest) -> Result:
    if request.name in RESERVED:
        reason = f"could not adopt {request.name!r}: that word means something else as a target"
        raise Failure(Code.USAGE, reason, "rename the session: tmux rename-session")
    look = context.registry_if_there()
    old = registered(look, request.name)
    server_name = context.server_named(request.server) or (old.tmux_server if old else None)
    server, session = _session(context, request.name, old, context.socket_named(server_name))
    if not request.force:
        _refuse_anothers(context, request.name, server, session)
    agent = request.agent or (old.agent if old else None) or context.profiles.by_name_suffix(request.name)
    row, sight, agent = _seen(context, request, agent, server_name, server, session)
    wish = _wish(context, request, row, sight, agent, server, old)
    if look is None and not request.dry_run:
        context.registry.create()
    adopted = _planned(wish, sight) if request.dry_run else record_session(context, row, sight, wish, None)
    return Result("adopt", context.registry_name, context.clock.now(), [adopted], tuple(context.warnings))


def _refuse_anothers(context: Context, name: str, server: Server, session: Session) -> None:
    owner = owners_of(context, server, [session]).get(session.id)
    if owner is not None:
        raise registered_elsewhere("adopt", name, owner, "to record it here as well add --force; see it there with: ")


def _planned(wish: Launch, sight: Sight) -> Item:
    assert sight.pane is not None  # noqa: S101 - it was seen without trouble
    told = {"agent": wish.agent, "pane_id": sight.pane.id, "pid": sight.pane.pid, "cwd": wish.cwd}
    known = {"conversation_id": wish.conversation}
    return PlainResult(wish.name, {"outcome": Outcome.PLANNED.value, **told, **known})


def _session(context: Context, name: str, old: Row | None, socket: str) -> tuple[Server, Session]:
    """Of a row, also the session whose name tmux has changed."""
    server = context.tmux.look(socket)
    if isinstance(server, Unreachable):
        raise not_asked(f"adopt {name}", server)
    names = (name, *spellings(name)) if old is not None else (name,)
    session = next(filter(None, map(server.named, names)), None) if isinstance(server, Server) else None
    if session is None or not isinstance(server, Server):
        raise not_all_read(f"adopt {name}", server, name) or _not_there(name, socket)
    return server, session


def _not_there(name: str, socket: str) -> Failure:
    return Failure(
        Code.SESSION_NOT_REGISTERED,
        f"could not adopt {name}: there is no tmux session of that name on {socket}",
        "see the sessions with: tmux ls, and name another server with --server",
    )


def _seen(
    context: Context,
    request: AdoptRequest,
    agent: str | None,
    server_name: str | None,
    server: Server,
    session: Session,
) -> tuple[Row, Sight, str]:
    """The session as a row would see it, and which agent is in it: as told, else by what runs there."""
    row = live_row(context, request.name, agent, server_name, server, session)
    world = context.observer.look([server.socket], 0)
    known = [agent] if agent else list(context.profiles.agents)
    found = [
        (name, pane) for name in known for pane in session.panes if agent_in(pane, context.profiles.of(name), world)
    ]
    agents = {name for name, _ in found}
    if agent is None and len(agents) != 1:
        running = f"several agents run in it: {', '.join(sorted(agents))}" if agents else "no agent is recognised in it"
        raise Failure(Code.USAGE, f"could not adopt {request.name}: {running}", "say which with --agent AGENT")
    name = agent or agents.pop()
    pane = _pane(found, session)
    row = replace(row, agent=name, pane=replace(row.pane, id=pane.id if pane else None))
    sight = look_at(context, [row])[0][0]
    if sight.trouble is not None:
        raise sight.trouble
    if sight.pane is None:  # another ended it between our two looks
        raise _not_there(request.name, server.socket)
    return row, sight, name


def _pane(found: Sequence[tuple[str, Pane]], session: Session) -> Pane | None:
    panes = {pane.id: pane for _, pane in found}
    if len(panes) == 1:
        return next(iter(panes.values()))
    return session.panes[0] if len(session.panes) == 1 else None


def _wish(
    context: Context, request: AdoptRequest, row: Row, sight: Sight, agent: str, server: Server, old: Row | None
) -> Launch:
    conversation = find_conversation(context, row, sight, context.profiles.of(agent)).conversation
    cwd = next((c for p in (*sight.agent, *_leader(sight)) if (c := context.processes.cwd(p.id))), None)
    fields: dict[str, Value] = {} if old else {"created_at": iso(context.clock.now())}
    if request.tags:
        fields["tags"] = request.tags
    return Launch(
        name=request.name,
        agent=agent,
        words=(),
        start_command=None,
        cwd=cwd or str(context.settings.cwd),
        server=row.tmux_server,
        socket=server.socket,
        event=Event.ADOPTED,
        conversation=conversation.id,
        source=conversation.source,
        fields=fields,
    )


def _leader(sight: Sight) -> list[Process]:
    """What tmux started in the pane."""
    return [one.process for one in sight.owned.own if sight.pane and one.process.pid == sight.pane.pid]
