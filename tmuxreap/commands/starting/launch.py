"""Runs a session for `start` and `resume`: creates it in tmux, confirms that the agent lives, and
records it.

A failed start is ended again, and leaves no running row."""

from __future__ import annotations

import os
import shlex
import uuid
from typing import TYPE_CHECKING

from tmuxreap.agents.profiles import Profile
from tmuxreap.commands.starting.announce import Start, announced, marks_of
from tmuxreap.commands.starting.failed import agent_failed, clear_away
from tmuxreap.commands.starting.row import Launch, live_row, record_session
from tmuxreap.core import faults
from tmuxreap.core.answers import sessions as answers
from tmuxreap.core.deeds import Created, NewSession, SetOption
from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.faults import Step
from tmuxreap.core.model import Live, ProcessId, Row, Server, Terminal, Unreachable, Verb
from tmuxreap.core.results import Item, failure_in
from tmuxreap.ledger.records import START
from tmuxreap.registry.file import RegistryLook
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.identity import unreachable_failure
from tmuxreap.sessions.look import BANNER_OPTION, look_at
from tmuxreap.sessions.sight import Sight
from tmuxreap.system.interrupts import defer_interrupts

if TYPE_CHECKING:
    from tmuxreap.ending.plan import Policy

BEGINNING_S = 10.0  # for the exec in a new pane
BEGINNING_STEP_S = 0.01


def launch(context: Context, wish: Launch) -> answers.Session:
    """Launch a session; Failure, with nothing left behind, if its agent is not recognized alive
    after the confirmation time."""
    context.registry.check_writable()
    mark = str(uuid.uuid4())
    with announced(context, wish, mark) as start:
        if wish.again is not None:
            start.cleared()
            wish.again.check()
            start.cleared(gone=False)
        if wish.worktree is None:
            return _in_its_terminal(context, wish, mark, start)
        from tmuxreap.commands.starting.worktree import worktree_made  # few starts need it

        with worktree_made(context, wish.name, wish.worktree, start):
            return _in_its_terminal(context, wish, mark, start)


def _in_its_terminal(context: Context, wish: Launch, mark: str, start: Start) -> answers.Session:
    if wish.terminal is Terminal.TMUX:
        return _launched(context, wish, mark, start)
    from tmuxreap.commands.starting.headless import launched_headless  # few sessions need it

    return launched_headless(context, wish, mark, start)


def make_way(
    context: Context, look: RegistryLook | None, row: Row | None, wish: Launch, *, replace: bool
) -> None:
    """Refuse if a session of that name is alive; with `replace`, end it first."""
    if row is not None and look is not None:
        sight = look_at(context, [row])[0][0]
        if sight.trouble is not None and sight.trouble.code is not Code.SESSION_REPLACED:
            raise sight.trouble
        if is_there(row, sight):
            if not replace:
                raise session_exists(wish.name, row.terminal, registered=not row.status.ended)
            from tmuxreap.ending.end import end_rows  # few starts need it

            _ended(end_rows(context, look, [row], _replaced())[0])
    if wish.terminal is not Terminal.TMUX:
        _nothing_left(context, wish)
        return
    server = context.tmux.look(wish.socket)
    if isinstance(server, Unreachable):
        raise unreachable_failure(f"start {wish.name}", server)
    session = server.named(wish.name) if isinstance(server, Server) else None
    if session is not None and isinstance(server, Server):
        if not replace:
            raise session_exists(wish.name)
        existing = live_row(context, wish.name, wish.agent, wish.server, server, session)
        from tmuxreap.ending.end import end_unregistered

        _ended(end_unregistered(context, existing, _replaced()))


def _replaced() -> Policy:
    from tmuxreap.ending.plan import Policy

    return Policy(Verb.STOP, "replaced")


def _nothing_left(context: Context, wish: Launch) -> None:
    """Refuse if a start of that name died before it recorded its process, and the process runs."""
    from tmuxreap.commands.starting.outside import made_by  # few sessions need it

    intent = context.books.open_intents().get(wish.name)
    process = made_by(context, intent) if intent is not None and intent.verb == START else None
    if process is not None:
        reason = f"could not start {wish.name}: one that nobody recorded runs there ({process.pid})"
        hint = f"record it: {command('adopt', wish.name, '--pid', str(process.pid))}"
        raise Failure(Code.SESSION_EXISTS, reason, hint)


def is_there(row: Row, sight: Sight) -> bool:
    """Tell whether its session exists or, without tmux, its agent."""
    return sight.session is not None or (
        row.terminal is not Terminal.TMUX and sight.live is Live.ALIVE
    )


def _ended(item: Item) -> None:
    failure = failure_in(item)
    if failure is not None:
        raise failure


