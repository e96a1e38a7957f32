"""Declares the command line of `finish`; `commands.finish` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer
from tmuxreap.sessions.context import Context


def command(registry: str, number: int, policy: str) -> None:
    """Internal: finish an ending that `--self` handed over."""

    def work(context: Context) -> Result:
        from tmuxreap.commands.finish import run

        return run(context, number, policy)

    answer("finish", registry, False, True, work)
