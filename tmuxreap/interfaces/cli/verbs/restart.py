"""Declares the command line of `_restart`; `commands.restart` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer, heed_signals
from tmuxreap.sessions.context import Context


def command(registry: str, name: str, loss: str, tried: int) -> None:
    """Internal: restart a lost session for a watch."""

    def work(context: Context) -> Result:
        from tmuxreap.commands.restart import run

        heed_signals()
        return run(context, name, loss, tried)

    answer("restart", registry, False, True, work)
