"""Declares the command line of `doctor`; `commands.doctor` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call


def command(call: Call) -> Result:
    """Check the setup and print the command that fixes each problem.

    Changes nothing.
    """
    from tmuxreap.commands.doctor.doctor import run

    return run(call.context)
