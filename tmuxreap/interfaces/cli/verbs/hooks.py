"""Declares the command line of `hooks`; `commands.hooks` does the work."""

from __future__ import annotations

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call
from tmuxreap.interfaces.cli.parameters import argument
from tmuxreap.interfaces.cli.verbs.options import DRY_RUN


def command(
    call: Call,
    deed: str = argument("install|remove", "Install the hooks, or remove them."),
    agent: str = argument("AGENT", "Agent whose settings to change (see `tmuxreap agents`)."),
    dry_run: bool = DRY_RUN,
) -> Result:
    """Install or remove hooks that report an agent's state.

    They go into the agent's own settings; remove takes out exactly these.
    """
    from tmuxreap.commands.hooks import HooksAction, HooksRequest, run

    if deed not in (HooksAction.INSTALL.value, HooksAction.REMOVE.value):
        reason = f"could not tell what to do with hooks: {deed!r}"
        raise Failure(Code.USAGE, reason, "say install or remove")
    return run(call.context, HooksRequest(HooksAction(deed), agent, dry_run))
