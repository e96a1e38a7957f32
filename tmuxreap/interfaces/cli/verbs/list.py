"""Declares the command line of `list`; `commands.list` does the work."""

from __future__ import annotations

from typing import Annotated

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer, targets_of
from tmuxreap.interfaces.cli.parameters import Option
from tmuxreap.interfaces.cli.verbs.options import Json, Quiet, Registry, Targets
from tmuxreap.sessions.context import Context


def command(
    targets: Targets = None,
    status: Annotated[
        str | None,
        Option("--status", help="Only running, stopped or terminated sessions.", metavar="S"),
    ] = None,
    live: Annotated[bool, Option("--live", help="Only sessions whose agent is alive.")] = False,
    sort: Annotated[
        str | None,
        Option("--sort", help="By name, status, live, agent, idle, memory, server.", metavar="KEY"),
    ] = None,
    tree: Annotated[
        bool, Option("--tree", help="Show each session below the one that started it.")
    ] = False,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List sessions and whether they are alive."""

    def work(context: Context) -> Result:
        from tmuxreap.commands.list import ListRequest, run

        return run(context, ListRequest(targets_of(targets), status, live, sort, tree))

    answer("list", registry, json, quiet, work)
