"""The words of `forget`; what it does is in `commands.forget`."""

from __future__ import annotations

from typing import Annotated

import typer

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer, seconds, targets_of
from tmuxreap.interfaces.cli.verbs.options import DryRun, Json, Quiet, Registry, Targets
from tmuxreap.sessions.context import Context


def command(
    targets: Targets = None,
    history: Annotated[bool, typer.Option("--history", help="Its events too.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also a row that is running.")] = False,
    older_than: Annotated[
        str | None, typer.Option("--older-than", help="Only those that ended longer ago, as 30d.", metavar="D")
    ] = None,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
) -> None:
    """Drop the rows of ended sessions; conversations stay on disk."""

    def work(context: Context) -> Result:
        from tmuxreap.commands.forget import ForgetRequest, run

        age_s = seconds(older_than, "--older-than")
        return run(context, ForgetRequest(targets_of(targets), history, force, dry_run, older_than_s=age_s))

    answer("forget", registry, json, quiet, work)
