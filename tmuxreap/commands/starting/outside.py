"""Owns rows of sessions outside tmux: processes, panes of kitty or WezTerm. Starts nothing."""

from __future__ import annotations

import os

from tmuxreap.agents.profiles import Profile
from tmuxreap.core.errors import Code, command, could_not
from tmuxreap.core.model import Process, ProcessId, RecordedPane, RecordedTmux, Row, Terminal
from tmuxreap.core.values import replace
from tmuxreap.ledger.records import Intent
from tmuxreap.proof.ownership import TMUX_SERVER, Owned
from tmuxreap.proof.panes import agent_among
from tmuxreap.proof.sight import Sight
from tmuxreap.registry.file import RegistryLook
from tmuxreap.sessions.context import Context
from tmuxreap.system.terminals import find_pane

FIRST_PID = 1  # the ancestor of all others
SHOWN_PIDS = 5
SEE_ALL = "see what runs with: ps -e -o pid,tty,args"
PANES = {"kitty": Terminal.KITTY, "wezterm": Terminal.WEZTERM}


def with_process(context: Context, row: Row, leader: ProcessId) -> Row:
    """Return the row with its process, and what tells that from another after pid reuse."""
    created = round(context.processes.started_epoch(leader), 2)
    pane = replace(row.pane, pid=leader.pid, created_epoch=created, start_ticks=leader.start)
    tmux = RecordedTmux(host=context.place.host, boot_id=context.place.boot_id)
    return replace(row, pane=pane, tmux=tmux)


def named_pane(context: Context, name: str, words: str) -> tuple[Terminal, RecordedPane, ProcessId]:
    """Find the pane that `kitty:7` names, and the first process in it."""
    kind, _, number = words.partition(":")
    if kind not in PANES or not (number.isascii() and number.isdigit()):
        reason = f"{words!r} is no pane of another terminal"
        raise could_not("adopt", name, reason, "write --pane kitty:ID or --pane wezterm:ID")
    terminal = PANES[kind]
    match = find_pane(name, terminal, number, context.settings.environ)
    pid = match.pid
    if pid is None:
        pid = _leader_on(context, match.tty)
    return terminal, RecordedPane(id=number, listen_on=match.address), identify(context, name, pid)


def process_of(context: Context, intent: Intent) -> Process | None:
    """Return the live process that a start made without tmux, found by its mark."""
    index = context.observer.look([], 0).index
    marked: list[int] = []
    for mark in intent.recorded_start.marks:
        marked += index.by_mark.get(mark, ())
    for pid in sorted(marked):
        process = index.processes[pid]
        if process.pid == process.sid:
            return process
    return None


def identify(context: Context, name: str, pid: int | None) -> ProcessId:
    leader = None
    if pid is not None and pid > 0:
        leader = context.processes.identify(pid)
    if leader is None:
        if pid is None:
            which = "no process in that pane"
        else:
            which = f"no process {pid}"
        raise could_not("adopt", name, f"there is {which}", SEE_ALL, Code.PROCESS_NOT_FOUND)
    return leader


def recognise_agent(context: Context, row: Row, look: RegistryLook | None) -> tuple[Row, Sight]:
    """Recognize the agent in the row's processes, and return the row with a look at it; refuse
    processes of another row."""
    world = context.observer.look([context.servers.of(row)], 0)
    leader = world.index.processes.get(row.pane.pid or 0)
    if leader is not None and row.terminal is Terminal.NONE:
        _check_not_in_tmux(context, row, leader)
    owned = context.sights.of_row(row).owned
    own = [one.process for one in owned.own]
    old = look.named(row.name) if look is not None else None
    recorded = leader is not None and old is not None and old.pane.pid == leader.pid
    agents: dict[str, tuple[Process, ...]] = {}
    for name in [row.agent] if row.agent else context.profiles.agents:
        if recorded:
            profile = context.profiles.of(name)
        else:
            profile = _profile(context, row, name)
        if found := agent_among(own, profile, world):
            agents[name] = found
    if not agents and leader is not None and recorded:
        # Its row says so already: an agent that nobody knows.
        agents[row.agent or leader.comm] = (leader,)
    if not agents and leader is not None:
        _check_not_in_background(context, row, leader)
    if len(agents) != 1:
        reason = f"several agents run there: {', '.join(agents)}"
        hint = "say which with --agent AGENT"
        if not agents:
            reason = f"no {row.agent or 'agent'} is recognised there"
            if row.agent:
                hint = SEE_ALL
        raise could_not("adopt", row.name, reason, hint)
    ((name, found),) = agents.items()
    if leader is not None and leader not in found:
        _check_not_shared(row, leader, found, owned)
    _check_other_rows(context, row, look, {process.pid for process in own})
    row = replace(row, agent=name)
    return row, context.sights.of_row(row)


def _profile(context: Context, row: Row, name: str) -> Profile:
    profile = context.profiles.of(name)
    if profile is None:
        reason = f"nothing is known of the agent {name}"
        raise could_not("adopt", row.name, reason, "see those that are known: tmuxreap agents")
    return profile


def _check_not_shared(row: Row, leader: Process, agent: tuple[Process, ...], owned: Owned) -> None:
    """Refuse process 1, or one above a tmux server: an ending would reach all below it."""
    servers = any(one.process.comm == TMUX_SERVER for one in owned.spared)
    if leader.pid == FIRST_PID or servers:
        own = " or ".join(f"--pid {process.pid}" for process in agent[:SHOWN_PIDS])
        reason = f"process {leader.pid} runs more than an agent"
        raise could_not("adopt", row.name, reason, f"name the agent's own process: {own}")


def _check_not_in_background(context: Context, row: Row, leader: Process) -> None:
    """Refuse a process of a session in an agent's own background, with the commands for that."""
    for name in [row.agent] if row.agent else context.profiles.agents:
        session = context.finder.session_of(leader, _profile(context, row, name))
        if session is not None:
            reason = f"the process {leader.pid} is of {session.where}, below {name}'s own daemon"
            hint = session.way_out
            if session.job is not None:
                hint = command("adopt", row.name, "--background", session.job.seat)
            raise could_not("adopt", row.name, reason, hint)


def _check_not_in_tmux(context: Context, row: Row, leader: Process) -> None:
    if leader.tty and (context.processes.environ(leader.id) or {}).get("TMUX"):
        reason = f"the process {leader.pid} lives in a pane of tmux"
        hint = f"record its session by its name: {command('adopt', 'SESSION')}"
        raise could_not("adopt", row.name, reason, hint)


def _check_other_rows(context: Context, row: Row, look: RegistryLook | None, own: set[int]) -> None:
    rows = look.usable if look else ()
    others = [one for one in rows if not one.status.ended and one.name != row.name]
    for other, sight in zip(others, context.sights.of(others), strict=True):
        if own & {one.process.pid for one in sight.owned.own}:
            reason = f"the process {row.pane.pid} belongs to {other.name}"
            hint = f"see it with: {command('show', other.name)}"
            raise could_not("adopt", row.name, reason, hint, Code.SESSION_EXISTS)


def _leader_on(context: Context, tty: str | None) -> int | None:
    """Return the process that leads the kernel session on a terminal device."""
    try:
        device = os.stat(tty).st_rdev if tty else 0  # noqa: PTH116 - a path given by a terminal
    except OSError:
        return None
    processes = context.processes.look().values()
    return next(
        (one.pid for one in processes if device and one.tty == device and one.pid == one.sid), None
    )
