"""Declares the command line of `hooks`; `commands.hooks` does the work."""

from __future__ import annotations

from typing import Annotated

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer
from tmuxreap.interfaces.cli.parameters import Argument
from tmuxreap.interfaces.cli.verbs.options import DryRun, Json, Quiet, Registry
from tmuxreap.sessions.context import Context


def command(
    deed: Annotated[
        str, Argument(help="Install the hooks, or remove them.", metavar="install|remove")
    ],
    agent: Annotated[
        str,
        Argument(help="Agent whose settings to change (see `tmuxreap agents`).", metavar="AGENT"),
    ],
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
) -> None:
    """Install or remove hooks that report an agent's state.

    They go into the agent's own settings; remove takes out exactly these.
    """

    def work(context: Context) -> Result:
        from tmuxreap.commands.hooks import HooksAction, HooksRequest, run

        if deed not in (HooksAction.INSTALL.value, HooksAction.REMOVE.value):
            raise Failure(
                Code.USAGE,
                f"could not tell what to do with hooks: {deed!r}",
                "say install or remove",
            )
        return run(context, HooksRequest(HooksAction(deed), agent, dry_run))

    answer("hooks", registry, json, quiet, work)
