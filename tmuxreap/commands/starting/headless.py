"""Starts a session without tmux: runs it on a pseudo-terminal, confirms that the agent lives, and
records it. A failed start is ended again."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.commands.starting.announce import Start, marks_of
from tmuxreap.commands.starting.failed import agent_failed, clear_away
from tmuxreap.commands.starting.outside import outside_row
from tmuxreap.commands.starting.row import Launch, record_session
from tmuxreap.core import faults
from tmuxreap.core.answers.sessions import Session
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.faults import Step
from tmuxreap.core.model import RecordedPane, Row, Terminal
from tmuxreap.core.ports import Surroundings
from tmuxreap.registry.rows import bare_row
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.look import look_at
from tmuxreap.sessions.sight import Past, Sight
from tmuxreap.system import headless
from tmuxreap.system.headless import StartedProgram
from tmuxreap.system.interrupts import defer_interrupts

LAST_WORDS_S = 1.0  # for its last output to reach the log


def launched_headless(context: Context, wish: Launch, mark: str, start: Start) -> Session:
    row: Row | None = None
    try:
        with defer_interrupts():  # else an interrupt could leave an unknown process behind
            process = _begun(context, wish, marks_of(context, wish, mark), start)
            row = bare_row(wish.name, agent=wish.agent, terminal=Terminal.NONE)
            leader = context.processes.identify(process.pid)
            if leader is not None:
                pane = RecordedPane()
                row = outside_row(context, wish.name, wish.agent, Terminal.NONE, leader, pane)
        faults.at(Step.CREATED)
        sight = _confirmed(context, wish, row, process)
        faults.at(Step.CONFIRMED)
        return record_session(context, row, sight, wish, mark, start.closing)
    except BaseException:  # else the process would run unrecorded
        if row is not None:
            start.cleared(gone=clear_away(context, row, Past(mark=mark)))
        raise


def _begun(
    context: Context, wish: Launch, marks: Mapping[str, str], start: Start
) -> StartedProgram:
    log = headless.log_path(context.registry.resolved, wish.name)
    surroundings = wish.again.within if wish.again else Surroundings(context.settings.environ)
    environ = {**surroundings.environ, **marks}
    try:
        return headless.start_program(wish.words, wish.cwd, environ, log, surroundings.words)
    except OSError as error:
        start.cleared()
        program = error.filename or wish.words[0]
        raise Failure(
            Code.START_FAILED,
            f"could not start {wish.name}: {program}: {error.strerror}",
            "give a command that is there after --, as in: tmuxreap start NAME -- COMMAND",
        ) from None


def _confirmed(context: Context, wish: Launch, row: Row, begun: StartedProgram) -> Sight:
    profile = context.profiles.of(wish.agent)
    leader = context.processes.identify(begun.pid)
    if leader is None or row.pane.pid is None or context.processes.wait({leader}, wish.confirm_s):
        keeper = context.processes.identify(begun.keeper)
        context.processes.wait({keeper} if keeper else (), LAST_WORDS_S if keeper else 0.0)
        raise agent_failed(wish, profile, True, _drawn(context, wish))
    sight = look_at(context, [row])[0][0]
    if profile is not None and not sight.agent:
        raise agent_failed(wish, profile, False, _drawn(context, wish))
    return sight


def _drawn(context: Context, wish: Launch) -> str:
    return headless.tail(headless.log_path(context.registry.resolved, wish.name), 0.0) or ""