def _launched(context: Context, wish: Launch, mark: str, start: Start) -> answers.Session:
    profile = context.profiles.of(wish.agent)
    marks = marks_of(context, wish, mark)
    row: Row | None = None
    try:
        with defer_interrupts():  # else an interrupt could leave an unknown session behind
            # Keeps the pane of a command that fails at once, with its last output.
            new = NewSession(wish.name, wish.cwd, wish.words, marks, remains=True)
            within = None if wish.again is None else wish.again.within
            made = context.tmux.create(wish.socket, new, within=within)
            if isinstance(made, str):
                start.cleared()
                raise _not_made(context, wish, made)
            row = _synthetic(context, wish, made.session)
        faults.at(Step.CREATED)
        sight = _confirmed(context, wish, profile, row, made)
    except BaseException:  # also a KeyboardInterrupt
        if row is not None:
            start.cleared(gone=clear_away(context, row))
        raise
    faults.at(Step.CONFIRMED)
    assert sight.pane is not None  # noqa: S101 - it was confirmed
    context.tmux.do(wish.socket, [SetOption(sight.pane.id, BANNER_OPTION, None)])
    try:
        return record_session(context, row, sight, wish, mark, start.closing)
    except Failure:
        # else the session would run unrecorded
        start.cleared(gone=clear_away(context, row))
        raise


def _confirmed(
    context: Context, wish: Launch, profile: Profile | None, row: Row, made: Created
) -> Sight:
    """Return the session after the confirmation time; Failure if the agent does not live in it."""
    leader, pane_id = context.processes.identify(made.pid), made.pane
    gone = _lasts_no_longer(context, row, leader, wish.confirm_s) if leader else True
    if gone or not row.tmux.known:
        raise agent_failed(wish, profile, True, context.tmux.capture(wish.socket, pane_id) or "")
    sight = look_at(context, [row])[0][0]
    if not (sight.agent or sight.carrier) or sight.pane is None:
        raise agent_failed(wish, profile, False, context.tmux.capture(wish.socket, pane_id) or "")
    if sight.session is not None and sight.session.name != wish.name:
        raise _misnamed(wish, sight.session.name)
    return sight


def _lasts_no_longer(context: Context, row: Row, leader: ProcessId, than_s: float) -> bool:
    """Tell whether the process is gone after the given time. On a busy machine it may still be a
    copy of the server before its exec: wait for that first."""
    gone = context.processes.wait({leader}, than_s)
    server = context.processes.identify(row.tmux.server_pid or 0)
    deadline = context.clock.monotonic() + BEGINNING_S
    while (
        not gone
        and server
        and context.processes.argv_and_executable(leader)
        == context.processes.argv_and_executable(server)
    ):
        if context.clock.monotonic() >= deadline:
            break
        gone = context.processes.wait({leader}, BEGINNING_STEP_S)
    return bool(gone)


def _synthetic(context: Context, wish: Launch, session_id: str) -> Row:
    """Return a provisional row, with what a look needs."""
    server = context.tmux.look(wish.socket)
    session = None
    if isinstance(server, Server):
        session = next((session for session in server.sessions if session.id == session_id), None)
    return live_row(
        context,
        wish.name,
        wish.agent,
        wish.server,
        server if isinstance(server, Server) else None,
        session,
    )


def _misnamed(wish: Launch, name: str) -> Failure:
    return Failure(
        Code.START_FAILED,
        f"could not start {wish.name}: tmux, or a hook of yours, named its session {name}",
        "take a name that stays as it is, or look at your hooks: tmux show-hooks -g | grep"
        f" {shlex.quote(name)}",
    )


def _not_made(context: Context, wish: Launch, said: str) -> Failure:
    server = context.tmux.look(wish.socket)
    if isinstance(server, Server) and server.named(wish.name) is not None:
        return session_exists(wish.name)
    hint = "check the setup with: tmuxreap doctor"
    folder = os.path.dirname(wish.socket)  # noqa: PTH120 - a string, as tmux takes it
    if not os.path.isdir(folder):  # noqa: PTH112
        hint = f"make the folder of that socket: mkdir -p -m 700 {shlex.quote(folder)}"
    return Failure(Code.START_FAILED, f"could not start {wish.name}: tmux said: {said}", hint)


def session_exists(
    name: str, terminal: Terminal = Terminal.TMUX, *, registered: bool = False
) -> Failure:
    if terminal is not Terminal.TMUX:
        reason = f"could not start {name}: an agent of that name is already running"
        hint = f"see it: {command('show', name)}; or stop it first with --replace"
        return Failure(Code.SESSION_EXISTS, reason, hint)
    other = "take another name" if registered else f"register it: {command('adopt', name)}"
    return Failure(
        Code.SESSION_EXISTS,
        f"could not start {name}: a tmux session of that name is already running",
        f"go to it: {command('attach', name)}; stop it first with --replace; or {other}",
    )


def existing_folder(name: str, cwd: str, otherwise: Code = Code.START_FAILED) -> str:
    """Check that the folder exists: tmux would silently use another one."""
    if not os.path.isdir(cwd):  # noqa: PTH112 - a string from a row or a flag
        missing = f"there is no folder {cwd}" if cwd else "the working directory was removed"
        reason = f"could not start {name}: {missing}"
        raise Failure(otherwise, reason, "make it, or name another with --cwd DIR")
    check_encodable(name, cwd)
    return os.path.realpath(cwd)


def check_encodable(name: str, cwd: str) -> None:
    real = os.path.realpath(cwd)
    if not real.isprintable() and any("\udc80" <= letter <= "\udcff" for letter in real):
        reason = (
            f"could not start {name}: the name of the folder {real} is not UTF-8, and the"
            " registry is"
        )
        raise Failure(Code.START_FAILED, reason, "rename it, or name another with --cwd")
