"""The words of `reconcile`; what it does is in `commands.reconcile`."""

from __future__ import annotations

from tmuxreap.app import App
from tmuxreap.boundary import answer
from tmuxreap.results import Result
from tmuxreap.verbs.options import DryRun, Json, Quiet, Registry


def command(registry: Registry = None, json: Json = False, quiet: Quiet = False, dry_run: DryRun = False) -> None:
    """Bring registry, ledger and tmux into agreement.

    What only you can decide is told, with the command that settles it.
    """

    def work(app: App) -> Result:
        from tmuxreap.commands.reconcile import run

        return run(app, dry_run=dry_run)

    answer("reconcile", registry, json, quiet, work)
