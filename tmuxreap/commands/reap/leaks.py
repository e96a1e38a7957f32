"""Finds known agents that live on without a terminal, and belong to no row: what a closed terminal,
a killed session or a crash left behind. Only names them: nothing here proves whose they are."""

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
from tmuxreap.core.values import frozen
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

    @property
    def adopts(self) -> str:
        """The command that registers it, so that it can be stopped."""
        return command(
            "adopt", f"{self.agent}-{self.pid}", "--agent", self.agent, "--pid", str(self.pid)
        )

    def as_answer(self) -> Leaked:
        age_s = round(self.age_s)
        return Leaked(self.agent, self.pid, age_s, self.memory_mb, self.folder, self.adopts)

    def __str__(self) -> str:
        age = short_duration(self.age_s)
        return (
            f"{self.agent} ({self.pid}): {age} old, {self.memory_mb:g} MB, in {plain(self.folder)}"
        )


def find_leaks(context: Context, sights: Iterable[Sight]) -> list[Leak]:
    """Return the agents that no row, no pane and no service holds, the oldest first."""
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
    return sorted(leaks, key=lambda leak: -leak.age_s)


def told(leaks: Sequence[Leak]) -> str:
    """Return one text about all of them, for people."""
    lines = [f"{leak}; to end it: {leak.adopts}" for leak in leaks[:MOST]]
    if len(leaks) > MOST:
        rest = [f"and {len(leaks) - MOST} more: tmuxreap doctor"]
    else:
        rest = []
    if len(leaks) == 1:
        are = "1 agent lives"
    else:
        are = f"{len(leaks)} agents live"
    return "\n".join([f"{are} on without a terminal, and no row has it:", *lines, *rest])


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
