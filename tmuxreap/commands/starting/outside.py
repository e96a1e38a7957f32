"""Sessions outside of tmux: a process, or a pane of kitty or WezTerm, seen as its row will have it.
Starts nothing."""

from __future__ import annotations

import json
import os
from itertools import chain

from tmuxreap.agents.profiles import Profile
from tmuxreap.commands.starting.row import Launch
from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.model import Process, ProcessId, RecordedPane, RecordedTmux, Row, Terminal
from tmuxreap.core.values import replace
from tmuxreap.ledger.records import Intent
from tmuxreap.registry.file import RegistryLook
from tmuxreap.registry.rows import bare_row
from tmuxreap.registry.transitions import Event
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.look import look_at
from tmuxreap.sessions.panes import agent_among
from tmuxreap.sessions.sight import Sight
from tmuxreap.system.terminals import find_pane

PANES = {"kitty": Terminal.KITTY, "wezterm": Terminal.WEZTERM}


def outside_row(
    context: Context,
    name: str,
    agent: str | None,
    terminal: Terminal,
    leader: ProcessId,
    pane: RecordedPane,
) -> Row:
    """The row of a process, by which it is told from a stranger with its pid."""
    known = replace(
        pane,
        pid=leader.pid,
        created_epoch=round(context.processes.started_epoch(leader), 2),
        start_ticks=leader.start,
    )
    where = RecordedTmux(host=context.place.host, boot_id=context.place.boot_id)
    return bare_row(name, agent=agent, terminal=terminal, pane=known, tmux=where)


def named_pane(context: Context, name: str, words: str) -> tuple[Terminal, RecordedPane, ProcessId]:
    """What `kitty:7` means: the pane, and the program that the terminal has started in it."""
    kind, _, number = words.partition(":")
    if kind not in PANES or not (number.isascii() and number.isdigit()):
        reason = f"could not adopt {name}: {words!r} is no pane of another terminal"
        raise Failure(Code.USAGE, reason, "write --pane kitty:ID or --pane wezterm:ID")
    terminal = PANES[kind]
    found = find_pane(name, terminal, number, context.settings.environ)
    pid = found.pid if found.pid is not None else _leader_on(context, found.tty)
    return terminal, RecordedPane(id=number, listen_on=found.address), living(context, name, pid)


def made_by(context: Context, intent: Intent) -> Process | None:
    """What a start has made without tmux, as long as it lives: by its mark."""
    index = context.observer.look([], 0).index
    marks = json.loads(intent.plan)["marks"]
    marked = list(chain.from_iterable(index.by_mark.get(mark, ()) for mark in marks))
    led = (index.processes[pid] for pid in sorted(marked))
    return next((process for process in led if process.pid == process.sid), None)


def living(context: Context, name: str, pid: int | None) -> ProcessId:
    leader = context.processes.identify(pid) if pid else None
    if leader is None:
        which = f"no process {pid}" if pid else "no process in that pane"
        reason = f"could not adopt {name}: there is {which}"
        raise Failure(Code.PROCESS_NOT_FOUND, reason, "see what runs with: ps -e -o pid,tty,args")
    return leader


def recognised(context: Context, row: Row, look: RegistryLook | None) -> tuple[Row, Sight]:
    """The row with the agent that runs there, and the look at it; what belongs to another row is
    refused."""
    world = context.observer.look([context.servers.of(row)], 0)
    leader = world.index.processes.get(row.pane.pid or 0)
    if leader is not None and row.terminal is Terminal.NONE:
        _not_in_tmux(context, row, leader)
    known = [row.agent] if row.agent else list(context.profiles.agents)
    own = [one.process for one in look_at(context, [row])[0][0].owned.own]
    agents = [name for name in known if agent_among(own, _profile(context, row, name), world)]
    if len(agents) != 1:
        which = row.agent or "agent"
        running = (
            f"several agents run there: {', '.join(agents)}"
            if agents
            else f"no {which} is recognised there"
        )
        raise Failure(
            Code.USAGE, f"could not adopt {row.name}: {running}", "say which with --agent AGENT"
        )
    _not_another_s(context, row, look, {process.pid for process in own})
    row = replace(row, agent=agents[0])
    return row, look_at(context, [row])[0][0]


def outside_launch(context: Context, row: Row, sight: Sight) -> Launch:
    cwd = next((found for one in sight.agent if (found := context.processes.cwd(one.id))), None)
    assert row.agent is not None  # noqa: S101 - it was recognised
    return Launch(
        name=row.name,
        agent=row.agent,
        words=(),
        start_command=None,
        cwd=cwd or str(context.settings.cwd),
        server=None,
        socket=context.servers.of(row),
        event=Event.ADOPTED,
    )


def _profile(context: Context, row: Row, name: str) -> Profile:
    profile = context.profiles.of(name)
    if profile is None:
        reason = f"could not adopt {row.name}: nothing is known of the agent {name}"
        raise Failure(Code.USAGE, reason, "see those that are known: tmuxreap agents")
    return profile


def _not_in_tmux(context: Context, row: Row, leader: Process) -> None:
    if leader.tty and (context.processes.environ(leader.id) or {}).get("TMUX"):
        reason = f"could not adopt {row.name}: the process {leader.pid} lives in a pane of tmux"
        raise Failure(
            Code.USAGE, reason, f"record its session by its name: {command('adopt', 'SESSION')}"
        )


def _not_another_s(context: Context, row: Row, look: RegistryLook | None, own: set[int]) -> None:
    others = [
        one
        for one in (look.usable if look else ())
        if not one.status.ended and one.name != row.name
    ]
    for other, (sight, _) in zip(others, look_at(context, others), strict=True):
        if own & {one.process.pid for one in sight.owned.own}:
            reason = (
                f"could not adopt {row.name}: the process {row.pane.pid} belongs to {other.name}"
            )
            raise Failure(
                Code.SESSION_EXISTS, reason, f"see it with: {command('show', other.name)}"
            )


def _leader_on(context: Context, tty: str | None) -> int | None:
    """What a terminal has started on a device: the leader of the kernel session there."""
    try:
        device = os.stat(tty).st_rdev if tty else 0  # noqa: PTH116 - a name that a terminal tells
    except OSError:
        return None
    processes = context.processes.look().values()
    return next(
        (one.pid for one in processes if device and one.tty == device and one.pid == one.sid), None
    )
