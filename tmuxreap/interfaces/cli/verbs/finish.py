"""Declares the command line of `_finish`; `commands.finish` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call, answer
from tmuxreap.interfaces.cli.parameters import argument


def command(
    registry: str = argument(), number: int = argument(kind=int), policy: str = argument()
) -> None:
    """Internal: finish an ending that `--self` handed over."""

    def work(call: Call) -> Result:
        from tmuxreap.commands.finish import run

        return run(call.context, number, policy)

    answer("finish", work, registry, quiet=True)
