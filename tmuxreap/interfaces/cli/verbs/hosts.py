"""Declares the command line of `hosts`; `remote.checkup` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call
from tmuxreap.interfaces.cli.parameters import Text, Words, argument, arguments


def command(
    call: Call,
    action: Text = argument(
        "[check]", "Check the hosts (the default, and the only action).", Text, None
    ),
    wanted: Words = arguments("[H...]", "Hosts to check: names, @tag, all or local."),
) -> Result:
    """List the hosts in hosts.yaml and whether each answers.

    \b
    tmuxreap hosts                  all of them
    tmuxreap hosts check gpu @big   these
    """
    from tmuxreap.interfaces.remote.checkup import run

    return run(call.context, action, wanted or [])
