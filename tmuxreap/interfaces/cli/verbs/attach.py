"""Declares the command line of `attach`; `commands.attach` finds the session."""

from __future__ import annotations

import os
import sys

from tmuxreap.core.errors import Code, Exit, Failure
from tmuxreap.core.results import Result, failure_in
from tmuxreap.interfaces.cli.boundary import Call, confirm
from tmuxreap.interfaces.cli.parameters import argument
from tmuxreap.sessions.context import Context


def command(call: Call, name: str = argument("NAME", "Session to attach to.")) -> Result:
    """Attach this terminal to a session, or switch the tmux client."""
    from tmuxreap.commands.attach import run

    context = call.context
    if not sys.stdin.isatty():
        reason = f"could not attach to {name}: this is no terminal"
        raise Failure(Code.USAGE, reason, f"see its screen with: tmuxreap show {name}")
    words = _elsewhere(context, name) or run(
        context, name, (lambda: _resumed(context, name)) if call.asks else None
    )
    if words is not None:
        context.close()
        os.execvp(words[0], words)  # noqa: S606 - tmux takes over the terminal
    return Result("attach", context.registry_name, context.clock.now())


def _elsewhere(context: Context, name: str) -> tuple[str, ...] | None:
    if "@" not in name:
        return None
    from tmuxreap.interfaces.remote.terminal import attach_command

    return attach_command(context, name)


def _resumed(context: Context, name: str) -> bool:
    if not confirm(f"{name} has ended; resume it?"):
        return False
    from tmuxreap.commands.resume import ResumeRequest, run

    result = run(context, ResumeRequest((name,)))
    failure = next((failure_in(item) for item in result.results if item.error), result.failure)
    if failure is not None:
        raise failure
    return result.exit is Exit.OK
