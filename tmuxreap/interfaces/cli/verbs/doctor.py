"""Declares the command line of `doctor`; `commands.doctor` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer
from tmuxreap.interfaces.cli.verbs.options import Json, Quiet, Registry
from tmuxreap.sessions.context import Context


def command(registry: Registry = None, json: Json = False, quiet: Quiet = False) -> None:
    """Check the setup and print the command that fixes each problem.

    Changes nothing.
    """

    def work(context: Context) -> Result:
        from tmuxreap.commands.doctor.doctor import run

        return run(context)

    answer("doctor", registry, json, quiet, work)
