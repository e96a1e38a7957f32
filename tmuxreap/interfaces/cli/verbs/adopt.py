"""Declares the command line of `adopt`; `commands.adopt` does the work."""

from __future__ import annotations

import sys
from typing import Annotated

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer, confirm, on_terminal
from tmuxreap.interfaces.cli.parameters import Argument, Option
from tmuxreap.interfaces.cli.verbs.options import DryRun, Json, Quiet, Registry, Server, Tags, Yes
from tmuxreap.sessions.context import Context


def command(
    names: Annotated[
        list[str] | None, Argument(help="Names of sessions.", metavar="NAME...")
    ] = None,
    everything: Annotated[
        bool,
        Option(
            "--all", help="Adopt every agent session that is not registered; asks on a terminal."
        ),
    ] = False,
    agent: Annotated[
        str | None,
        Option("--agent", help="Agent that runs in it (default: detected).", metavar="A"),
    ] = None,
    server: Server = None,
    tag: Tags = None,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    force: Annotated[
        bool,
        Option(
            "--force", help="Also a session that another registry has; only that one can end it."
        ),
    ] = False,
    pid: Annotated[
        int | None,
        Option("--pid", help="Agent outside of tmux: process N and its children.", metavar="N"),
    ] = None,
    pane: Annotated[
        str | None,
        Option("--pane", help="Pane of another terminal: kitty:ID, wezterm:ID.", metavar="PANE"),
    ] = None,
) -> None:
    """Register sessions that are already running."""

    def work(context: Context) -> Result:
        from tmuxreap.commands.adopt import AdoptAllRequest, AdoptRequest, run, run_all

        tags, alone = tuple(tag or ()), pid is not None or pane is not None
        if everything and not (names or agent or force or alone):
            ask = _ask if on_terminal() else None
            return run_all(context, AdoptAllRequest(server, tags, dry_run, yes, ask))
        if everything or not names:
            reason = "could not tell what to adopt: give names of sessions, or --all alone"
            raise Failure(Code.USAGE, reason, "tmuxreap adopt NAME..., or: tmuxreap adopt --all")
        if alone and len(names) > 1:
            raise Failure(
                Code.USAGE, "could not adopt several: --pid and --pane are of one", "give one name"
            )
        requests = [
            AdoptRequest(name, agent, server, tags, dry_run, force, pid, pane)
            for name in dict.fromkeys(names)
        ]
        return run(context, *requests)

    answer("adopt", registry, json, quiet, work)


def _ask(found: str) -> bool:
    print(f"not registered: {found}", file=sys.stderr)
    return confirm("register them?")
