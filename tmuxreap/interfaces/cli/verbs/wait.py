"""Declares the command line of `wait`; `commands.wait` does the work."""

from __future__ import annotations

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call, one_of, seconds
from tmuxreap.interfaces.cli.parameters import Text, Words, flag, text
from tmuxreap.interfaces.cli.verbs.options import TARGETS


def command(
    call: Call,
    targets: Words = TARGETS,
    until: str = text(
        "--until idle|waiting|working|limited|gone|ended",
        "State to wait for.",
        "",
        show_default=False,
    ),
    anyone: bool = flag("--any", "Return as soon as one of them is there (default: all)."),
    timeout: Text = text("--timeout D", "Give up after this long (default: never)."),
) -> Result:
    """Wait until sessions reach a state, end or are gone.

    \b
    tmuxreap wait acme --until idle --timeout 10m
    tmuxreap wait tag:nightly --until gone
    """
    from tmuxreap.commands.wait import Until, WaitRequest, run

    known = [state.value for state in Until]
    if not until:
        reason = "could not wait: no state was given"
        raise Failure(Code.USAGE, reason, f"add --until with one of: {', '.join(known)}")
    wanted = Until(one_of(known, until, "--until"))
    request = WaitRequest(tuple(targets or ()), wanted, anyone, seconds(timeout, "--timeout"))
    return run(call.context, request)
