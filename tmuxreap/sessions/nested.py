"""Detects an agent that its pane only displays. In another tmux it does not belong to the session,
and outlives the pane. Behind a carrier (ssh, docker, sudo) the carrier gets the keys, and this
kernel may not see the agent. Never does I/O."""

from __future__ import annotations

from tmuxreap.agents.profiles import SHELLS, Carrier, Carriers, Profile, program_names
from tmuxreap.core.model import Pane, Process, Row
from tmuxreap.core.values import frozen
from tmuxreap.sessions.ownership import Owned
from tmuxreap.sessions.panes import (
    TMUX_CLIENT,
    agent_among,
    in_foreground,
    is_interactive_shell,
    on_terminal,
    process_tree,
    shell_of,
)
from tmuxreap.sessions.world import World


@frozen
class Nested:
    agent: Process
    socket: str | None  # of that tmux


def nested_in(belongings: Owned, profile: Profile | None, world: World) -> Nested | None:
    """Find the agent in another tmux whose client is in the foreground."""
    if not any(
        it.process.comm == TMUX_CLIENT and in_foreground(it.process) for it in belongings.own
    ):
        return None
    agents = agent_among((it.process for it in belongings.spared), profile, world)
    if not agents:
        return None
    trace = world.index.traces.get(agents[0].pid)
    return Nested(agents[0], trace.tmux.partition(",")[0] if trace and trace.tmux else None)


@frozen
class Carried:
    """The carrier in the foreground of the pane, which connects the agent to the terminal."""

    process: Process
    program: str
    beyond: bool  # the agent runs where this kernel cannot see it
    nested: str | None = None  # the program that takes the keys before the agent


def carried_in(
    row: Row,
    pane: Pane,
    agent: tuple[Process, ...],
    profile: Profile | None,
    carriers: Carriers,
    world: World,
) -> Carried | None:
    """Return the agent's carrier; None if the agent is on the pane's own terminal, or without a
    carrier."""
    seen = agent if profile is not None else ()
    if pane.dead or on_terminal(pane, seen, world):
        return None
    by_process = {
        it: carrier
        for it in process_tree(world.index, pane.pid or 0)
        if (carrier := _carrier(it, carriers, world))
    }
    front = next(
        (it for it in on_terminal(pane, tuple(by_process), world) if in_foreground(it)), None
    )
    if front is None or not _is_its_own(row, pane, front, frozenset(by_process), world):
        return None
    below = [by_process[it] for it in process_tree(world.index, front.pid) if it in by_process]
    beyond = not seen and any(carrier.beyond for carrier in below)
    if not beyond and not any(in_foreground(it) for it in seen):
        return None
    nested = carriers.taking_keys(
        world.names_of(front).argv[1:], profile.process if profile else ()
    )
    return Carried(front, by_process[front].program, beyond, nested)


def _carrier(process: Process, carriers: Carriers, world: World) -> Carrier | None:
    names = world.names_of(process)
    return carriers.matching(program_names(names.argv, process.comm, names.executable), names.argv)


def _is_its_own(
    row: Row, pane: Pane, front: Process, carriers: frozenset[Process], world: World
) -> bool:
    """Tell whether the carrier runs for the agent: only shells and carriers are above it, and if an
    interactive shell waits for it, it is the recorded command. The user may have started another
    carrier from that shell after the agent left."""
    above, index = front, world.index.processes
    while above.pid != pane.pid:
        above = index[above.ppid]  # exists: the search came down from the pane's leader
        if above not in carriers and shell_of(above, world) not in SHELLS:
            return False
    return (
        above in carriers
        or not is_interactive_shell(above, world)
        or row.pane.cmd in (None, front.comm)
    )
