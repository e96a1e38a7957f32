"""Declares the command line of `events`; `commands.events` does the work."""

from __future__ import annotations

from typing import Annotated

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer, seconds, targets_of, voice_of
from tmuxreap.interfaces.cli.parameters import Option
from tmuxreap.interfaces.cli.verbs.options import Json, Quiet, Registry, Targets
from tmuxreap.interfaces.text.report import report_line
from tmuxreap.sessions.context import Context


def command(
    targets: Targets = None,
    follow: Annotated[bool, Option("--follow", "-f", help="Keep printing new events.")] = False,
    since: Annotated[
        str | None,
        Option("--since", help="Only events from the last D, e.g. 2h.", metavar="D"),
    ] = None,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the event history."""

    def work(context: Context) -> Result:
        from tmuxreap.commands import events as verb

        request = verb.EventsRequest(targets_of(targets), seconds(since, "--since"))
        if not follow:
            return verb.run(context, request)
        for event in verb.follow(context, request):
            report_line(event, voice_of(context.settings, json, quiet))
        raise AssertionError("follow never ends by itself")

    answer("events", registry, json, quiet, work)
