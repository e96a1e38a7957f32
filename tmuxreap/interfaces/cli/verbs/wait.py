"""Declares the command line of `wait`; `commands.wait` does the work."""

from __future__ import annotations

from typing import Annotated

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer, one_of, seconds, targets_of
from tmuxreap.interfaces.cli.parameters import Option
from tmuxreap.interfaces.cli.verbs.options import Json, Quiet, Registry, Targets
from tmuxreap.sessions.context import Context


def command(
    targets: Targets = None,
    until: Annotated[
        str,
        Option(
            "--until",
            help="State to wait for.",
            metavar="idle|waiting|working|limited|gone|ended",
            show_default=False,
        ),
    ] = "",
    anyone: Annotated[
        bool, Option("--any", help="Return as soon as one of them is there (default: all).")
    ] = False,
    timeout: Annotated[
        str | None,
        Option("--timeout", help="Give up after this long (default: never).", metavar="D"),
    ] = None,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Wait until sessions reach a state, end or are gone.

    \b
    tmuxreap wait acme --until idle --timeout 10m
    tmuxreap wait tag:nightly --until gone
    """

    def work(context: Context) -> Result:
        from tmuxreap.commands.wait import Until, WaitRequest, run

        known = [state.value for state in Until]
        if not until:
            reason = "could not wait: no state was given"
            raise Failure(Code.USAGE, reason, f"add --until with one of: {', '.join(known)}")
        wanted = Until(one_of(known, until, "--until"))
        return run(
            context, WaitRequest(targets_of(targets), wanted, anyone, seconds(timeout, "--timeout"))
        )

    answer("wait", registry, json, quiet, work)
