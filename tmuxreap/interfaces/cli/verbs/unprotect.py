"""Declares the command line of `unprotect`; `commands.protect` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer, targets_of
from tmuxreap.interfaces.cli.verbs.options import DryRun, Json, Quiet, Registry, Targets
from tmuxreap.sessions.context import Context


def command(
    targets: Targets = None,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
) -> None:
    """Remove the protection from sessions.

    Patterns, tags, trees and `all` include them again.
    """

    def work(context: Context) -> Result:
        from tmuxreap.commands.protect import ProtectRequest, run

        return run(context, ProtectRequest(targets_of(targets), keep=False, dry_run=dry_run))

    answer("unprotect", registry, json, quiet, work)
