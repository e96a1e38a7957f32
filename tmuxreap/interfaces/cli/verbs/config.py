"""Declares the command line of `config`; `commands.config` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer
from tmuxreap.interfaces.cli.verbs.options import Json, Quiet
from tmuxreap.sessions.context import Context


def command(json: Json = False, quiet: Quiet = False) -> None:
    """Show the defaults and where each one is set.

    \b
    tmuxreap config

    Order: flag, environment variable, config.yaml, built-in default.
    """

    def work(context: Context) -> Result:
        from tmuxreap.commands.config import ConfigRequest, run

        return run(context, ConfigRequest())

    answer("config", None, json, quiet, work)
