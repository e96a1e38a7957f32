"""Declares what agents, other hosts and this program itself call."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call, answer, heed_signals
from tmuxreap.interfaces.cli.parameters import Done, Text, argument, text


def do_heartbeat(
    call: Call,
    name: Text = argument(None, "Session (default: the one this command runs in).", Text, None),
    state: Text = text(
        "--state STATE", "What the agent is doing: working, waiting (for a person) or idle."
    ),
) -> Result:
    """Record that a session is alive and what it is doing."""
    from tmuxreap.commands.heartbeat import run

    return run(call.context, name, state)


def do_hook(
    agent: str = argument("AGENT", "Agent whose hook this is (see `tmuxreap agents`)."),
    event: str = argument("[EVENT]", "Event, for agents that do not name it on stdin.", default=""),
) -> None:
    """Internal: called by the agent's hooks.

    Reads JSON on stdin and records what the agent is doing; may ask it to end its turn.
    """
    from tmuxreap.interfaces.hook.answer import hook

    hook([agent, event] if event else [agent])


def do_at() -> None:
    """Internal: answer the tmuxreap of another host."""
    from tmuxreap.interfaces.remote.there import serve

    raise Done(serve())


def do_finish(
    registry: str = argument(), number: int = argument(kind=int), policy: str = argument()
) -> None:
    """Internal: finish an ending that `--self` handed over."""

    def work(call: Call) -> Result:
        from tmuxreap.commands.finish import run

        return run(call.context, number, policy)

    answer("finish", work, registry, quiet=True)


def do_restart(
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
