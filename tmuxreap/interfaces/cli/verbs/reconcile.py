"""Declares the command line of `reconcile`; `commands.reconcile` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call
from tmuxreap.interfaces.cli.verbs.options import DRY_RUN


def command(call: Call, dry_run: bool = DRY_RUN) -> Result:
    """Compare the registry with what runs and fix what is certain.

    For the rest, print the command to run.
    """
    from tmuxreap.commands.reconcile.reconcile import run

    return run(call.context, dry_run=dry_run)
