"""Runs a session for `start` and `resume`, in tmux or on a pseudo-terminal: creates it, confirms
that the agent lives, and records it. A start that failed is ended again, with what its screen
showed, and never leaves a running row."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import uuid
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.programs import SHELLS
from tmuxreap.commands.endings import ender_of
from tmuxreap.commands.starting.outside import process_of, with_process
from tmuxreap.commands.starting.row import (
    Launch,
    Start,
    marks_of,
    open_start,
    record_session,
)
from tmuxreap.commands.targets import check_spares
from tmuxreap.core import answers, faults
from tmuxreap.core.answers import Session
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.masking import kept_screen
from tmuxreap.core.model import (
    Created,
    EndVerb,
    Live,
    NewSession,
    Process,
    ProcessId,
    RecordedPane,
    RecordedTmux,
    Row,
    Server,
    ServerSession,
    SetOption,
    Terminal,
    Unreachable,
)
from tmuxreap.core.ports import Surroundings
from tmuxreap.core.results import Item, failure_in
from tmuxreap.core.values import replace
from tmuxreap.ending.policy import EndingOptions, make_policy
from tmuxreap.ledger.records import START
from tmuxreap.proof.identity import Moved, unreachable_failure
from tmuxreap.proof.sight import Past, Sight
from tmuxreap.registry.file import RegistryLook
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.look import BANNER_OPTION
from tmuxreap.sessions.registries import project_of
from tmuxreap.system import headless
from tmuxreap.system.git import Worktree, add_worktree, undo_add_worktree
from tmuxreap.system.machine import defer_interrupts

if TYPE_CHECKING:
    from tmuxreap.ending.policy import Policy


NOT_FOUND = 127  # exit status of env and shells if there is no such program
# What env, nice, timeout and shells print of a program that is not there.
MISSING = (
    r"^(?:env|nice|nohup|timeout|setsid|exec|\S*sh): (?:.*[ '\"\u2018])?"
    r"(?P<named>[^\s:'\"\u2018\u2019]+)['\"\u2019]?: "
    r"(?:command not found|not found|No such file or directory)$"
    r"|^\S*sh:\d*:? command not found: (?P<last>\S+)$"
)


def clear_away(context: Context, row: Row, past: Past | None = None) -> bool:
    """End the session; without tmux, its processes are found by `past`."""
    # already gone: its name alone might mean an unrelated session
    if past is None and not row.tmux.known:
        return False
    options = EndingOptions("start_failed", grace=1.0)
    ended = ender_of(context).end_unregistered(row, make_policy(EndVerb.KILL, options, {}), past)
    error = ended.error
    if error is not None and error.code == Code.FOREIGN_PANES.text:
        # Somebody has brought panes into it meanwhile: they are none of the start's.
        alone = replace(options, pane_only=True)
        policy = make_policy(EndVerb.KILL, alone, {})
        error = ender_of(context).end_unregistered(row, policy, past).error
    return error is None


def agent_failed(spec: Launch, profile: Profile | None, gone: bool, screen: str) -> Failure:
    after = f"within {spec.confirm_s:g} s"
    shown = kept_screen(screen)
    if not gone:
        reason = f"no {spec.agent} was recognised in it {after}"
        if profile:
            names = ", ".join(profile.process)
            reason += f" (a {spec.agent} is recognised by: {names})"
    elif f"(status {NOT_FOUND}" in shown:
        reason = not_found(spec.words[0], shown)
    elif re.fullmatch(r"\s*Pane is dead \(status 1\b.*\)\s*", shown):  # as of an exec that failed
        reason = f"its command ended {after} and printed nothing; is {spec.words[0]} on the PATH of"
        reason += " its tmux server?"
        shown = ""
    else:
        reason = f"its command ended {after}"
    last = f"; its last screen:\n{shown}" if shown else ""
    hint = f"try the command by hand: {shlex.join(spec.words)}"
    return could_not("start", spec.name, f"{reason}{last}", hint, Code.START_FAILED)


def not_found(program: str, screen: str) -> str:
    """Say which program was not found: the command itself, or one that it was to run."""
    said = re.search(MISSING, screen, re.MULTILINE)
    if said is None:
        return f"its command ended with status {NOT_FOUND}: a program was not found"
    missing = said["named"] or said["last"]
    if missing == program:
        return f"{program} is not on the PATH of its tmux server, or could not be run"
    return f"{program} could not run {missing}: it is not on the PATH of its tmux server"


BEGINNING_S = 10.0  # for the exec in a new pane
BEGINNING_STEP_S = 0.01


def launch(context: Context, spec: Launch) -> answers.Session:
    """Launch a session; Failure, with nothing left behind, if its agent is not recognized alive
    after the confirmation time."""
    context.registry.check_writable()
    context.registry.check_space(context.registry.look())
    with open_start(context, spec, str(uuid.uuid4())) as start:
        if spec.again is not None:
            start.is_cleared = True  # nothing of it exists yet
            spec.again.check()
            start.is_cleared = False
        with worktree_made(context, spec.name, spec.worktree, start):
            if spec.terminal is Terminal.TMUX:
                return _launch_in_tmux(context, spec, start)

            return launch_headless(context, spec, start)


@contextlib.contextmanager
def worktree_made(
    context: Context, name: str, tree: Worktree | None, start: Start
) -> Iterator[None]:
    """Create the git worktree if it does not exist; a failed start removes it again, but never one
    that existed before."""
    if tree is None or tree.existed:
        yield
        return
    environ = context.settings.environ
    try:
        with defer_interrupts():  # git handles an interrupt itself, and cleans up
            new_branch = add_worktree(name, tree, environ)
    except Failure:
        start.is_cleared = True
        raise
    try:
        yield
    except BaseException as error:
        # Not while a process of the session may still live in it.
        stays = None
        if start.is_cleared:
            stays = undo_add_worktree(name, tree, new_branch, environ)
        if stays is not None and isinstance(error, Failure):
            message = f"{error.message}; {stays.message}"
            raise Failure(error.code, message, error.hint) from None
        raise


def make_way(
    context: Context, look: RegistryLook | None, row: Row | None, spec: Launch, *, replace: bool
) -> None:
    """Refuse if a session of that name is alive; with `replace`, end it first."""
    if replace:
        check_spares(context, EndVerb.STOP)
    ended: ServerSession | None = None
    if row is not None and look is not None:
        sight = context.sights.of_row(row)
        if sight.trouble is not None and sight.trouble.code is not Code.SESSION_REPLACED:
            raise sight.trouble
        if sight.unproven:
            raise _may_still_run(spec.name, sight)
        if isinstance(sight.trouble, Moved) and sight.trouble.lives_in is not None:
            raise _lives_in(spec.name, sight.trouble.lives_in)
        if sight.trouble is not None and sight.owned.own:
            raise sight.trouble
        outlived = _outlived_its_session(context, row, sight)
        terminal = row.terminal
        if sight.job is not None and sight.session is None:
            terminal = Terminal.BACKGROUND  # the row follows its agent there
        if exists(terminal, sight) or outlived:
            if not replace and outlived:
                raise _lives_on(spec.name, outlived)
            if not replace:
                raise session_exists(spec.name, terminal, registered=not row.status.ended)
            _raise_if_failed(ender_of(context).end([row], _replacing(context))[0])
            ended = sight.session
    if spec.terminal is not Terminal.TMUX:
        _check_no_remains(context, spec)
        return
    server = context.tmux.look(spec.socket)
    if isinstance(server, Unreachable):
        raise unreachable_failure(f"start {spec.name}", server)
    if isinstance(server, Server) and (session := server.named(spec.name)) is not None:
        # After its end only panes are left in it that a person opened meanwhile.
        again = ended is not None and (ended.id, ended.created) == (session.id, session.created)
        if again or not replace:
            raise _taken(context, spec.name, server, session)

        tmux = context.place.identity_of(server, session)
        existing = Row(spec.name, agent=spec.agent, tmux_server=spec.server, tmux=tmux)
        _raise_if_failed(ender_of(context).end_unregistered(existing, _replacing(context)))


def _replacing(context: Context) -> Policy:
    """Return how a session makes way for a new one: like a stop, with the user's grace."""
    return make_policy(EndVerb.STOP, EndingOptions("replaced"), context.defaults)


