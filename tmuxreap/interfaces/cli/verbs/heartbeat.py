"""Declares the command line of `heartbeat`. `hook.answer` handles the plain case before this is
imported, `commands.heartbeat` the rest."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call
from tmuxreap.interfaces.cli.parameters import Text, argument, text


def command(
    call: Call,
    name: Text = argument(None, "Session (default: the one this command runs in).", Text, None),
    state: Text = text(
        "--state STATE", "What the agent is doing: working, waiting (for a person) or idle."
    ),
) -> Result:
    """Record that a session is alive and what it is doing."""
    from tmuxreap.commands.heartbeat import run

    return run(call.context, name, state)
