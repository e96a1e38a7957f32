"""How a session comes to run, which `start` and `resume` share: made in tmux, seen alive and recognised, recorded.

What does not come to life is ended again, and no row of it is left running."""

from __future__ import annotations

import os
import shlex
import uuid
from collections.abc import Mapping, Sequence

from tmuxreap import faults, tmux_commands
from tmuxreap.app import App
from tmuxreap.edits import Unsafe, add_row
from tmuxreap.ending import end_unregistered
from tmuxreap.errors import Code, Failure
from tmuxreap.faults import Step
from tmuxreap.ledger_records import Closing, NewEvent
from tmuxreap.looking import look_at
from tmuxreap.mask import kept_screen
from tmuxreap.model import Pane, RecordedPane, RecordedTmux, Row, Scope, Server, Session, Status, Terminal, Verb
from tmuxreap.plan import Policy
from tmuxreap.profiles import Profile
from tmuxreap.registry import RegistryLook, edited, unsafe
from tmuxreap.results import SessionResult
from tmuxreap.rows import conversation_field, recorded_conversation
from tmuxreap.sessions import session_result
from tmuxreap.settings import MARK, PARENT, REGISTRY_MARK
from tmuxreap.sights import Sight
from tmuxreap.starts import Start, announced
from tmuxreap.states import Changes, Event, Value, iso, revive_changes
from tmuxreap.values import field, frozen, replace

CONFIRM_S = 1.0


@frozen
class Launch:
    """One session that is to be started."""

    name: str
    agent: str
    words: tuple[str, ...]  # what runs in the pane
    start_command: str | None  # what is recorded: without the ID that we gave it
    cwd: str
    server: str | None
    socket: str
    event: Event
    confirm_s: float = CONFIRM_S
    conversation: str | None = None
    source: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Value] = field(default_factory=dict)  # tags, task_id, ttl ...


def launch(app: App, wish: Launch) -> SessionResult:
    """Failure, with nothing left behind, when the agent is not alive and recognised after the confirmation time."""
    app.registry.check_writable()
    mark = str(uuid.uuid4())
    with announced(app, wish.name, wish.event.value, wish.socket, wish.server, wish.agent, mark) as start:
        return _launched(app, wish, mark, start)


def _launched(app: App, wish: Launch, mark: str, start: Start) -> SessionResult:
    profile = app.profiles.of(wish.agent)
    marks = {**wish.environment, MARK: mark, REGISTRY_MARK: str(app.registry.resolved), PARENT: app.settings.caller}
    pane = f"={wish.name}:"
    made, said = app.tmux.create(
        wish.socket,
        tmux_commands.new_session(wish.name, wish.cwd, wish.words, marks),
        # A command that fails at once would take its last words with it.
        tmux_commands.set_pane_option(pane, "remain-on-exit", "on"),
    )
    if not made:
        start.cleared()
        raise _not_made(app, wish, said)
    faults.at(Step.CREATED)
    session_id, pane_id, pid = said.split(":")  # as CREATED_FORMAT has it
    row = _synthetic(app, wish, session_id)
    try:
        sight = _confirmed(app, wish, profile, row, pane_id, int(pid))
    except BaseException:  # also when a person loses patience
        start.cleared(gone=_clear_away(app, row))
        raise
    faults.at(Step.CONFIRMED)
    assert sight.pane is not None  # noqa: S101 - it was confirmed
    app.tmux.run(wish.socket, [tmux_commands.unset_pane_option(sight.pane.id, "remain-on-exit")])
    try:
        return record_session(app, row, sight, wish, mark, start.closing)
    except Failure:
        start.cleared(gone=_clear_away(app, row))  # one that runs and stands nowhere would be nobody's to stop
        raise


def _confirmed(app: App, wish: Launch, profile: Profile | None, row: Row, pane_id: str, pid: int) -> Sight:
    """The session as it is after the time, if the agent lives in it."""
    leader = app.processes.identify(pid)
    gone = app.processes.wait({leader}, wish.confirm_s) if leader else True
    if gone or not row.tmux.known:
        raise _start_failed(wish, profile, True, app.tmux.capture(wish.socket, pane_id) or "")
    sight = look_at(app, [row])[0][0]
    if not sight.agent or sight.pane is None:
        raise _start_failed(wish, profile, False, app.tmux.capture(wish.socket, pane_id) or "")
    if sight.session is not None and sight.session.name != wish.name:
        raise _misnamed(wish, sight.session.name)
    return sight


