"""The words of `finish`; what it does is in `commands.finish`."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer
from tmuxreap.sessions.context import Context


def command(registry: str, number: int, policy: str) -> None:
    """What --self hands over: not for people."""

    def work(context: Context) -> Result:
        from tmuxreap.commands.finish import run

        return run(context, number, policy)

    answer("finish", registry, False, True, work)
