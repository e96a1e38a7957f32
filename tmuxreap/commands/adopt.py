"""`adopt`: registers a session that already exists."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

from tmuxreap.agents.conversations.command_lines import repeatable
from tmuxreap.commands.starting import outside
from tmuxreap.commands.starting.row import (
    Launch,
    failed_launch,
    record_session,
    registered,
)
from tmuxreap.core.answers import Launched
from tmuxreap.core.errors import Code, Failure, command, could_not, declined
from tmuxreap.core.model import (
    Live,
    Outcome,
    Pane,
    RecordedPane,
    Row,
    Server,
    ServerSession,
    Terminal,
    Unreachable,
)
from tmuxreap.core.results import Item, Result, problem_of
from tmuxreap.core.times import iso
from tmuxreap.core.values import frozen, replace
from tmuxreap.proof.identity import unreachable_failure, unreadable_failure
from tmuxreap.proof.observe import BY_PANES, ancestors
from tmuxreap.proof.ownership import Sought
from tmuxreap.proof.panes import agent_in
from tmuxreap.proof.sight import Sight
from tmuxreap.registry.file import RegistryLook
from tmuxreap.registry.rows import parent_of
from tmuxreap.registry.targets import RESERVED
from tmuxreap.registry.transitions import RowEvent, Value
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.elsewhere import Newcomer, describe, registered_elsewhere, rows_elsewhere
from tmuxreap.sessions.registries import note_registry
from tmuxreap.system.tmux.versions import spellings

SHOWN_NAMES = 3


@frozen
class AdoptRequest:
    name: str
    agent: str | None = None
    server: str | None = None
    tags: tuple[str, ...] = ()
    dry_run: bool = False
    force: bool = False  # even if another registry has it
    pid: int | None = None
    pane: str | None = None  # a pane of tmux: %3; or of another terminal: kitty:7
    background: str | None = None  # a session that an agent's own daemon runs: claude:1a2b3c4d

    @property
    def tmux_pane(self) -> str | None:
        if self.pane is not None and self.pane.startswith("%"):
            return self.pane
        return None


@frozen
class AdoptAllRequest:
    server: str | None = None
    tags: tuple[str, ...] = ()
    dry_run: bool = False
    yes: bool = False
    ask: Callable[[str], bool] | None = None  # set on a terminal
    only: frozenset[str] | None = None  # only sessions with these names


def run(context: Context, *requests: AdoptRequest) -> Result:
    """Adopt each requested session; a failure does not keep the others from being adopted."""
    context = context.with_registry_or_new()
    look = context.look_if_there()
    if len(requests) == 1:
        return _result(context, [_adopted(context, requests[0], look)])
    items: list[Item] = []
    for request in requests:
        try:
            items.append(_adopted(context, request, look))
        except Failure as failure:
            items.append(failed_launch(request.name, problem_of(failure)))
        if context.made_registry or look is not None:
            look = context.registry.look()
        else:
            look = None
    return _result(context, items)


def run_all(context: Context, request: AdoptAllRequest) -> Result:
    """Adopt every unregistered agent session on the given server, or else on the default servers
    and those that rows name."""
    context = context.with_registry_or_new()
    look = context.look_if_there()
    rows = look.usable if look is not None else ()
    sights: list[Sight] = []
    if request.server:
        sockets = [context.servers.socket(context.servers.named(request.server))]
        sights = []
    else:
        sockets = context.default_sockets
        sights = context.sights.of(rows, unregistered=True)
    newcomers = _of_this_folder(context, context.newcomers.of(rows, sights, sockets), request)
    if request.only is not None:
        newcomers = [newcomer for newcomer in newcomers if newcomer.name in request.only]
    if not newcomers:
        return replace(_result(context, []), greeting=_none_found(context, rows, request, sockets))
    if request.yes or request.dry_run:
        ask = None
    else:
        ask = request.ask
    if ask is not None and not ask(describe(newcomers)):
        return context.result("adopt", failure=declined("adopt"), more={"registry_made": False})
    requests = []
    for newcomer in newcomers:
        requests.append(
            AdoptRequest(
                newcomer.name,
                newcomer.agent,
                newcomer.socket if newcomer.flag else None,
                request.tags,
                request.dry_run,
                background=newcomer.seat,
            )
        )
    return run(context, *requests)


def _of_this_folder(
    context: Context, found: Sequence[Newcomer], request: AdoptAllRequest
) -> list[Newcomer]:
    """Leave out what the agents' daemons run in other folders, or all of it where a tmux server was
    named: one daemon serves every project of the user."""
    here = os.path.realpath(context.settings.cwd)

    def is_here(one: Newcomer) -> bool:
        if one.folder is None or request.server:
            return False
        return Path(os.path.realpath(one.folder)).is_relative_to(here)

    return [one for one in found if one.seat is None or is_here(one)]


def _none_found(
    context: Context, rows: Sequence[Row], request: AdoptAllRequest, sockets: Sequence[str]
) -> str:
    """Say where was looked, and where else agents run."""
    said = f"no unregistered agent runs on {' or '.join(sockets)}"
    if request.server:
        return said
    others = [one for one in context.newcomers.sockets() if one not in sockets]
    return said + context.newcomers.described(rows, others)


def _result(context: Context, items: Sequence[Item]) -> Result:
    made = context.made_registry
    wrote = any(item.error is None for item in items)
    remark = context.registry_elsewhere if wrote else None
    if wrote:
        note_registry(context.settings, context.registry.resolved)
    return context.result("adopt", items, more={"registry_made": made}, remark=remark)


def _adopted(context: Context, request: AdoptRequest, look: RegistryLook | None) -> Item:
    if request.name in RESERVED:
        hint = "to adopt every agent's session: tmuxreap adopt --all"
        if request.name != "all":
            hint = "rename it: tmux rename-session"
        reason = "the name is reserved for commands"
        raise could_not("adopt", repr(request.name), reason, hint)
    old = registered(look, request.name)
    agent = request.agent or (old.agent if old else None)
    agent = agent or context.profiles.by_name_suffix(request.name)
    if request.background is not None:
        row, sight = _in_daemon(context, request, request.background, look, old)
    elif request.pid is not None or request.pane != request.tmux_pane:
        row, sight = _outside(context, request, look, old, agent)
    else:
        row, sight = _in_tmux(context, request, old, agent)
        _refuse_same_pane(row, look)
    spec = _spec(context, request, row, sight, old)
    if not sight.agent and sight.carrier is None:
        context.warnings.append(_not_seen(request.name, spec.agent, sight))
    if request.dry_run:
        return _planned(spec, row, sight)
    if look is None:
        context.make_registry()
    return record_session(context, row, sight, spec)


def _not_seen(name: str, agent: str, sight: Sight) -> str:
    """Warn that what would be ended as the agent may be the user's own program."""
    owned = [f"{it.process.comm} ({it.process.pid})" for it in sight.owned.own][:SHOWN_NAMES]
    return (
        f"agent_not_seen: no {agent} is seen in {name}, only {', '.join(owned) or 'a dead pane'}:"
        " a stop or kill would end that; if it is a person's own, drop the row:"
        f" {command('forget', name, '--force')}"
    )


