"""Declares the command line of `reconcile`; `commands.reconcile` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer
from tmuxreap.interfaces.cli.verbs.options import DryRun, Json, Quiet, Registry
from tmuxreap.sessions.context import Context


def command(
    registry: Registry = None, json: Json = False, quiet: Quiet = False, dry_run: DryRun = False
) -> None:
    """Compare the registry with what runs and fix what is certain.

    For the rest, print the command to run.
    """

    def work(context: Context) -> Result:
        from tmuxreap.commands.reconcile.reconcile import run

        return run(context, dry_run=dry_run)

    answer("reconcile", registry, json, quiet, work)
