"""Finds known agents that live on without a terminal, and belong to no row: what a closed terminal,
a killed session or a crash left behind; and agents' own daemons that another one has replaced. Only
names them: nothing here proves whose they are, or that nothing runs in them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache

from tmuxreap.commands.reap.candidates import agent_of
from tmuxreap.core.answers import Leaked
from tmuxreap.core.errors import command
from tmuxreap.core.model import NoServer, Process, Server, ServerLook
from tmuxreap.core.results import megabytes
from tmuxreap.core.text import plain
from tmuxreap.core.times import short_duration
from tmuxreap.core.values import frozen, replace
from tmuxreap.proof.daemons import replaced_by
from tmuxreap.proof.ownership import World
from tmuxreap.proof.sight import Sight
from tmuxreap.sessions.context import Context
from tmuxreap.system.machine import group_of

INIT = 1
MOST = 8  # this many are named one by one


@frozen
class Leak:
    agent: str
    pid: int
    age_s: float
    memory_mb: float
    folder: str
    replaced_by: int | None = None  # it is a shared daemon, and this one is in use
    below: int = 0  # the processes that such a one started

    @property
    def why(self) -> str:
        if self.replaced_by is None:
            return "it lives on without a terminal, and no row has it"
        return f"it is an old daemon: {self.replaced_by} is in use"

    @property
    def way_out(self) -> str:
        """The command that registers it, so that it can be stopped; a daemon can be no row."""
        if self.replaced_by is not None:
            return f"kill {self.pid}"
        return command(
            "adopt", f"{self.agent}-{self.pid}", "--agent", self.agent, "--pid", str(self.pid)
        )

    def as_answer(self) -> Leaked:
        age_s = round(self.age_s)
        return Leaked(self.agent, self.pid, age_s, self.memory_mb, self.folder, self.way_out)

    def __str__(self) -> str:
        age = short_duration(self.age_s)
        who = f"{self.agent} ({self.pid})"
        if self.below:
            who += f" and {self.below} below it"
        return f"{who}: {age} old, {self.memory_mb:g} MB, in {plain(self.folder)}"


def find_leaks(context: Context, sights: Iterable[Sight]) -> list[Leak]:
    """Return the agents that no row, no pane and no service holds, and the daemons that are not in
    use any more, the oldest first."""
    world = context.observer.latest or context.observer.look((), 0)
    claimed = set(world.protected)
    for sight in sights:
        for one in (*sight.owned.own, *sight.owned.spared):
            claimed.add(one.process.pid)
        claimed |= {process.pid for process in sight.unproven}
    found = dict(_agents(context, world, claimed))
    first = {}
    for pid, agent in found.items():
        if not _is_below(pid, found, world):
            first[pid] = agent
    leaks = []
    for pid, agent in first.items():
        leaks.append(_leak(context, world.index.processes[pid], agent))
    leaks += _old_daemons(context, world)
    return sorted(leaks, key=lambda leak: -leak.age_s)


def told(leaks: Sequence[Leak]) -> str:
    """Return one text about all of them, for people."""
    agents = [leak for leak in leaks if leak.replaced_by is None]
    daemons = [leak for leak in leaks if leak.replaced_by is not None]
    lines: list[str] = []
    if agents:
        are = f"{len(agents)} agents live"
        if len(agents) == 1:
            are = "1 agent lives"
        lines.append(f"{are} on without a terminal, and no row has it:")
        lines += [f"{leak}; to end it: {leak.way_out}" for leak in agents[:MOST]]
    if daemons:
        lines.append("agents' own daemons that are not in use any more, and were not ended:")
    for leak in daemons[:MOST]:
        lines.append(f"{leak}; {leak.why}; if nothing runs in it: {leak.way_out}")
    rest = max(len(agents) - MOST, 0) + max(len(daemons) - MOST, 0)
    if rest:
        lines.append(f"and {rest} more: tmuxreap doctor")
    return "\n".join(lines)


def _old_daemons(context: Context, world: World) -> Iterator[Leak]:
    """Yield the agents' own daemons in whose place another one is in use. A row may have their
    mark: they are shared all the same."""
    profiles = [one for one in context.profiles.agents.values() if one.own_daemon is not None]
    for process in world.index.processes.values():
        if process.pid in world.protected or process.dead:
            continue
        for profile in profiles:
            other = replaced_by(profile, process, context.processes)
            if other is not None:
                yield _with_below(context, world, _leak(context, process, profile.name), other.pid)


def _with_below(context: Context, world: World, leak: Leak, other: int) -> Leak:
    """Return an old daemon with what it started: its helpers go with it."""
    below: list[int] = []
    parents = {leak.pid}
    while parents:
        children = world.index.processes.values()
        parents = {one.pid for one in children if one.ppid in parents and not one.dead}
        below += parents
    memory_mb = leak.memory_mb
    for pid in below:
        memory_mb += megabytes(context.processes.memory(world.index.processes[pid].id))
    return replace(leak, replaced_by=other, below=len(below), memory_mb=round(memory_mb, 1))


def _agents(context: Context, world: World, claimed: Collection[int]) -> Iterator[tuple[int, str]]:
    """Yield the known agents without a terminal whose pane or parent is gone."""
    servers = cache(context.tmux.look)
    for process in world.index.processes.values():
        if process.tty or process.pid in claimed or process.dead:
            continue
        agent = agent_of(context, process)  # a shared daemon of an agent is none
        environ = None
        if agent is not None:
            environ = context.processes.environ(process.id)
        if agent is None or environ is None or _in_service(process.pid):
            continue
        if _was_taken_over(process, world) or _pane_is_gone(environ, servers):
            yield process.pid, agent


def _was_taken_over(process: Process, world: World) -> bool:
    """Tell whether its parent died: init has it then, or the user's own systemd."""
    parent = world.index.processes.get(process.ppid)
    return process.ppid == INIT or (parent is not None and parent.comm == "systemd")


def _pane_is_gone(environ: Mapping[str, str], look: Callable[[str], ServerLook]) -> bool:
    """Tell whether the pane that it names is gone from the very server that it names. A server that
    cannot be asked tells nothing."""
    socket, pid, _ = (*environ.get("TMUX", "").rsplit(",", 2), "", "")[:3]
    pane = environ.get("TMUX_PANE")
    if not (socket.startswith("/") and pid.isdigit() and pane):
        return False
    server = look(socket)
    if isinstance(server, NoServer):
        return True
    if not isinstance(server, Server) or server.unread:
        return False
    if server.pid != int(pid):
        return True
    return not any(pane in [one.id for one in session.panes] for session in server.sessions)


def _in_service(pid: int) -> bool:
    """Tell whether it belongs to a service unit of its own: somebody made it so."""
    units = (group_of(pid) or "").split("/")
    return any(unit.endswith(".service") and not unit.startswith("user@") for unit in units)


def _is_below(pid: int, found: Mapping[int, str], world: World) -> bool:
    parent = world.index.processes[pid].ppid
    while parent > INIT and parent in world.index.processes:
        if parent in found:
            return True
        parent = world.index.processes[parent].ppid
    return False


def _leak(context: Context, process: Process, agent: str) -> Leak:
    started = context.processes.started_epoch(process.id)
    return Leak(
        agent,
        process.pid,
        max(context.clock.now() - started, 0.0),
        megabytes(context.processes.memory(process.id)),
        context.processes.cwd(process.id) or "?",
    )
