"""What an agent has started: helpers that came with it, tools at work, other agents. Pure.

An agent's own process may be several (a launcher, what it runs). What stands below them, or fell
from there, is its offspring; each branch is judged as one, by its first process and by what is in
it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from itertools import chain

from tmuxreap.agents.programs import SHELLS
from tmuxreap.core.model import Process
from tmuxreap.core.values import frozen
from tmuxreap.sessions.sight import Sight

# a launcher starts its agent at once; one that comes later, or from no launcher, is another agent
RELAUNCH_S = 5.0
LAUNCHERS = frozenset({"node", "MainThread", "bun", "deno"})
HELPERS_S = 60.0  # in this time after its own start an agent starts its servers


class What(Enum):
    """HELPER says nothing about work; each of the others may be at work, and what cannot be told
    counts as work."""

    HELPER = "helper"
    TOOL = "tool"  # below a shell: so agents run what they are asked to
    AGENT = "agent"
    LATER = "started later"
    BACKGROUND = "background"  # it talks to nobody
    RUNNING = "running"  # on a processor at the very moment


@frozen
class Child:
    pid: int
    name: str
    what: What
    started: float  # of the youngest process in its branch

    @property
    def working(self) -> bool:
        return self.what is not What.HELPER

    def as_json(self) -> dict[str, object]:
        return {"pid": self.pid, "name": self.name, "what": self.what.value}


@frozen
class Ask:
    """What is asked of a process: when it began, whether it is a known agent's program, and whether
    it talks to another by a pipe or a socket, as the servers of agents do and what was left in the
    background does not."""

    epoch: Callable[[Process], float]
    is_agent: Callable[[Process], bool]
    talks: Callable[[Process], bool]


def offspring(sight: Sight, ask: Ask) -> tuple[Child, ...]:
    own = {one.process.pid: one.process for one in sight.owned.own}
    core = _core(sight, own, ask.epoch)
    above = set(chain.from_iterable(_line(one.ppid, own) for one in core))
    leaders = {pane.pid or 0 for pane in sight.session.panes} if sight.session else set()
    branches: dict[int, list[Process]] = {}
    for pid, process in own.items():
        if pid not in core_pids(core) and pid not in above and pid not in leaders:
            branches.setdefault(_top(process, own, core_pids(core) | above | leaders), []).append(
                process
            )
    began = min((ask.epoch(one) for one in core), default=0.0)
    return tuple(_child(own[top], branch, began, ask) for top, branch in sorted(branches.items()))


def core_pids(core: tuple[Process, ...]) -> set[int]:
    return {one.pid for one in core}


def _core(
    sight: Sight, own: dict[int, Process], epoch_of: Callable[[Process], float]
) -> tuple[Process, ...]:
    """The agent itself: its first processes, and those that they became at once."""
    recognised = {one.pid: one for one in sight.agent}
    firsts = [
        one for one in recognised.values() if not set(_line(one.ppid, own)) & recognised.keys()
    ]
    core = dict.fromkeys(firsts)
    for one in sorted(recognised.values(), key=lambda process: process.id.start):
        parent = recognised.get(one.ppid)
        if parent is None or parent not in core or parent.comm not in LAUNCHERS:
            continue
        if epoch_of(one) - epoch_of(parent) <= RELAUNCH_S:
            core[one] = None
    return tuple(core)


def _line(pid: int, own: dict[int, Process]) -> list[int]:
    """This one and all above it, as far as they are the session's."""
    found: list[int] = []
    while pid in own and pid not in found:
        found.append(pid)
        pid = own[pid].ppid
    return found


def _top(process: Process, own: dict[int, Process], known: set[int]) -> int:
    line = _line(process.pid, own)
    return next(
        (pid for pid in line if own[pid].ppid in known or own[pid].ppid not in own), line[-1]
    )


def _child(top: Process, branch: list[Process], began: float, ask: Ask) -> Child:
    agent = next((one for one in branch if ask.is_agent(one)), None)
    if agent is not None:
        what = What.AGENT
    elif any(one.state in ("R", "D") for one in branch):
        what = What.RUNNING
    elif top.comm in SHELLS:
        what = What.TOOL
    elif ask.epoch(top) - began > HELPERS_S:
        what = What.LATER
    else:
        what = What.HELPER if ask.talks(top) else What.BACKGROUND
    shown = agent or top
    return Child(shown.pid, shown.comm, what, max(ask.epoch(one) for one in branch))
