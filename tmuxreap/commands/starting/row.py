"""Owns what a start writes: the intent that is open until the row is written, the row itself (new,
or the ended one of that name), and the environment of a session that may be restarted. Never starts
or ends anything."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from tmuxreap.core import answers
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import (
    NoServer,
    Outcome,
    Pane,
    RecordedPane,
    Row,
    Scope,
    Status,
    Terminal,
    Unreachable,
)
from tmuxreap.core.ports import Surroundings
from tmuxreap.core.results import Problem
from tmuxreap.core.times import iso
from tmuxreap.core.values import as_dict, field, frozen, replace, slotted
from tmuxreap.ledger import surroundings as stored
from tmuxreap.ledger.records import START, Busy, Closing, Intent, NewEvent, NewIntent, RecordedStart
from tmuxreap.proof.identity import unreachable_failure
from tmuxreap.proof.sight import Sight
from tmuxreap.registry.edits import Unsafe
from tmuxreap.registry.file import RegistryLook, edited
from tmuxreap.registry.rows import (
    BadRow,
    conversation_field,
    fields_of,
    has_field,
    recorded_conversation,
    row_invalid,
    wants_restart,
)
from tmuxreap.registry.transitions import Changes, RowEvent, Value, life_of, revive_changes
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.under_way import under_way
from tmuxreap.system.environment import MARK, PARENT, REGISTRY_MARK, user_here
from tmuxreap.system.machine import escape_prefix

if TYPE_CHECKING:
    from tmuxreap.system.git import Worktree


CONFIRM_S = 1.0
_VERBS = {
    RowEvent.STARTED: "start",
    RowEvent.ADOPTED: "adopt",
    RowEvent.RESUMED: "resume",
    RowEvent.RESTARTED: "restart",
}


@frozen
class Again:
    """An automatic restart."""

    attempt: int
    within: Surroundings
    check: Callable[[], None]  # called before the launch: Failure if it is no longer wanted


@frozen
class Launch:
    """A session to be launched."""

    name: str
    agent: str
    words: tuple[str, ...]  # the command in the pane
    start_command: str | None  # as recorded: without the conversation ID that we added
    cwd: str
    server: str | None
    socket: str
    event: RowEvent
    confirm_s: float = CONFIRM_S
    conversation: str | None = None
    source: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Value] = field(default_factory=dict)  # tags, task_id, ttl ...
    terminal: Terminal = Terminal.TMUX
    worktree: Worktree | None = None  # made before the session, removed with it if the start fails
    again: Again | None = None  # set if a watch restarts a lost session
    facts: Mapping[str, object] = field(default_factory=dict)  # more for its event
    replaces: Row | None = None  # the row of that name, as it was when this was planned


def failed_launch(name: str, error: Problem | None) -> answers.Launched:
    """Return the answer for a session that could not be started."""
    return answers.Launched(name, outcome=Outcome.FAILED, error=error)


def registered(look: RegistryLook | None, name: str) -> Row | None:
    if look is None:
        return None
    for row in look.rows:
        if row.name == name and isinstance(row, BadRow):
            raise row_invalid(look.path, row)
    return look.named(name)


@slotted
class Start:
    """A start in progress, announced by an intent."""

    mark: str
    closing: tuple[Closing, ...] = ()  # closes the intent, together with the write of the row
    is_cleared: bool = False  # nothing of the session exists, or nothing any more


def record_session(
    context: Context, row: Row, sight: Sight, spec: Launch, start: Start | None = None
) -> answers.Session:
    """Write the session to the registry, as a new row or by reviving the ended one."""
    fields = _fields(context, row, sight, spec)

    def edit(look: RegistryLook) -> str:
        current = look.named(spec.name)
        if current is not None:
            _refuse_anothers(current, row, sight, spec)
            return edited(look, {spec.name: _renewed(current, row, fields, spec)})
        try:
            return look.with_row(_nested(fields, spec))  # type: ignore[arg-type]
        except Unsafe as error:
            raise error.failure(look.path) from None

    before, after = context.registry.change(edit)
    if start is not None:
        context.books.remember_mark(spec.name, start.mark)
    event = _event(context, row, spec, before, after, start)
    context.books.follow(after, [event], start.closing if start else ())
    now = after.named(spec.name)
    assert now is not None  # noqa: S101 - just written
    if wants_restart(now) or "restart" in spec.fields:
        save_environment(context, now)
    return context.answers.of_row(now, replace(sight, trouble=None))


def _refuse_anothers(current: Row, row: Row, sight: Sight, spec: Launch) -> None:
    """Refuse to write over a running row that came while the session was begun: nobody has looked
    whether what it means lives, and no other row would tell of that."""
    if current.status.ended or _means(current, row, sight):
        return
    if spec.replaces is not None and _identity(current) == _identity(spec.replaces):
        return
    hint = f"see it with: {command('show', spec.name)}; or take another name"
    reason = "another session was recorded under that name meanwhile"
    raise could_not(_VERBS[spec.event], spec.name, reason, hint, Code.SESSION_EXISTS)


def _means(current: Row, row: Row, sight: Sight) -> bool:
    """Tell whether a row means the session that was begun, by what it says of it: a hook of tmux
    may have recorded that already."""
    known = current.tmux
    if known.known and row.tmux.known:
        ours = row.tmux.server_pid, row.tmux.session_id, row.tmux.session_created
        return (known.server_pid, known.session_id, known.session_created) == ours
    if current.pane.pid is not None:
        return current.pane.pid == (sight.pane or row.pane).pid
    servers = [it.tmux_server or "default" for it in (current, row)]
    return current.terminal is row.terminal and servers[0] == servers[1]


def _identity(row: Row) -> tuple[object, ...]:
    pane = row.pane
    return row.terminal, row.tmux_server, row.tmux, pane.id, pane.pid, pane.start_ticks


def _fields(context: Context, row: Row, sight: Sight, spec: Launch) -> dict[tuple[str, ...], Value]:
    pane: Pane | RecordedPane = sight.pane or row.pane
    leader = None
    if pane.pid is not None:
        leader = context.processes.identify(pane.pid)
    carrier = (sight.carrier.process,) if sight.carrier else ()
    programs = [process.comm for process in (*carrier, *sight.agent)]
    fields: dict[tuple[str, ...], Value] = {
        ("agent",): spec.agent,
        ("pane", "pid"): pane.pid,
        ("pane", "cmd"): programs[0] if programs else None,
        ("pane", "cwd"): spec.cwd,
        ("pane", "id"): pane.id,
    }
    if leader is not None:
        fields[("pane", "created_epoch")] = round(context.processes.started_epoch(leader), 2)
        fields[("pane", "start_ticks")] = leader.start
    fields.update({("tmux", name): value for name, value in as_dict(row.tmux).items()})
    if row.terminal is not Terminal.TMUX:
        fields[("terminal",)] = row.terminal.value
        fields[("pane", "listen_on")] = row.pane.listen_on
    elif spec.server not in (None, "default"):
        fields[("tmux_server",)] = spec.server
    if spec.start_command is not None:
        fields[("start_command",)] = spec.start_command
    if store := context.finder.own_store(row, sight, context.profiles.of(spec.agent)):
        fields[("store",)] = store
    fields.update({(name,): value for name, value in spec.fields.items()})
    return fields


def _nested(fields: Mapping[tuple[str, ...], Value], spec: Launch) -> dict[str, object]:
    """Return a new row with its fields in reading order."""
    row: dict[str, object] = {"name": spec.name, "status": Status.RUNNING.value}
    row.update(_conversation(spec, None))
    inner: dict[str, dict[str, object]] = {}
    for path, value in fields.items():
        if len(path) == 1:
            if isinstance(value, tuple):
                row[path[0]] = list(value)
            else:
                row[path[0]] = value
        elif value is not None or ("terminal",) not in fields:
            inner.setdefault(path[0], {})[path[1]] = value
    return {**row, **inner}


def _renewed(row: Row, now: Row, fields: Mapping[tuple[str, ...], Value], spec: Launch) -> Changes:
    changes = dict(revive_changes(fields_of(row)))
    for path, value in fields.items():
        is_same_agent = path == ("agent",) and row.agent == spec.agent
        if not is_same_agent and (value is not None or has_field(row, *path)):
            changes[path] = value
    if row.terminal is not now.terminal:
        changes[("terminal",)] = now.terminal.value
    changes.update({(name,): value for name, value in _conversation(spec, row)})
    return changes


def _conversation(spec: Launch, row: Row | None) -> list[tuple[str, Value]]:
    """Return the conversation's fields: new for a start, those known for resume and adopt."""
    field_name = conversation_field(spec.agent)
    if spec.conversation is None and spec.event is not RowEvent.STARTED:
        return [] if row is not None else [(field_name, None)]
    values: list[tuple[str, Value]] = [(field_name, spec.conversation)]
    if spec.source is not None:
        values.append(("conversation_source", spec.source))
    elif row is not None and has_field(row, "conversation_source"):
        values.append(("conversation_source", None))
    return values