def _synthetic(app: App, wish: Launch, session_id: str) -> Row:
    """The row that this session will have, as far as a look needs it."""
    server = app.tmux.look(wish.socket)
    found = None
    if isinstance(server, Server):
        found = next((session for session in server.sessions if session.id == session_id), None)
    return live_row(app, wish.name, wish.agent, wish.server, server if isinstance(server, Server) else None, found)


def live_row(
    app: App, name: str, agent: str | None, server_name: str | None, server: Server | None, session: Session | None
) -> Row:
    """A row for a session that has none (yet), with the identity that it has now."""
    identity = RecordedTmux()
    if server is not None and session is not None:
        identity = RecordedTmux(
            socket=server.socket,
            host=app.place.host,
            boot_id=app.place.boot_id,
            server_pid=server.pid,
            server_started=server.started,
            session_id=session.id,
            session_created=session.created,
        )
    return Row(
        index=-1,
        name=name,
        status=Status.RUNNING,
        agent=agent,
        terminal=Terminal.TMUX,
        tags=(),
        task_id=None,
        tmux_server=server_name,
        start_command=None,
        pane=RecordedPane(),
        tmux=identity,
        conversations=(),
        resumable=None,
        stop_reason=None,
        data={},
    )


def record_session(
    app: App, row: Row, sight: Sight, wish: Launch, mark: str | None, closing: Sequence[Closing] = ()
) -> SessionResult:
    """Into the registry: a new row, or the ended one made running again."""
    assert sight.pane is not None  # noqa: S101 - only sessions with a pane are recorded
    fields = _fields(app, row, sight, sight.pane, wish)

    def edit(look: RegistryLook) -> str:
        there = look.named(wish.name)
        if there is None:
            return _added(look, _nested(fields, wish))
        return edited(look, {wish.name: _renewed(there, fields, wish)})

    before, after = app.registry.change(edit)
    old = before.named(wish.name)
    if mark is not None:
        app.books.remember_mark(wish.name, mark)
    app.books.follow(after, [_event(app, row, wish, old, before, mark)], closing)
    now = after.named(wish.name)
    assert now is not None  # noqa: S101 - just written
    return session_result(app, now, replace(sight, trouble=None))


def _fields(app: App, row: Row, sight: Sight, pane: Pane, wish: Launch) -> dict[tuple[str, ...], Value]:
    leader = app.processes.identify(pane.pid)
    fields: dict[tuple[str, ...], Value] = {
        ("agent",): wish.agent,
        ("pane", "pid"): pane.pid,
        ("pane", "cmd"): sight.agent[0].comm if sight.agent else None,
        ("pane", "cwd"): wish.cwd,
        ("pane", "id"): pane.id,
    }
    if leader is not None:
        fields[("pane", "created_epoch")] = round(app.processes.started_epoch(leader), 2)
        fields[("pane", "start_ticks")] = leader.start
    for name in ("socket", "host", "boot_id", "server_pid", "server_started", "session_id", "session_created"):
        fields[("tmux", name)] = getattr(row.tmux, name)
    if wish.server not in (None, "default"):
        fields[("tmux_server",)] = wish.server
    if wish.start_command is not None:
        fields[("start_command",)] = wish.start_command
    fields.update({(name,): value for name, value in wish.fields.items()})
    return fields


def _nested(fields: Mapping[tuple[str, ...], Value], wish: Launch) -> dict[str, object]:
    """A new row in the order in which one likes to read it."""
    row: dict[str, object] = {"name": wish.name, "status": Status.RUNNING.value, **dict(_conversation(wish, None))}
    for path, value in fields.items():
        if len(path) == 1:
            row[path[0]] = list(value) if isinstance(value, tuple) else value
    for path, value in fields.items():
        if len(path) == 2:
            row.setdefault(path[0], {})[path[1]] = value  # type: ignore[index]
    return row


