"""The words of `forget`; what it does is in `commands.forget`."""

from __future__ import annotations

from typing import Annotated

import typer

from tmuxreap.app import App
from tmuxreap.boundary import answer, targets_of
from tmuxreap.results import Result
from tmuxreap.verbs.options import DryRun, Json, Quiet, Registry, Targets


def command(
    targets: Targets = None,
    history: Annotated[bool, typer.Option("--history", help="Its events too.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also a row that is running.")] = False,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
) -> None:
    """Drop the rows of ended sessions; conversations stay on disk."""

    def work(app: App) -> Result:
        from tmuxreap.commands.forget import ForgetRequest, run

        return run(app, ForgetRequest(targets_of(targets), history, force, dry_run))

    answer("forget", registry, json, quiet, work)
