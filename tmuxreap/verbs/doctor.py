"""The words of `doctor`; what it does is in `commands.doctor`."""

from __future__ import annotations

from tmuxreap.app import App
from tmuxreap.boundary import answer
from tmuxreap.results import Result
from tmuxreap.verbs.options import Json, Quiet, Registry


def command(registry: Registry = None, json: Json = False, quiet: Quiet = False) -> None:
    """Tell what is wrong, and the command that mends it.

    It looks at all that could be, and changes nothing.
    """

    def work(app: App) -> Result:
        from tmuxreap.commands.doctor import run

        return run(app)

    answer("doctor", registry, json, quiet, work)
