"""The words of `agents`; what it does is in `commands.agents`."""

from __future__ import annotations

from tmuxreap.app import App
from tmuxreap.boundary import answer
from tmuxreap.results import Result
from tmuxreap.verbs.options import Json, Quiet


def command(json: Json = False, quiet: Quiet = False) -> None:
    """List the known agents, and what can be done with each."""

    def work(app: App) -> Result:
        from tmuxreap.commands.agents import run

        return run(app)

    answer("agents", None, json, quiet, work)
