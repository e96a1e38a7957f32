"""Declares the command line of `watch`; `commands.watch` does the work."""

from __future__ import annotations

import sys
from typing import Annotated

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.core.text import plain
from tmuxreap.interfaces.cli.boundary import answer, kinds_of, seconds, voice_of
from tmuxreap.interfaces.cli.parameters import Done, Option
from tmuxreap.interfaces.cli.verbs.options import Json, Quiet, Registry
from tmuxreap.sessions.context import Context


def command(
    interval: Annotated[
        str | None,
        Option(
            "--interval",
            help="How often to check everything, besides on events. [10s]",
            metavar="S",
        ),
    ] = None,
    execute: Annotated[
        str | None,
        Option("--exec", help="Run COMMAND for each event (JSON on stdin).", metavar="COMMAND"),
    ] = None,
    reap: Annotated[
        str | None,
        Option(
            "--reap",
            help="Also end sessions found stalled, idle or expired.",
            metavar="stalled,idle,expired",
        ),
    ] = None,
    notify: Annotated[
        bool,
        Option(
            "--notify", help="Also show each event to the tmux clients attached to that session."
        ),
    ] = False,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Reconcile whenever an agent or a tmux server exits.

    Keeps the registry up to date until interrupted.
    """

    def work(context: Context) -> Result:
        from tmuxreap.commands.watch import notifier
        from tmuxreap.commands.watch.telling import dropped
        from tmuxreap.commands.watch.watch import (
            INTERVAL_S,
            LEAST_INTERVAL_S,
            WatchRequest,
            run,
        )
        from tmuxreap.interfaces.text.watching import EventWriter, greeting

        interval_s = seconds(interval, "--interval")
        if interval_s is not None and interval_s < LEAST_INTERVAL_S:
            reason = f"could not read --interval: {interval} is too short"
            raise Failure(
                Code.USAGE,
                reason,
                f"give {LEAST_INTERVAL_S:g} or more: what happens is seen at once anyway",
            )
        kinds = () if reap is None else kinds_of(reap, "--reap")
        request = WatchRequest(
            INTERVAL_S if interval_s is None else interval_s, execute, kinds, notify=notify
        )
        voice = voice_of(context.settings, json, quiet)
        if execute is not None:
            notifier.check(execute)
        if not (json or quiet):
            print(f"tmuxreap: {plain(greeting(context))}", file=sys.stderr, flush=True)
        tell = EventWriter(voice, lambda count: dropped(context.clock.now(), count))
        run(context, request, tell)
        tell.close()
        raise Done

    answer("watch", registry, json, quiet, work)