def _event(
    context: Context,
    row: Row,
    spec: Launch,
    before: RegistryLook,
    after: RegistryLook,
    start: Start | None,
) -> NewEvent:
    old = before.named(spec.name)
    now = after.named(spec.name)
    conversation = None
    if old:
        conversation = recorded_conversation(old, spec.agent)
    server = None
    if row.tmux.known:
        server = f"{row.tmux.socket},{row.tmux.server_pid}"
    data: dict[str, object] = {
        "agent": spec.agent,
        "command": shlex.join(spec.words),
        "conversation": spec.conversation,
        "conversation_before": conversation,
        "mark": start.mark if start is not None else None,
        "tmux": server,
        "at": iso(context.clock.now()),
        "user": user_here(context.settings.uid),
    }
    if old:
        data["earlier"] = life_of(old)
    if now:
        data["life"] = life_of(now)
    if spec.again is not None:
        data["restart"] = spec.again.attempt
    data.update(spec.facts)
    return NewEvent(spec.name, spec.event.value, data, before.text_of(old) if old else None)


# Without these there is no tmux client; a running server has its own environment.
LEAST = ("PATH", "HOME", "LANG", "LC_ALL")
OF_A_PANE = ("TMUX", "TMUX_PANE", "TERM_PROGRAM", "TERM_PROGRAM_VERSION")
OURS = "TMUXREAP_"
NO_SERVER = "its tmux server is gone"