def _refuse_anothers(context: Context, name: str, server: Server, session: ServerSession) -> None:
    own = context.own_registry, context.place.boot_id
    other = rows_elsewhere(context.tmux, *own, server, [session]).get(session.id)
    if other is not None:
        raise registered_elsewhere(
            "adopt", name, other, "to record it here as well add --force; see it there with: "
        )


def _outside(
    context: Context,
    request: AdoptRequest,
    look: RegistryLook | None,
    old: Row | None,
    agent: str | None,
) -> tuple[Row, Sight]:
    """Find a session that runs outside tmux."""
    name = request.name
    if request.pid is not None and request.pane is not None:
        reason = "--pid and --pane cannot be combined"
        raise could_not("adopt", name, reason, "name the pane; its process is found")
    _refuse_alive(context, name, old)
    terminal = Terminal.NONE
    pane = RecordedPane()
    if request.pane is not None:
        terminal, pane, leader = outside.named_pane(context, name, request.pane)
    else:
        leader = outside.identify(context, name, request.pid)
    row = Row(name, agent=agent, terminal=terminal, pane=pane)
    row = outside.with_process(context, row, leader)
    return outside.recognise_agent(context, row, look)


def _in_daemon(
    context: Context, request: AdoptRequest, seat: str, look: RegistryLook | None, old: Row | None
) -> tuple[Row, Sight]:
    """Find a session that an agent's own daemon runs."""
    name = request.name
    agent, _, number = seat.partition(":")
    profile = context.profiles.of(agent)
    if profile is None or profile.background is None:
        known = ", ".join(context.profiles.agents.with_background)
        hint = f"write --background AGENT:ID; agents with one: {known}"
        raise could_not("adopt", name, f"{agent!r} is no agent with a daemon of its own", hint)
    _refuse_alive(context, name, old)
    unread: set[str] = set()
    found = context.seats.running(look.usable if look is not None else (), unread=unread)
    one = next((one for one in found if (one.job.agent, one.job.id) == (agent, number)), None)
    if one is None and agent in unread:
        reason = f"the list of {agent}'s own daemon could not be read"
        raise could_not("adopt", name, reason, "try again", Code.TMUX_UNREACHABLE)
    if one is None:
        reason = f"the list of {agent} has no living session {number!r}"
        hint = "see those that are not registered with: tmuxreap list"
        raise could_not("adopt", name, reason, hint, Code.SESSION_NOT_REGISTERED)
    if one.row is not None and one.row.name != name:
        hint = f"see it with: {command('show', one.row.name)}"
        reason = f"the session {seat} is that of {one.row.name}"
        raise could_not("adopt", name, reason, hint, Code.SESSION_EXISTS)
    row = context.seats.row_of(one, name)
    return row, context.sights.of_row(row)


