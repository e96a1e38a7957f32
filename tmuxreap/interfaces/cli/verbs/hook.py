"""Declares `hook` for the help; `hook.answer` handles the command before this is imported."""

from __future__ import annotations

from typing import Annotated

from tmuxreap.interfaces.cli.parameters import Argument
from tmuxreap.interfaces.hook import answer


def command(
    agent: Annotated[
        str,
        Argument(help="Agent whose hook this is (see `tmuxreap agents`).", metavar="AGENT"),
    ],
    event: Annotated[
        str,
        Argument(help="Event, for agents that do not name it on stdin.", metavar="[EVENT]"),
    ] = "",
) -> None:
    """Internal: called by the agent's hooks.

    Reads JSON on stdin and records what the agent is doing; may ask it to end its turn.
    """
    answer.hook([agent, event] if event else [agent])
