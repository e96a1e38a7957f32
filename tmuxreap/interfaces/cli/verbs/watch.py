"""Declares the command line of `watch`; `commands.watch` does the work."""

from __future__ import annotations

import sys

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.core.text import plain
from tmuxreap.interfaces.cli.boundary import Call, kinds_of, seconds
from tmuxreap.interfaces.cli.parameters import Done, Text, flag, text


def command(
    call: Call,
    interval: Text = text(
        "--interval S", "How often to check everything, besides on events. [10s]"
    ),
    execute: Text = text("--exec COMMAND", "Run COMMAND for each event (JSON on stdin)."),
    reap: Text = text(
        "--reap stalled,idle,expired", "Also end sessions found stalled, idle or expired."
    ),
    notify: bool = flag(
        "--notify", "Also show each event to the tmux clients attached to that session."
    ),
) -> Result:
    """Reconcile whenever an agent or a tmux server exits.

    Keeps the registry up to date until interrupted.
    """
    from tmuxreap.commands.watch import notifier
    from tmuxreap.commands.watch.telling import dropped
    from tmuxreap.commands.watch.watch import INTERVAL_S, LEAST_INTERVAL_S, WatchRequest, run
    from tmuxreap.interfaces.text.watching import EventWriter, greeting

    context, style = call.context, call.style
    interval_s = seconds(interval, "--interval", INTERVAL_S)
    if interval_s < LEAST_INTERVAL_S:
        reason = f"could not read --interval: {interval} is too short"
        hint = f"give {LEAST_INTERVAL_S:g} or more: what happens is seen at once anyway"
        raise Failure(Code.USAGE, reason, hint)
    kinds = () if reap is None else kinds_of(reap, "--reap")
    request = WatchRequest(interval_s, execute, kinds, notify=notify)
    if execute is not None:
        notifier.check(execute)
    if not (style.json or style.quiet):
        print(f"tmuxreap: {plain(greeting(context))}", file=sys.stderr, flush=True)
    tell = EventWriter(style, lambda count: dropped(context.clock.now(), count))
    run(context, request, tell)
    tell.close()
    raise Done
