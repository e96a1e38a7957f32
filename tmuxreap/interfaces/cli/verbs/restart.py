"""The words of `restart`, as a watch calls it; what it does is in `commands.restart`."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer, heed_signals
from tmuxreap.sessions.context import Context


def command(registry: str, name: str, loss: str, tried: int) -> None:
    """What a watch does in a process of its own: not for people."""

    def work(context: Context) -> Result:
        from tmuxreap.commands.restart import run

        heed_signals()
        return run(context, name, loss, tried)

    answer("restart", registry, False, True, work)
