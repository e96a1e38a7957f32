"""The words of `hooks`; what it does is in `commands.hooks`."""

from __future__ import annotations

from typing import Annotated

import typer

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer
from tmuxreap.interfaces.cli.verbs.options import DryRun, Json, Quiet, Registry
from tmuxreap.sessions.context import Context


def command(
    deed: Annotated[str, typer.Argument(help="install or remove.", metavar="install|remove")],
    agent: Annotated[str, typer.Argument(help="Whose settings, as `agents` names it.", metavar="AGENT")],
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
) -> None:
    """Have an agent tell what it is at, by hooks in its settings.

    Or take exactly these out again.
    """

    def work(context: Context) -> Result:
        from tmuxreap.commands.hooks import Deed, HooksRequest, run

        if deed not in (Deed.INSTALL.value, Deed.REMOVE.value):
            raise Failure(Code.USAGE, f"could not tell what to do with hooks: {deed!r}", "say install or remove")
        return run(context, HooksRequest(Deed(deed), agent, dry_run))

    answer("hooks", registry, json, quiet, work)
