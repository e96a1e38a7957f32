"""Declares the command line of `skills`; `commands.skills` does the work."""

from __future__ import annotations

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call
from tmuxreap.interfaces.cli.parameters import Text, argument, text
from tmuxreap.interfaces.cli.verbs.options import DRY_RUN, YES


def command(
    call: Call,
    action: str = argument("install", "Install the skills (the only action)."),
    dest: Text = text(
        "--dest DIR",
        "Target directory (default: .agents/skills, and .claude/skills if .claude exists).",
    ),
    dry_run: bool = DRY_RUN,
    yes: bool = YES,
) -> Result:
    """Copy the skills and scripts into a project.

    They go where its agents look for them.
    """
    from tmuxreap.commands.skills import SkillsRequest, run

    if action != "install":
        reason = f"could not read the command: skills has no action {action!r}"
        raise Failure(Code.USAGE, reason, "tmuxreap skills install")
    return run(call.context, SkillsRequest(dest, dry_run, yes))
