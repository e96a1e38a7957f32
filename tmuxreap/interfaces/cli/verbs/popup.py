"""Declares the command line of `popup`; `interfaces.popup` does the work."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from tmuxreap.app import real_app
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer, on_terminal
from tmuxreap.interfaces.cli.parameters import Option
from tmuxreap.interfaces.cli.verbs.options import Registry
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings


def command(
    client: Annotated[
        str | None, Option("--client", help="tmux client to switch on Enter.", metavar="C")
    ] = None,
    socket: Annotated[
        str | None,
        Option("--socket", help="Socket of the tmux server of that client.", metavar="PATH"),
    ] = None,
    registry: Registry = None,
) -> None:
    """Show the sessions live, and stop or resume them by key.

    The tmux plugin (tmuxreap.tmux) opens it in a popup.
    """

    def work(context: Context) -> Result:
        if not on_terminal():
            reason = "could not open the popup: this is no terminal"
            raise Failure(
                Code.USAGE, reason, "run it in one, or in scripts use: tmuxreap list --json"
            )
        _screenful(context.settings, registry, client, socket or context.settings.tmux_socket)
        return Result("popup", context.registry_name, context.clock.now())

    answer("popup", registry, False, True, work)


def _screenful(
    settings: Settings, registry: str | None, client: str | None, socket: str | None
) -> None:
    try:
        from tmuxreap.interfaces.popup.app import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("textual", "rich"):
            raise
        reason = "could not open the popup: its extra is not installed (textual)"
        raise Failure(
            Code.USAGE,
            reason,
            "install it with all extras, in the checkout: pipx install --force '.[all]'",
        ) from None
    from tmuxreap.interfaces.popup.actions import Client, Desk

    new_app = partial(real_app, settings, registry, "popup")
    run(Desk(new_app, Client(socket, client) if socket else None))
