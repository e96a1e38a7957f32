"""Declares the command line of `agents`; `commands.agents` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call


def command(call: Call) -> Result:
    """List the known agents and what can be done with each."""
    from tmuxreap.commands.agents import run

    return run(call.context)
