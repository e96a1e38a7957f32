"""Owns the remote control of kitty and WezTerm: finds and closes their panes. Never types there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from tmuxreap.core import foreign
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Terminal
from tmuxreap.core.values import frozen
from tmuxreap.system.programs import run

TIMEOUT_S = 5.0


@frozen
class FoundPane:
    """A pane as its terminal reports it: its process or its tty, and the terminal's remote control
    address."""

    pid: int | None
    tty: str | None
    address: str | None


def close_pane(
    name: str, terminal: Terminal, pane: str, environ: Mapping[str, str], address: str | None = None
) -> Failure | None:
    """Close a pane by its terminal's remote control; return None on success."""
    words, env = _with_address(terminal, PANE_CLOSERS[terminal](pane), environ, address)
    _, reason = run(words, env, TIMEOUT_S)
    if reason is None or CLOSED_ALREADY[terminal] in reason:
        return None
    message = f"could not close the pane of {name}: {reason}"
    hint = f"its processes are gone; close the pane by hand: {shlex.join(words)}"
    return Failure(Code.PANE_CLOSE_FAILED, message, hint)


PANE_CLOSERS: Mapping[Terminal, Callable[[str], list[str]]] = {
    Terminal.KITTY: lambda pane: ["kitty", "@", "close-window", "--match", f"id:{pane}"],
    Terminal.WEZTERM: lambda pane: ["wezterm", "cli", "kill-pane", "--pane-id", pane],
}
# The usual case: the window has closed when its process ended.
CLOSED_ALREADY: Mapping[Terminal, str] = {
    Terminal.KITTY: "No matching windows",
    Terminal.WEZTERM: "no such pane",
}
PANE_LISTERS: Mapping[Terminal, Sequence[str]] = {
    Terminal.KITTY: ("kitty", "@", "ls"),
    Terminal.WEZTERM: ("wezterm", "cli", "list", "--format", "json"),
}
# The variable with the remote control's address; recorded, as an ending may run elsewhere.
ADDRESS_VARIABLE: Mapping[Terminal, str] = {
    Terminal.KITTY: "KITTY_LISTEN_ON",
    Terminal.WEZTERM: "WEZTERM_UNIX_SOCKET",
}
_KITTY_ADDRESS = re.compile(r"(?:unix|tcp|tcp6):[^\x00-\x20]+")


def find_pane(name: str, terminal: Terminal, pane: str, environ: Mapping[str, str]) -> FoundPane:
    """Ask the terminal for a pane; raise Failure if it cannot be asked or has no such pane."""
    address = environ.get(ADDRESS_VARIABLE[terminal]) or None
    words, env = _with_address(terminal, PANE_LISTERS[terminal], environ, address)
    refused = partial(_not_found, name, terminal, pane)
    listing, reason = run(words, env, TIMEOUT_S)
    if reason is not None:
        raise refused(reason, "allow its remote control, or name the process with --pid")
    try:
        match = _pane_in(terminal, foreign.parse(listing), pane)
    except (ValueError, TypeError, AttributeError, KeyError):
        reason = "its answer was not understood"
        raise refused(reason, "name the process with --pid") from None
    if match is None:
        raise refused("it has no such pane", f"see them with: {shlex.join(words)}")
    return FoundPane(*match, address)


def _pane_in(terminal: Terminal, listing: Any, pane: str) -> tuple[int | None, str | None] | None:
    if not isinstance(listing, list):
        raise TypeError("a list is due")
    if terminal is Terminal.KITTY:
        panes = _kitty_panes(listing)
    else:
        panes = _wezterm_panes(listing)
    return next(((pid, tty) for number, pid, tty in panes if number == pane), None)


def _kitty_panes(listing: Any) -> Iterator[tuple[str, int | None, str | None]]:
    for os_window in listing:
        for tab in os_window["tabs"]:
            for window in tab["windows"]:
                yield str(window["id"]), int(window["pid"]), None


def _wezterm_panes(listing: Any) -> Iterator[tuple[str, int | None, str | None]]:
    for pane in listing:
        yield str(pane["pane_id"]), None, str(pane["tty_name"]) if pane.get("tty_name") else None


def _with_address(
    terminal: Terminal, words: Sequence[str], environ: Mapping[str, str], address: str | None
) -> tuple[list[str], Mapping[str, str]]:
    """Add the remote control's address to the command, or to its environment for WezTerm."""
    if address is None:
        return list(words), environ
    if terminal is Terminal.WEZTERM:
        return list(words), {**environ, ADDRESS_VARIABLE[terminal]: address}
    if _KITTY_ADDRESS.fullmatch(address):
        option = ["--to", address]
    else:
        option = []
    return [*words[:2], *option, *words[2:]], environ


def _not_found(name: str, terminal: Terminal, pane: str, reason: str, hint: str) -> Failure:
    place = f"the pane {pane} of {terminal.value}"
    return Failure(Code.NO_TRACKED_PID, f"could not adopt {name} in {place}: {reason}", hint)
