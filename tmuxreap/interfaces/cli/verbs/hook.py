"""The words of `hook`, for the help; what it does is in `pulse`, which answers before this is read."""

from __future__ import annotations

from typing import Annotated

import typer

from tmuxreap.interfaces.hook import answer


def command(
    agent: Annotated[str, typer.Argument(help="Whose hook it is, as `agents` names it.", metavar="AGENT")],
    event: Annotated[
        str, typer.Argument(help="The event, for agents that do not name it on stdin.", metavar="[EVENT]")
    ] = "",
) -> None:
    """Note what an agent is at: called by its own hooks.

    With JSON on stdin; where that is wanted, the agent is asked to end its turn.
    """
    answer.hook([agent, event] if event else [agent])
