"""Declares the command line of `heartbeat`. `hook.answer` handles the plain case before this is
imported, `commands.heartbeat` the rest."""

from __future__ import annotations

from typing import Annotated

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer
from tmuxreap.interfaces.cli.parameters import Argument, Option
from tmuxreap.interfaces.cli.verbs.options import Json, Quiet, Registry
from tmuxreap.sessions.context import Context


def command(
    name: Annotated[
        str | None, Argument(help="Session (default: the one this command runs in).")
    ] = None,
    state: Annotated[
        str | None,
        Option(
            "--state",
            help="What the agent is doing: working, waiting (for a person) or idle.",
            metavar="STATE",
        ),
    ] = None,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Record that a session is alive and what it is doing."""

    def work(context: Context) -> Result:
        from tmuxreap.commands.heartbeat import run

        return run(context, name, state)

    answer("heartbeat", registry, json, quiet, work)
