"""The words of `finish`; what it does is in `commands.finish`."""

from __future__ import annotations

from tmuxreap.app import App
from tmuxreap.boundary import answer
from tmuxreap.results import Result


def command(registry: str, number: int, policy: str) -> None:
    """What --self hands over: not for people."""

    def work(app: App) -> Result:
        from tmuxreap.commands.finish import run

        return run(app, number, policy)

    answer("finish", registry, False, True, work)
