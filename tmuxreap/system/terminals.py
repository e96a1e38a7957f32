"""Owns the calls of other programs than tmux: the remote control of kitty and WezTerm, and git. Each has a time limit,
none is ever forced."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Terminal

TIMEOUT_S = 5.0
GIT_TIMEOUT_S = 60.0


def close_pane(name: str, terminal: Terminal, pane: str, environ: Mapping[str, str]) -> Failure | None:
    """By the terminal's own remote control; None when that went well."""
    words = PANE_CLOSERS[terminal](pane)
    reason = _run(words, environ, TIMEOUT_S)
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


def remove_worktree(name: str, worktree: str, environ: Mapping[str, str]) -> Failure | None:
    """With git's own command, which refuses what would lose work."""
    words = ["git", "-C", worktree, "worktree", "remove", worktree]
    # A caller that is a git hook has a repository of its own in its environment; this is about another.
    plain = {key: value for key, value in environ.items() if not key.startswith("GIT_")}
    reason = _run(words, plain, GIT_TIMEOUT_S)
    if reason is None:
        return None
    return Failure(
        Code.CLEANUP_FAILED,
        f"could not remove the worktree of {name}: {reason}",
        f"look at it, then remove it by hand: {shlex.join(words)}",
    )


def _run(words: Sequence[str], environ: Mapping[str, str], timeout_s: float) -> str | None:
    """None, or in a few words why it went wrong."""
    try:
        done = subprocess.run(
            list(words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(environ),
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{words[0]} gave no answer in {timeout_s:g} s"
    except OSError as error:
        return f"{words[0]} could not be run: {error.strerror}"
    if done.returncode == 0:
        return None
    said = done.stderr.decode("utf-8", "replace").strip() or f"exit {done.returncode}"
    return f"{words[0]} said: {said}"
