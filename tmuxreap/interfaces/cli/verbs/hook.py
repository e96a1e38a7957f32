"""Declares `hook` for the help; `hook.answer` handles the command before this is imported."""

from __future__ import annotations

from tmuxreap.interfaces.cli.parameters import argument
from tmuxreap.interfaces.hook import answer


def command(
    agent: str = argument("AGENT", "Agent whose hook this is (see `tmuxreap agents`)."),
    event: str = argument("[EVENT]", "Event, for agents that do not name it on stdin.", default=""),
) -> None:
    """Internal: called by the agent's hooks.

    Reads JSON on stdin and records what the agent is doing; may ask it to end its turn.
    """
    answer.hook([agent, event] if event else [agent])
