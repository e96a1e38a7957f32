"""Owns the remote control of kitty and WezTerm: how a pane of theirs is closed. It starts and types nothing there."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Terminal
from tmuxreap.system.programs import run

TIMEOUT_S = 5.0


def close_pane(name: str, terminal: Terminal, pane: str, environ: Mapping[str, str]) -> Failure | None:
    """By the terminal's own remote control; None when that went well."""
    words = PANE_CLOSERS[terminal](pane)
    reason = run(words, environ, TIMEOUT_S)
    if reason is None or CLOSED_ALREADY[terminal] in reason:
        return None
    return Failure(
        Code.PANE_CLOSE_FAILED,
        f"could not close the pane of {name}: {reason}",
        f"its processes are gone; close the pane by hand: {shlex.join(words)}",
    )


PANE_CLOSERS: Mapping[Terminal, Callable[[str], list[str]]] = {
    Terminal.KITTY: lambda pane: ["kitty", "@", "close-window", "--match", f"id:{pane}"],
    Terminal.WEZTERM: lambda pane: ["wezterm", "cli", "kill-pane", "--pane-id", pane],
}
# The usual case: the window closed by itself when its process ended.
CLOSED_ALREADY: Mapping[Terminal, str] = {
    Terminal.KITTY: "No matching windows",
    Terminal.WEZTERM: "no such pane",
}