def _check_no_remains(context: Context, spec: Launch) -> None:
    """Refuse if a start of that name died before it recorded its process, and the process runs."""
    intent = context.books.open_intents().get(spec.name)
    if intent is None or intent.verb != START:
        return
    process = process_of(context, intent)
    if process is not None:
        reason = f"one that is not recorded runs there ({process.pid})"
        hint = f"record it: {command('adopt', spec.name, '--pid', str(process.pid))}"
        raise could_not("start", spec.name, reason, hint, Code.SESSION_EXISTS)


def exists(terminal: Terminal, sight: Sight) -> bool:
    """Tell whether its session exists or, without tmux, its agent."""
    return sight.session is not None or (terminal is not Terminal.TMUX and sight.live is Live.ALIVE)


def _raise_if_failed(item: Item) -> None:
    failure = failure_in(item)
    if failure is not None:
        raise failure


def _launch_in_tmux(context: Context, spec: Launch, start: Start) -> answers.Session:
    profile = context.profiles.of(spec.agent)
    marks = marks_of(context, spec, start.mark)
    row: Row | None = None
    try:
        with defer_interrupts():  # else an interrupt could leave an unknown session behind
            # Keeps the pane of a command that fails at once, with its last output.
            new = NewSession(spec.name, spec.cwd, spec.words, marks, remains=True)
            within = None if spec.again is None else spec.again.within
            made = context.tmux.create(spec.socket, new, within=within)
            if isinstance(made, str):
                start.is_cleared = True
                raise _not_created(context, spec, made)
            row = _provisional_row(context, spec, made)
        faults.at(faults.Step.CREATED)
        sight = _confirm(context, spec, profile, row, made)
    except BaseException:  # also a KeyboardInterrupt
        if row is not None:
            start.is_cleared = clear_away(context, row)
        raise
    faults.at(faults.Step.CONFIRMED)
    assert sight.pane is not None  # noqa: S101 - it was confirmed
    context.tmux.do(spec.socket, [SetOption(sight.pane.id, BANNER_OPTION, None)])
    try:
        return record_session(context, row, sight, spec, start)
    except Failure:
        # else the session would run unrecorded
        start.is_cleared = clear_away(context, row)
        raise


