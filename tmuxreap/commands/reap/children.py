"""Sorts the processes that an agent started: helpers from its own start, running tools, other
agents. Pure.

The agent itself may be several processes (a launcher and what it runs). The processes below these,
or orphaned from there, are its offspring; each branch is judged as a whole."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from itertools import chain

from tmuxreap.agents.profiles import SHELLS
from tmuxreap.core.model import Process
from tmuxreap.core.values import frozen
from tmuxreap.proof.sight import Sight

# A launcher starts its agent at once; a later process, or one without a launcher, is another agent.
RELAUNCH_S = 5.0
LAUNCHERS = frozenset({"node", "MainThread", "bun", "deno"})
HELPERS_S = 60.0  # an agent starts its servers within this time after its own start


class ChildKind(Enum):
    """A HELPER says nothing about work; the others may be working, as may what is unclear."""

    HELPER = "helper"
    TOOL = "tool"  # below a shell: this is how agents run commands
    AGENT = "agent"
    LATER = "started later"
    BACKGROUND = "background"  # connected to no other process
    RUNNING = "running"  # on a CPU at this moment


@frozen
class Child:
    pid: int
    name: str
    kind: ChildKind
    started: float  # start of the youngest process in its branch

    @property
    def working(self) -> bool:
        return self.kind is not ChildKind.HELPER

    def as_json(self) -> dict[str, object]:
        return {"pid": self.pid, "name": self.name, "what": self.kind.value}


@frozen
class Probes:
    """Answers about a process: its start, whether it is a known agent, and whether it has a pipe or
    socket to another process, as servers of agents have and background jobs have not."""

    epoch: Callable[[Process], float]
    is_agent: Callable[[Process], bool]
    is_connected: Callable[[Process], bool]


def offspring(sight: Sight, probes: Probes) -> tuple[Child, ...]:
    own = {one.process.pid: one.process for one in sight.owned.own}
    core = _core(sight, own, probes.epoch)
    known = {one.pid for one in core}
    known.update(chain.from_iterable(_line(one.ppid, own) for one in core))
    known.update(pane.pid or 0 for pane in (sight.session.panes if sight.session else ()))
    branches: dict[int, list[Process]] = {}
    for pid, process in own.items():
        if pid not in known:
            branches.setdefault(_top(process, own, known), []).append(process)
    started = min(map(probes.epoch, core), default=0.0)
    return tuple(
        _child(own[top], branch, started, probes) for top, branch in sorted(branches.items())
    )


def _core(
    sight: Sight, own: dict[int, Process], epoch_of: Callable[[Process], float]
) -> tuple[Process, ...]:
    """Return the agent's own processes: the topmost ones, and those they launched at once."""
    recognised = {one.pid: one for one in sight.agent}
    firsts = [one for one in sight.agent if not recognised.keys() & _line(one.ppid, own)]
    core = dict.fromkeys(firsts)
    for one in sorted(sight.agent, key=lambda process: process.id.start):
        parent = recognised.get(one.ppid)
        if parent is None or parent not in core or parent.comm not in LAUNCHERS:
            continue
        if epoch_of(one) - epoch_of(parent) <= RELAUNCH_S:
            core[one] = None
    return tuple(core)


def _line(pid: int, own: dict[int, Process]) -> list[int]:
    """Return this pid and its ancestors within the session."""
    line: list[int] = []
    while pid in own and pid not in line:
        line.append(pid)
        pid = own[pid].ppid
    return line


def _top(process: Process, own: dict[int, Process], known: set[int]) -> int:
    line = _line(process.pid, own)
    tops = (pid for pid in line if own[pid].ppid in known or own[pid].ppid not in own)
    return next(tops, line[-1])


def _child(top: Process, branch: list[Process], began: float, probes: Probes) -> Child:
    agent = next((one for one in branch if probes.is_agent(one)), None)
    if agent is not None:
        kind = ChildKind.AGENT
    elif any(one.state in ("R", "D") for one in branch):
        kind = ChildKind.RUNNING
    elif top.comm in SHELLS:
        kind = ChildKind.TOOL
    elif probes.epoch(top) - began > HELPERS_S:
        kind = ChildKind.LATER
    else:
        kind = ChildKind.HELPER if probes.is_connected(top) else ChildKind.BACKGROUND
    shown = agent or top
    return Child(shown.pid, shown.comm, kind, max(map(probes.epoch, branch)))
