"""Declares the command line of `_restart`; `commands.restart` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call, answer, heed_signals
from tmuxreap.interfaces.cli.parameters import argument


def command(
    registry: str = argument(),
    name: str = argument(),
    loss: str = argument(),
    tried: int = argument(kind=int),
) -> None:
    """Internal: restart a lost session for a watch."""

    def work(call: Call) -> Result:
        from tmuxreap.commands.restart import run

        heed_signals()
        return run(call.context, name, loss, tried)

    answer("restart", work, registry, quiet=True)
