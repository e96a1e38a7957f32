"""Declares the command line of `list`; `commands.list` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call
from tmuxreap.interfaces.cli.parameters import Text, Words, flag, text
from tmuxreap.interfaces.cli.verbs.options import TARGETS


def command(
    call: Call,
    targets: Words = TARGETS,
    status: Text = text("--status S", "Only running, stopped or terminated sessions."),
    live: bool = flag("--live", "Only sessions whose agent is alive."),
    sort: Text = text("--sort KEY", "By name, status, live, agent, idle, memory, server."),
    tree: bool = flag("--tree", "Show each session below the one that started it."),
) -> Result:
    """List sessions and whether they are alive."""
    from tmuxreap.commands.list import ListRequest, run

    return run(call.context, ListRequest(tuple(targets or ()), status, live, sort, tree))