def _confirm(
    context: Context, spec: Launch, profile: Profile | None, row: Row, made: Created
) -> Sight:
    """Return the session after the confirmation time; Failure if the agent does not live in it."""
    leader = context.processes.identify(made.pid)
    pane_id = made.pane
    if leader:
        gone = _is_gone_after(context, row, leader, spec.confirm_s)
    else:
        gone = True
    gone = gone or not row.tmux.known
    sight = None if gone else context.sights.of_row(row)
    if sight is None or not (sight.agent or sight.carrier) or sight.pane is None:
        screen = context.tmux.capture(spec.socket, pane_id) or ""
        raise agent_failed(spec, profile, gone, screen)
    if sight.session is not None and sight.session.name != spec.name:
        name = sight.session.name
        reason = f"tmux, or a hook of yours, named its session {name}"
        look = f"tmux show-hooks -g | grep {shlex.quote(name)}"
        hint = f"take a name that stays as it is, or look at your hooks: {look}"
        raise could_not("start", spec.name, reason, hint, Code.START_FAILED)
    return sight


def _is_gone_after(context: Context, row: Row, leader: ProcessId, than_s: float) -> bool:
    """Tell whether the process is gone after the given time. On a busy machine it may still be a
    copy of the server before its exec: wait for that first."""
    processes = context.processes
    clock = context.clock
    gone = processes.wait({leader}, than_s)
    server = processes.identify(row.tmux.server_pid or 0)
    deadline = clock.monotonic() + BEGINNING_S
    while server and not gone and clock.monotonic() < deadline:
        if processes.argv_and_executable(leader) != processes.argv_and_executable(server):
            break
        gone = processes.wait({leader}, BEGINNING_STEP_S)
    return bool(gone)


