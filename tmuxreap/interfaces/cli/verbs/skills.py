"""Declares the command line of `skills`; `commands.skills` does the work."""

from __future__ import annotations

from typing import Annotated

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer
from tmuxreap.interfaces.cli.parameters import Argument, Option
from tmuxreap.interfaces.cli.verbs.options import DryRun, Json, Quiet, Yes
from tmuxreap.sessions.context import Context


def command(
    action: Annotated[
        str, Argument(help="Install the skills (the only action).", metavar="install")
    ],
    dest: Annotated[
        str | None,
        Option(
            "--dest",
            help=(
                "Target directory (default: .agents/skills, and .claude/skills if .claude exists)."
            ),
            metavar="DIR",
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Copy the skills and scripts into a project.

    They go where its agents look for them.
    """

    def work(context: Context) -> Result:
        from tmuxreap.commands.skills import SkillsRequest, run

        if action != "install":
            reason = f"could not read the command: skills has no action {action!r}"
            raise Failure(Code.USAGE, reason, "tmuxreap skills install")
        return run(context, SkillsRequest(dest, dry_run, yes))

    answer("skills", None, json, quiet, work)