def save_environment(context: Context, row: Row) -> None:
    """Save the environment of a running session, from the process that tmux started in its pane."""
    if not wants_restart(row):
        stored.keep(context.books, row.name, None)
        return
    leader = None
    if row.pane.pid:
        leader = context.processes.identify(row.pane.pid)
    environ = None
    if leader:
        environ = context.processes.environ(leader)
    if environ is not None:
        stored.keep(context.books, row.name, _of_session(environ))


def surroundings(context: Context, row: Row, socket: str) -> Surroundings:
    """Return the environment for a restart; Failure without a tmux server or a way to make one."""
    saved = stored.kept(context.books, row.name)
    environ = saved
    if environ is None:
        own = context.settings.environ
        environ = {name: own[name] for name in LEAST if name in own}
    if row.terminal is not Terminal.NONE:
        server = context.tmux.look(socket)
        if isinstance(server, Unreachable):
            raise unreachable_failure(f"start {row.name}", server)
        if not isinstance(server, NoServer):
            return Surroundings(environ)
        if saved is None:
            raise _no_place(row, NO_SERVER, "the environment that it had is not known")
    prefix = escape_prefix(context.settings.uid, saved or {})
    if prefix is not None:
        return Surroundings(environ, prefix)
    if row.terminal is Terminal.NONE:
        raise _no_place(row, "what a watch starts would end with the watch's control group")
    reason = "one that a watch makes would end with the watch's control group"
    raise _no_place(row, NO_SERVER, reason)


def _of_session(environ: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in environ.items():
        if name == PARENT or not (name in OF_A_PANE or name.startswith(OURS)):
            found[name] = value
    return found


class NoPlace(Failure):
    """A failure that every further attempt would repeat."""


def _no_place(row: Row, *reasons: str) -> NoPlace:
    hint = f"resume it from a terminal: {command('resume', row.name)}"
    reason = f"could not start {row.name} again: {', and '.join(reasons)}"
    return NoPlace(Code.START_FAILED, reason, hint)


LONGEST_S = 60.0


@contextlib.contextmanager
def open_start(context: Context, spec: Launch, mark: str) -> Iterator[Start]:
    """Keep the intent open until the row is written (`closing`) or everything is cleared;
    otherwise `reconcile` reports what is left."""
    old_marks = _marks_of_dead_start(context, spec.name)
    marks = (mark, *old_marks)
    plan = RecordedStart(spec.socket, spec.server, spec.terminal.value, spec.agent, marks)
    with under_way(context.books) as set_intents:
        intent = open_intent(context, spec.name, spec.event.value, plan.to_text())
        set_intents([intent] if intent else [])
        start = Start(mark, (Closing(intent.id, spec.event.value),) if intent else ())
        try:
            yield start
        except BaseException:
            if intent is not None and start.is_cleared and not old_marks:
                context.books.close_intents([Closing(intent.id, "failed")])
            elif intent is not None:
                context.books.release([intent.id])
            raise


def marks_of(context: Context, spec: Launch, mark: str) -> dict[str, str]:
    """Return the environment variables by which the session is recognized as ours."""
    again = spec.again
    if again:
        started_from = again.within.environ.get(PARENT, "")
    else:
        started_from = context.settings.caller
    registry = str(context.registry.resolved)
    return {**spec.environment, MARK: mark, REGISTRY_MARK: registry, PARENT: started_from}


def _marks_of_dead_start(context: Context, name: str) -> tuple[str, ...]:
    """Return the marks of a dead start that this one takes over: its session may still exist."""
    intent = context.books.open_intents().get(name)
    if intent is None or intent.verb != START:
        return ()
    return intent.recorded_start.marks


def open_intent(
    context: Context, name: str, event: str, plan: str, *, take_over: bool = False
) -> Intent | None:
    """Open the intent of a start; None if it could not be recorded. `take_over`: of an ending of
    this process, after which the agent comes back."""
    owner = context.processes.identify(context.place.pid)
    assert owner is not None  # noqa: S101 - this very process
    deadline = context.clock.now() + LONGEST_S
    place = context.place.boot_id
    new = NewIntent(name, START, event, Scope.SESSION.value, owner, place, deadline, (), plan)
    in_progress = context.active.is_in_progress
    (answer,) = context.books.begin([new], in_progress, take_over=take_over)
    if isinstance(answer, Busy):
        if answer.intent.verb == START:
            doing = "started"
        else:
            doing = "ended"
        reason = f"it is being {doing} by the process {answer.intent.owner.pid}"
        hint = "wait for that, then see: tmuxreap list"
        raise could_not("start", name, reason, hint, Code.SESSION_EXISTS)
    return answer.intent if answer else None
