"""An agent in another tmux that the pane only shows: not the session's to end, and not gone with its pane. Pure."""

from __future__ import annotations

from tmuxreap.agents.profiles import Profile
from tmuxreap.core.model import Process
from tmuxreap.core.values import frozen
from tmuxreap.sessions.ownership import Owned
from tmuxreap.sessions.panes import TMUX_CLIENT, agent_among, in_front
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
