"""Declares the command line of `adopt`; `commands.adopt` does the work."""

from __future__ import annotations

import sys

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call, confirm
from tmuxreap.interfaces.cli.parameters import Number, Text, Words, arguments, flag, number, text
from tmuxreap.interfaces.cli.verbs.options import DRY_RUN, SERVER, TAGS, YES


def command(
    call: Call,
    names: Words = arguments("NAME...", "Names of sessions."),
    everything: bool = flag(
        "--all", "Adopt every agent session that is not registered; asks on a terminal."
    ),
    agent: Text = text("--agent A", "Agent that runs in it (default: detected)."),
    server: Text = SERVER,
    tag: Words = TAGS,
    dry_run: bool = DRY_RUN,
    yes: bool = YES,
    force: bool = flag(
        "--force", "Also a session that another registry has; only that one can end it."
    ),
    pid: Number = number("--pid N", "Agent outside of tmux: process N and its children."),
    pane: Text = text("--pane PANE", "Pane of another terminal: kitty:ID, wezterm:ID."),
) -> Result:
    """Register sessions that are already running."""
    from tmuxreap.commands.adopt import AdoptAllRequest, AdoptRequest, run, run_all

    tags, alone = tuple(tag or ()), pid is not None or pane is not None
    if everything and not (names or agent or force or alone):
        ask = _ask if call.asks else None
        return run_all(call.context, AdoptAllRequest(server, tags, dry_run, yes, ask))
    if everything or not names:
        reason = "could not tell what to adopt: give names of sessions, or --all alone"
        raise Failure(Code.USAGE, reason, "tmuxreap adopt NAME..., or: tmuxreap adopt --all")
    if alone and len(names) > 1:
        reason = "could not adopt several: --pid and --pane are of one"
        raise Failure(Code.USAGE, reason, "give one name")
    requests = [
        AdoptRequest(name, agent, server, tags, dry_run, force, pid, pane)
        for name in dict.fromkeys(names)
    ]
    return run(call.context, *requests)


def _ask(found: str) -> bool:
    print(f"not registered: {found}", file=sys.stderr)
    return confirm("register them?")
