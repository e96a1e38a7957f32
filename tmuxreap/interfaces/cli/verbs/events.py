"""Declares the command line of `events`; `commands.events` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call, seconds
from tmuxreap.interfaces.cli.parameters import Text, Words, flag, text
from tmuxreap.interfaces.cli.verbs.options import TARGETS
from tmuxreap.interfaces.text.report import report_line


def command(
    call: Call,
    targets: Words = TARGETS,
    follow: bool = flag("--follow -f", "Keep printing new events."),
    since: Text = text("--since D", "Only events from the last D, e.g. 2h."),
) -> Result:
    """Show the event history."""
    from tmuxreap.commands import events as verb

    request = verb.EventsRequest(tuple(targets or ()), seconds(since, "--since"))
    if not follow:
        return verb.run(call.context, request)
    for event in verb.follow(call.context, request):
        report_line(event, call.style)
    raise AssertionError("follow never ends by itself")
