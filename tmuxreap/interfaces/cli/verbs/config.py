"""Declares the command line of `config`; `commands.config` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call


def command(call: Call) -> Result:
    """Show the defaults and where each one is set.

    \b
    tmuxreap config

    Order: flag, environment variable, config.yaml, built-in default.
    """
    from tmuxreap.commands.config import run

    return run(call.context)
