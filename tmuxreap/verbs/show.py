"""The words of `show`; what it does is in `commands.show`."""

from __future__ import annotations

from tmuxreap.app import App
from tmuxreap.boundary import answer, targets_of
from tmuxreap.results import Result
from tmuxreap.verbs.options import Json, Quiet, Registry, Targets


def command(targets: Targets = None, registry: Registry = None, json: Json = False, quiet: Quiet = False) -> None:
    """Show all that is known of a session.

    Its processes and why they are its own, its pane, its conversation, its screen.
    """

    def work(app: App) -> Result:
        from tmuxreap.commands.show import run

        return run(app, targets_of(targets))

    answer("show", registry, json, quiet, work)