def _refuse_alive(context: Context, name: str, old: Row | None) -> None:
    if old is None or old.status.ended or context.sights.of_row(old).live is Live.GONE:
        return
    hint = f"take another name, or see it with: {command('show', name)}"
    reason = "a session of that name is alive"
    raise could_not("adopt", name, reason, hint, Code.SESSION_EXISTS)


def _refuse_living_elsewhere(context: Context, old: Row | None, session: ServerSession) -> None:
    """Refuse a session that has the name of a row which means another one, of which something
    lives: that would be in no row any more."""
    if old is None or old.status.ended:
        return
    recorded = context.sights.of_row(old)
    known = recorded.session
    if known is not None and (known.id, known.created) == (session.id, session.created):
        return
    processes = context.processes.look()
    here = {pane.pid for pane in session.panes}
    own = [it.process for it in recorded.owned.own]
    living = [it for it in own if here.isdisjoint(ancestors(it.pid, processes))]
    if living:
        alive = ", ".join(f"{process.comm} ({process.pid})" for process in living)
        reason = f"its row means another session, which lives: {alive}"
        hint = f"end that first: {command('stop', old.name)}; or rename the tmux session"
        raise could_not("adopt", old.name, reason, hint, Code.STILL_RUNNING)


def _planned(spec: Launch, row: Row, sight: Sight) -> Item:
    pane: Pane | RecordedPane = sight.pane or row.pane
    return Launched(
        name=spec.name,
        outcome=Outcome.PLANNED,
        agent=spec.agent,
        pane_id=pane.id,
        pid=pane.pid,
        cwd=spec.cwd,
        conversation_id=spec.conversation,
    )


def _in_tmux(
    context: Context, request: AdoptRequest, old: Row | None, agent: str | None
) -> tuple[Row, Sight]:
    """Find the session by name; for a row, also by the spellings that tmux makes of its name."""
    name = request.name
    server_name = context.servers.named(request.server)
    server_name = server_name or (old.tmux_server if old else context.default_server)
    socket = context.servers.socket(server_name)
    server = context.tmux.look(socket)
    if isinstance(server, Unreachable):
        raise unreachable_failure(f"adopt {name}", server)
    if not isinstance(server, Server):
        raise _not_there(name, socket)
    if old is not None:
        names = (name, *spellings(name))
    else:
        names = (name,)
    session = next(filter(None, map(server.named, names)), None)
    if request.tmux_pane is not None:
        session = _holder(name, server, request.tmux_pane)
    if session is None:
        raise unreadable_failure(f"adopt {name}", server, name) or _not_there(name, socket)
    if not request.force:
        _refuse_anothers(context, name, server, session)
    identity = context.place.identity_of(server, session)
    row = Row(name, agent=agent, tmux_server=server_name, tmux=identity)
    row, sight = _seen(context, row, session, request.tmux_pane)
    _refuse_living_elsewhere(context, old, session)
    return row, sight


def _holder(name: str, server: Server, pane: str) -> ServerSession:
    """Return the session that holds this pane, whatever its name."""
    for session in server.sessions:
        if session.holds(pane):
            return session
    hint = f"see its panes with: tmux -S {server.socket} list-panes -a"
    reason = f"there is no pane {pane} on {server.socket}"
    raise could_not("adopt", name, reason, hint, Code.SESSION_NOT_REGISTERED)


