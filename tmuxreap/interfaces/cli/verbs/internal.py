"""Declares what agents, other hosts and this program itself call."""

from __future__ import annotations

from typing import Annotated

import typer

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli import complete
from tmuxreap.interfaces.cli.boundary import Call, Done, answer, heed_signals


def do_heartbeat(
    call: Call,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Session. [the one that this command runs in]",
            autocompletion=complete.names,
        ),
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="STATE",
            help="What the agent is doing: working, waiting (for a person) or idle.",
            autocompletion=complete.words("working", "waiting", "idle"),
        ),
    ] = None,
) -> Result:
    """Record that a session is alive and what it is doing."""
    from tmuxreap.commands.heartbeat import run

    return run(call.context, name, state)


def do_hook(
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT",
            help="Agent whose hook this is (see `tmuxreap agents`).",
            autocompletion=complete.agents,
        ),
    ],
    event: Annotated[
        str,
        typer.Argument(metavar="[EVENT]", help="Event, for agents that do not name it on stdin."),
    ] = "",
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
    registry: Annotated[str, typer.Argument()],
    number: Annotated[int, typer.Argument()],
    policy: Annotated[str, typer.Argument()],
) -> None:
    """Internal: finish an ending that `--self` handed over."""

    def work(call: Call) -> Result:
        from tmuxreap.commands.endings import finish

        return finish(call.context, number, policy)

    answer("finish", work, registry, quiet=True)


def do_bring_back(
    registry: Annotated[str, typer.Argument()],
    name: Annotated[str, typer.Argument()],
    loss: Annotated[str, typer.Argument()],
    tried: Annotated[int, typer.Argument()],
) -> None:
    """Internal: restart a lost session for a watch."""

    def work(call: Call) -> Result:
        from tmuxreap.commands.watch.restarting import bring_back

        heed_signals()
        return bring_back(call.context, name, loss, tried)

    answer("bring_back", work, registry, quiet=True)
