"""Starts a session without tmux: runs it on a pseudo-terminal, confirms that the agent lives, and
records it. A failed start is ended again."""

from __future__ import annotations

from tmuxreap.commands.starting.announce import marks_of
from tmuxreap.commands.starting.failed import agent_failed, clear_away
from tmuxreap.commands.starting.outside import with_process
from tmuxreap.commands.starting.row import Launch, Start, record_session
from tmuxreap.core import faults
from tmuxreap.core.answers import Session
from tmuxreap.core.errors import Code, could_not
from tmuxreap.core.model import Row, Terminal
from tmuxreap.core.ports import Surroundings
from tmuxreap.proof.sight import Past, Sight
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.look import sight_of
from tmuxreap.system import headless
from tmuxreap.system.machine import defer_interrupts

LAST_WORDS_S = 1.0  # for its last output to reach the log


def launch_headless(context: Context, spec: Launch, start: Start) -> Session:
    row: Row | None = None
    try:
        with defer_interrupts():  # else an interrupt could leave an unknown process behind
            process = _start_process(context, spec, start)
            row = Row(spec.name, agent=spec.agent, terminal=Terminal.NONE)
            leader = context.processes.identify(process.pid)
            if leader is not None:
                row = with_process(context, row, leader)
        faults.at(faults.Step.CREATED)
        sight = _confirm(context, spec, row, process)
        faults.at(faults.Step.CONFIRMED)
        return record_session(context, row, sight, spec, start)
    except BaseException:  # else the process would run unrecorded
        if row is not None:
            start.is_cleared = clear_away(context, row, Past(mark=start.mark))
        raise


def _start_process(context: Context, spec: Launch, start: Start) -> headless.StartedProgram:
    log = headless.log_path(context.registry.resolved, spec.name)
    surroundings = spec.again.within if spec.again else Surroundings(context.settings.environ)
    environ = {**surroundings.environ, **marks_of(context, spec, start.mark)}
    try:
        return headless.start_program(spec.words, spec.cwd, environ, log, surroundings.words)
    except OSError as error:
        start.is_cleared = True
        reason = f"{error.filename or spec.words[0]}: {error.strerror}"
        hint = "give a command that is there after --, as in: tmuxreap start NAME -- COMMAND"
        raise could_not("start", spec.name, reason, hint, Code.START_FAILED) from None


def _confirm(context: Context, spec: Launch, row: Row, program: headless.StartedProgram) -> Sight:
    profile = context.profiles.of(spec.agent)
    leader = context.processes.identify(program.pid)
    if leader is None or row.pane.pid is None or context.processes.wait({leader}, spec.confirm_s):
        keeper = context.processes.identify(program.keeper)
        context.processes.wait({keeper} if keeper else (), LAST_WORDS_S if keeper else 0.0)
        raise agent_failed(spec, profile, True, _output(context, spec))
    sight = sight_of(context, row)
    if profile is not None and not sight.agent:
        raise agent_failed(spec, profile, False, _output(context, spec))
    return sight


def _output(context: Context, spec: Launch) -> str:
    return headless.tail(headless.log_path(context.registry.resolved, spec.name), 0.0) or ""