def _refuse_same_pane(row: Row, look: RegistryLook | None) -> None:
    """Refuse a pane that a running row of another name has already."""
    for other in look.usable if look is not None else ():
        if other.name == row.name or other.status.ended or row.pane.id is None:
            continue
        if (other.tmux, other.pane.id) == (row.tmux, row.pane.id):
            hint = f"see it with: {command('show', other.name)}"
            reason = f"the pane {row.pane.id} is that of {other.name}"
            raise could_not("adopt", row.name, reason, hint, Code.SESSION_EXISTS)


def _not_there(name: str, socket: str) -> Failure:
    reason = f"there is no tmux session of that name on {socket}"
    hint = "see the sessions with: tmux ls, and name another server with --server"
    return could_not("adopt", name, reason, hint, Code.SESSION_NOT_REGISTERED)


def _seen(
    context: Context, row: Row, session: ServerSession, named: str | None = None
) -> tuple[Row, Sight]:
    """Look at the session as its row would, with the given agent or the only one recognized.
    `named`: the pane that the user means."""
    wanted = Sought(frozenset({session.id}))
    world = context.observer.look([context.servers.of(row)], BY_PANES, wanted=wanted)
    if row.agent:
        candidates = [row.agent]
    else:
        candidates = list(context.profiles.agents)
    matches = []
    for name, pane in product(candidates, session.panes):
        if named in (None, pane.id) and agent_in(pane, context.profiles.of(name), world):
            matches.append((name, pane))
    if row.agent:
        agents = {row.agent}
    else:
        agents = {name for name, _ in matches}
    if len(agents) != 1:
        running = "no agent is recognised in it"
        if agents:
            running = f"several agents run in it: {', '.join(sorted(agents))}"
        raise could_not("adopt", row.name, running, "say which with --agent AGENT")
    panes = list({pane.id: pane for _, pane in matches}.values()) or session.panes
    only = panes[0].id if len(panes) == 1 else None
    recorded = replace(row.pane, id=named or only)
    row = replace(row, agent=agents.pop(), pane=recorded)
    sight = context.sights.of_row(row)
    if sight.trouble is not None:
        raise sight.trouble
    if sight.pane is None:  # it ended between our two looks
        raise _not_there(row.name, sight.socket)
    return row, sight


def _spec(
    context: Context, request: AdoptRequest, row: Row, sight: Sight, old: Row | None
) -> Launch:
    assert row.agent is not None  # noqa: S101 - it was given or recognised
    conversation = context.finder.known_of(row, sight, context.profiles.of(row.agent)).conversation
    own = [it.process for it in sight.owned.own]
    pid = sight.pane.pid if sight.pane else None
    leader = [process for process in own if process.pid == pid]  # what tmux started in the pane
    folders = [context.processes.cwd(process.id) for process in (*sight.agent, *leader)]
    if sight.job is not None:
        folders.append(sight.job.folder)
    return Launch(
        name=row.name,
        agent=row.agent,
        words=(),
        start_command=_start_command(context, row, sight, old),
        cwd=next(filter(None, folders), None) or str(context.settings.cwd),
        server=row.tmux_server,
        socket=sight.socket,
        event=RowEvent.ADOPTED,
        conversation=conversation.id,
        source=conversation.source,
        fields=_fields(context, request, row, old),
        replaces=old,
    )


def _start_command(context: Context, row: Row, sight: Sight, old: Row | None) -> str | None:
    """Return the agent's own command line, for a resume to repeat its flags; None if the row has
    one, or if it is not known."""
    profile = context.profiles.of(row.agent)
    if profile is None or (old is not None and old.start_command):
        return None
    lines = [context.processes.argv(process.id) for process in sight.agent]
    if sight.job is not None:
        # A process in reserve that took the session up shows none of its flags.
        lines = [(*profile.command, *sight.job.flags)]
    found = next(filter(None, (repeatable(profile, line) for line in lines if line)), None)
    if found is None:
        return None
    if found.unknown:
        left_out = f"which flags of {profile.name} a resume may repeat is not known"
        context.warnings.append(f"flags_not_recorded: {row.name}: {left_out}; a resume has none")
    elif found.secret:
        flags = ", ".join(found.secret)
        left_out = f"a secret follows {flags}; a resume leaves it out"
        context.warnings.append(f"flags_not_recorded: {row.name}: {left_out}")
    return shlex.join(found.words)


def _fields(context: Context, request: AdoptRequest, row: Row, old: Row | None) -> dict[str, Value]:
    fields: dict[str, Value] = {}
    if not old:
        fields["created_at"] = iso(context.clock.now())
    if (parent := parent_of(row)) is not None:
        fields["parent"] = parent
    if request.tags:
        fields["tags"] = request.tags
    return fields
