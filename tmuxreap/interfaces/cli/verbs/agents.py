"""Declares the command line of `agents`; `commands.agents` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer
from tmuxreap.interfaces.cli.verbs.options import Json, Quiet
from tmuxreap.sessions.context import Context


def command(json: Json = False, quiet: Quiet = False) -> None:
    """List the known agents and what can be done with each."""

    def work(context: Context) -> Result:
        from tmuxreap.commands.agents import run

        return run(context)

    answer("agents", None, json, quiet, work)
