"""Declares the command line of `popup`; `interfaces.popup` does the work."""

from __future__ import annotations

from functools import partial

from tmuxreap.app import real_app
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call, on_terminal
from tmuxreap.interfaces.cli.parameters import Text, text
from tmuxreap.interfaces.cli.verbs.options import INSTALL


def command(
    call: Call,
    client: Text = text("--client C", "tmux client to switch on Enter."),
    socket: Text = text("--socket PATH", "Socket of the tmux server of that client."),
) -> Result:
    """Show the sessions live, and stop or resume them by key.

    The tmux plugin (tmuxreap.tmux) opens it in a popup.
    """
    context = call.context
    if not on_terminal():
        reason = "could not open the popup: this is no terminal"
        raise Failure(Code.USAGE, reason, "run it in one, or in scripts use: tmuxreap list --json")
    try:
        from tmuxreap.interfaces.popup.app import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("textual", "rich"):
            raise
        reason = "could not open the popup: its extra is not installed (textual)"
        raise Failure(Code.USAGE, reason, INSTALL) from None
    from tmuxreap.interfaces.popup.actions import Client, Desk

    socket = socket or context.settings.tmux_socket
    new_app = partial(real_app, context.settings, context.given_registry, "popup")
    run(Desk(new_app, Client(socket, client) if socket else None))
    return Result("popup", context.registry_name, context.clock.now())