def _provisional_row(context: Context, spec: Launch, made: Created) -> Row:
    """Return a provisional row, with what a look needs: nothing of it is older than its leader."""
    leader = context.processes.identify(made.pid)
    pane = RecordedPane(id=made.pane)
    if leader:
        pane = RecordedPane(pid=leader.pid, id=made.pane, start_ticks=leader.start)
    tmux = RecordedTmux()
    server = context.tmux.look(spec.socket)
    if isinstance(server, Server):
        for session in server.sessions:
            if session.id == made.session:
                tmux = context.place.identity_of(server, session)
    return Row(spec.name, agent=spec.agent, tmux_server=spec.server, tmux=tmux, pane=pane)


def _not_created(context: Context, spec: Launch, error: str) -> Failure:
    server = context.tmux.look(spec.socket)
    if isinstance(server, Server) and server.named(spec.name) is not None:
        return session_exists(spec.name)
    hint = "check the setup with: tmuxreap doctor"
    folder = os.path.dirname(spec.socket)  # noqa: PTH120 - a string, as tmux takes it
    if not os.path.isdir(folder):  # noqa: PTH112
        hint = f"create the folder of that socket: mkdir -p -m 700 {shlex.quote(folder)}"
    return could_not("start", spec.name, f"tmux said: {error}", hint, Code.START_FAILED)


def _may_still_run(name: str, sight: Sight) -> Failure:
    """Return the failure for a row whose recorded process lives without its session: a new start
    would write over the only thing that tells of it."""
    names = ", ".join(f"{process.comm} ({process.pid})" for process in sight.unproven)
    hint = f"if it is its agent, record it: {sight.adopts_unproven(name)}"
    return could_not("start", name, f"still alive: {names}", hint, Code.STILL_RUNNING)


def _outlived_its_session(context: Context, row: Row, sight: Sight) -> tuple[Process, ...]:
    """Return the row's own agent if it lives, and neither its tmux session nor a daemon has it. Of
    an agent that nobody knows it may be all that is left, but shells."""
    seated = sight.session is not None or sight.job is not None
    if row.terminal is not Terminal.TMUX or row.status.ended or seated:
        return ()
    if sight.agent or context.agents.profile(row, sight) is not None:
        return sight.agent
    left = [one.process for one in sight.owned.own]
    return tuple(process for process in left if process.comm not in SHELLS)


def _lives_on(name: str, outlived: Iterable[Process]) -> Failure:
    """Return the failure for an agent that lives without its session: two would have one row."""
    alive = ", ".join(f"{process.comm} ({process.pid})" for process in outlived)
    hint = f"end it first: {command('stop', name)}; or let --replace do that"
    reason = f"its agent lives on without its session: {alive}"
    return could_not("start", name, reason, hint, Code.STILL_RUNNING)


def _lives_in(name: str, session: str) -> Failure:
    """Return the failure for an agent whose pane a person moved: no session is theirs to end, and
    a new start would leave it without a row."""
    adopt = command("adopt", session)
    forget = command("forget", name, "--force")
    reason = f"its agent lives on in the session {session}"
    hint = f"take another name; move its pane back; or let its row go: {forget}, then: {adopt}"
    return could_not("start", name, reason, hint, Code.STILL_RUNNING)


