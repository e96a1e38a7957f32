"""The words of `adopt`; what it does is in `commands.adopt`."""

from __future__ import annotations

from typing import Annotated

import typer

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer
from tmuxreap.interfaces.cli.verbs.options import DryRun, Json, Quiet, Registry, Server, Tags
from tmuxreap.sessions.context import Context


def command(
    name: Annotated[str, typer.Argument(help="Of the session.", metavar="NAME")],
    agent: Annotated[str | None, typer.Option("--agent", help="Which agent it is.", metavar="A")] = None,
    server: Server = None,
    tag: Tags = None,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also a session that another registry has; it stays that one's to end.")
    ] = False,
    pid: Annotated[
        int | None, typer.Option("--pid", help="A session without tmux: this process, and those below it.", metavar="N")
    ] = None,
    pane: Annotated[
        str | None, typer.Option("--pane", help="A pane of another terminal: kitty:ID, wezterm:ID.", metavar="PANE")
    ] = None,
) -> None:
    """Register a session that is there already."""

    def work(context: Context) -> Result:
        from tmuxreap.commands.adopt import AdoptRequest, run

        return run(context, AdoptRequest(name, agent, server, tuple(tag or ()), dry_run, force, pid, pane))

    answer("adopt", registry, json, quiet, work)
