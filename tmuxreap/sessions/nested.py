"""An agent that its pane only shows. In another tmux it is not the session's to end, and not gone
with its pane. Behind a carrier (ssh, docker, sudo) the keys go to what carries it, and it may be
where this kernel cannot see it. Pure."""

from __future__ import annotations

from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.programs import SHELLS, program_names
from tmuxreap.agents.spared import Carrier, Carriers
from tmuxreap.core.model import Pane, Process, Row
from tmuxreap.core.values import frozen
from tmuxreap.sessions.ownership import Owned
from tmuxreap.sessions.panes import (
    TMUX_CLIENT,
    agent_among,
    in_front,
    is_interactive_shell,
    on_terminal,
    shell_of,
    tree,
)
from tmuxreap.sessions.world import World


@frozen
class Nested:
    agent: Process
    socket: str | None  # of that tmux


def nested_in(belongings: Owned, profile: Profile | None, world: World) -> Nested | None:
    """A client of another tmux is in front, and below its server an agent of this kind lives."""
    if not any(one.process.comm == TMUX_CLIENT and in_front(one.process) for one in belongings.own):
        return None
    found = agent_among((one.process for one in belongings.spared), profile, world)
    if not found:
        return None
    trace = world.index.traces.get(found[0].pid)
    return Nested(found[0], trace.tmux.partition(",")[0] if trace and trace.tmux else None)


@frozen
class Carried:
    """What carries the agent's terminal to it, in front of the pane."""

    process: Process
    program: str
    beyond: bool  # the agent is where this kernel cannot see it
    nested: str | None = None  # what takes the keys before the agent does


def carried_in(
    row: Row,
    pane: Pane,
    agent: tuple[Process, ...],
    profile: Profile | None,
    carriers: Carriers,
    world: World,
) -> Carried | None:
    """None where the agent is on the pane's own terminal, or nothing carries it."""
    seen = agent if profile is not None else ()
    if pane.dead or on_terminal(pane, seen, world):
        return None
    found = {
        one: carrier
        for one in tree(world.index, pane.pid or 0)
        if (carrier := _carrier(one, carriers, world))
    }
    front = next((one for one in on_terminal(pane, tuple(found), world) if in_front(one)), None)
    if front is None or not _is_its_own(row, pane, front, frozenset(found), world):
        return None
    below = [found[one] for one in tree(world.index, front.pid) if one in found]
    beyond = not seen and any(carrier.beyond for carrier in below)
    if not beyond and not any(in_front(process) for process in seen):
        return None
    nested = carriers.between(world.names_of(front).argv[1:], profile.process if profile else ())
    return Carried(front, found[front].program, beyond, nested)


def _carrier(process: Process, carriers: Carriers, world: World) -> Carrier | None:
    names = world.names_of(process)
    return carriers.matching(program_names(names.argv, process.comm, names.executable), names.argv)


def _is_its_own(
    row: Row, pane: Pane, front: Process, carriers: frozenset[Process], world: World
) -> bool:
    """It runs for the agent: nothing but shells and carriers are above it, and where a shell waits
    for it, it is what was recorded. A person may have gone elsewhere from there when the agent had
    left."""
    above, index = front, world.index.processes
    while above.pid != pane.pid:
        above = index[above.ppid]  # down from there it was found
        if above not in carriers and shell_of(above, world) not in SHELLS:
            return False
    return (
        above in carriers
        or not is_interactive_shell(above, world)
        or row.pane.cmd in (None, front.comm)
    )
