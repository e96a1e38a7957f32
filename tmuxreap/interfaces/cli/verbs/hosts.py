"""Declares the command line of `hosts`; `remote.checkup` does the work."""

from __future__ import annotations

from typing import Annotated

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer
from tmuxreap.interfaces.cli.parameters import Argument
from tmuxreap.interfaces.cli.verbs.options import Json, Quiet
from tmuxreap.sessions.context import Context


def command(
    action: Annotated[
        str | None,
        Argument(help="Check the hosts (the default, and the only action).", metavar="[check]"),
    ] = None,
    wanted: Annotated[
        list[str] | None,
        Argument(help="Hosts to check: names, @tag, all or local.", metavar="[H...]"),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the hosts in hosts.yaml and whether each answers.

    \b
    tmuxreap hosts                  all of them
    tmuxreap hosts check gpu @big   these
    """

    def work(context: Context) -> Result:
        from tmuxreap.interfaces.remote.checkup import run

        return run(context, action, wanted or [])

    answer("hosts", None, json, quiet, work)