def session_exists(
    name: str, terminal: Terminal = Terminal.TMUX, *, registered: bool = False
) -> Failure:
    if terminal is not Terminal.TMUX:
        reason = "an agent of that name is already running"
        hint = f"see it: {command('show', name)}; or stop it first with --replace"
        return could_not("start", name, reason, hint, Code.SESSION_EXISTS)
    if registered:
        other = "take another name"
    else:
        other = f"register it: {command('adopt', name)}"
    hint = f"attach to it: {command('attach', name)}; stop it first with --replace; or {other}"
    reason = "a tmux session of that name is already running"
    return could_not("start", name, reason, hint, Code.SESSION_EXISTS)


def _taken(context: Context, name: str, server: Server, session: ServerSession) -> Failure:
    """Return the failure for a name that a session has; if it is another project's, name that."""
    other = context.newcomers.rows_elsewhere(server, [session]).get(session.id)
    if other is None:
        return session_exists(name)
    reason = f"a session of that name is already running for {project_of(other.registry)}"
    there = command("attach", other.name, "--registry", str(other.registry))
    hint = f"take another name, or attach to it: {there}"
    return could_not("start", name, reason, hint, Code.SESSION_EXISTS)


def existing_folder(name: str, cwd: str, otherwise: Code = Code.START_FAILED) -> str:
    """Check that the folder exists: tmux would silently use another one."""
    if not os.path.isdir(cwd):  # noqa: PTH112 - a string from a row or a flag
        if cwd:
            missing = f"there is no folder {cwd}"
        else:
            missing = "the working directory was removed"
        raise could_not(
            "start", name, missing, "create it, or name another with --cwd DIR", otherwise
        )
    check_encodable(name, cwd)
    return os.path.realpath(cwd)


def check_encodable(name: str, cwd: str) -> None:
    real = os.path.realpath(cwd)
    if not real.isprintable() and any("\udc80" <= letter <= "\udcff" for letter in real):
        reason = f"the name of the folder {real} is not UTF-8, and the registry is"
        hint = "rename it, or name another with --cwd"
        raise could_not("start", name, reason, hint, Code.START_FAILED)


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
        sight = _confirm_headless(context, spec, row, process)
        faults.at(faults.Step.CONFIRMED)
        return record_session(context, row, sight, spec, start)
    except BaseException:  # else the process would run unrecorded
        if row is not None:
            start.is_cleared = clear_away(context, row, Past(mark=start.mark))
        raise


def _start_process(context: Context, spec: Launch, start: Start) -> headless.StartedProgram:
    log = headless.log_path(context.registry.resolved, spec.name)
    if spec.again:
        surroundings = spec.again.within
    else:
        surroundings = Surroundings(context.settings.environ)
    environ = {**surroundings.environ, **marks_of(context, spec, start.mark)}
    try:
        return headless.start_program(spec.words, spec.cwd, environ, log, surroundings.words)
    except OSError as error:
        start.is_cleared = True
        reason = f"{error.filename or spec.words[0]}: {error.strerror}"
        hint = "give a command that is there after --, as in: tmuxreap start NAME -- COMMAND"
        raise could_not("start", spec.name, reason, hint, Code.START_FAILED) from None


def _confirm_headless(
    context: Context, spec: Launch, row: Row, program: headless.StartedProgram
) -> Sight:
    profile = context.profiles.of(spec.agent)
    leader = context.processes.identify(program.pid)
    if leader is None or row.pane.pid is None or context.processes.wait({leader}, spec.confirm_s):
        keeper = context.processes.identify(program.keeper)
        context.processes.wait({keeper} if keeper else (), LAST_WORDS_S if keeper else 0.0)
        raise agent_failed(spec, profile, True, _output(context, spec))
    sight = context.sights.of_row(row)
    if profile is not None and not sight.agent:
        raise agent_failed(spec, profile, False, _output(context, spec))
    return sight


def _output(context: Context, spec: Launch) -> str:
    return headless.tail(headless.log_path(context.registry.resolved, spec.name), 0.0) or ""
