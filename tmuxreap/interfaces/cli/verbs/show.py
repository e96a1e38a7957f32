"""Declares the command line of `show`; `commands.show` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call
from tmuxreap.interfaces.cli.parameters import Words
from tmuxreap.interfaces.cli.verbs.options import TARGETS


def command(call: Call, targets: Words = TARGETS) -> Result:
    """Show all that is known about a session.

    Its processes and why each belongs to it, its pane, conversation and screen.
    """
    from tmuxreap.commands.show import run

    return run(call.context, tuple(targets or ()))
