"""Declares the command line of `show`; `commands.show` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer, targets_of
from tmuxreap.interfaces.cli.verbs.options import Json, Quiet, Registry, Targets
from tmuxreap.sessions.context import Context


def command(
    targets: Targets = None, registry: Registry = None, json: Json = False, quiet: Quiet = False
) -> None:
    """Show all that is known about a session.

    Its processes and why each belongs to it, its pane, conversation and screen.
    """

    def work(context: Context) -> Result:
        from tmuxreap.commands.show import run

        return run(context, targets_of(targets))

    answer("show", registry, json, quiet, work)