def _renewed(row: Row, fields: Mapping[tuple[str, ...], Value], wish: Launch) -> Changes:
    changes = dict(revive_changes(set(row.data)))
    changes.update({path: value for path, value in fields.items() if path != ("agent",) or row.agent != wish.agent})
    changes.update({(name,): value for name, value in _conversation(wish, row)})
    return changes


def _conversation(wish: Launch, row: Row | None) -> list[tuple[str, Value]]:
    """A new session begins a new conversation, a resumed or adopted one goes on with what is known."""
    field_name = conversation_field(wish.agent)
    if wish.conversation is None and wish.event is not Event.STARTED:
        return [] if row is not None else [(field_name, None)]
    known: list[tuple[str, Value]] = [(field_name, wish.conversation)]
    if wish.source is not None:
        known.append(("conversation_source", wish.source))
    elif row is not None and "conversation_source" in row.data:
        known.append(("conversation_source", None))
    return known


def _added(look: RegistryLook, row: Mapping[str, object]) -> str:
    try:
        return add_row(look.document, row)  # type: ignore[arg-type]
    except Unsafe as error:
        raise unsafe(look.path, error) from None


def _event(app: App, row: Row, wish: Launch, old: Row | None, before: RegistryLook, mark: str | None) -> NewEvent:
    conversation = recorded_conversation(old, wish.agent) if old else None
    data: dict[str, object] = {
        "agent": wish.agent,
        "command": shlex.join(wish.words),
        "conversation": wish.conversation,
        "conversation_before": conversation,
        "mark": mark,
        "tmux": f"{row.tmux.socket},{row.tmux.server_pid}" if row.tmux.known else None,
        "at": iso(app.clock.now()),
    }
    return NewEvent(wish.name, wish.event.value, data, before.text_of(old) if old else None)


def _clear_away(app: App, row: Row) -> bool:
    if not row.tmux.known:  # gone already; by its name alone a stranger's could be meant
        return False
    ended = end_unregistered(app, row, Policy(Verb.KILL, "start_failed", grace_s=1.0, scope=Scope.SESSION))
    return ended.failure is None


def _start_failed(wish: Launch, profile: Profile | None, gone: bool, screen: str) -> Failure:
    after = f"within {wish.confirm_s:g} s"
    reason = f"its command ended {after}" if gone else f"no {wish.agent} was recognised in it {after}"
    shown = kept_screen(screen)
    last = f"; its last screen:\n{shown}" if shown else ""
    known = f" (a {wish.agent} is recognised by: {', '.join(profile.process)})" if profile and not gone else ""
    return Failure(
        Code.START_FAILED,
        f"could not start {wish.name}: {reason}{known}{last}",
        f"try the command by hand: {shlex.join(wish.words)}",
    )


def _misnamed(wish: Launch, name: str) -> Failure:
    return Failure(
        Code.START_FAILED,
        f"could not start {wish.name}: tmux, or a hook of yours, named its session {name}",
        f"take a name that stays as it is, or look at your hooks: tmux show-hooks -g | grep {shlex.quote(name)}",
    )


def _not_made(app: App, wish: Launch, said: str) -> Failure:
    server = app.tmux.look(wish.socket)
    if isinstance(server, Server) and server.named(wish.name) is not None:
        return session_exists(wish.name)
    return Failure(Code.START_FAILED, f"could not start {wish.name}: tmux said: {said}", "see the reason")


def session_exists(name: str) -> Failure:
    return Failure(
        Code.SESSION_EXISTS,
        f"could not start {name}: a tmux session of that name is alive",
        f"end it first with --replace, or record it: tmuxreap adopt {name}",
    )


def existing_folder(name: str, cwd: str) -> str:
    """A folder that is there; tmux would take another one in silence."""
    if not os.path.isdir(cwd):  # noqa: PTH112 - a string from a row or a flag
        raise Failure(Code.START_FAILED, f"could not start {name}: there is no folder {cwd}", "name another with --cwd")
    real = os.path.realpath(cwd)
    if not real.isprintable() and any("\udc80" <= letter <= "\udcff" for letter in real):
        reason = f"could not start {name}: the name of the folder {real} is not UTF-8, and the registry is"
        raise Failure(Code.START_FAILED, reason, "rename it, or name another with --cwd")
    return real
