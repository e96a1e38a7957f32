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
NAMED = 5


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
    """With git's own command, and not where work would be lost: git itself deletes ignored files."""
    words = ["git", "-C", worktree, "worktree", "remove", worktree]
    # A caller that is a git hook has a repository of its own in its environment; this is about another.
    plain = {key: value for key, value in environ.items() if not key.startswith("GIT_")}
    reason = _work_in(worktree, plain) or _run(words, plain, GIT_TIMEOUT_S)
    if reason is None:
        return None
    return Failure(
        Code.CLEANUP_FAILED,
        f"could not remove the worktree of {name}: {reason}",
        f"look at it, then remove it by hand: {shlex.join(words)}",
    )


def _work_in(worktree: str, environ: Mapping[str, str]) -> str | None:
    """Say what nobody else has: files that are not committed, commits that no branch, tag or remote holds.

    Where git cannot tell, it will not remove either, and says why."""
    within = ["git", "-C", worktree]
    told = _output([*within, "status", "--porcelain", "-z", "--ignored", "--no-renames"], environ)
    files = [entry[3:] for entry in (told or "").split("\0") if entry]
    if files:
        named = ", ".join(files[:NAMED]) + (f" and {len(files) - NAMED} more" if len(files) > NAMED else "")
        return f"it contains modified or untracked files, or ignored ones: {named}"
    if not _output([*within, "rev-parse", "--verify", "--quiet", "HEAD"], environ):
        return None
    holders = ["refs/heads", "refs/remotes", "refs/tags"]
    held = _output([*within, "for-each-ref", "--contains", "HEAD", "--count=1", *holders], environ)
    return "its commits are held by no branch, tag or remote" if held == "" else None


def _output(words: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """None where it went wrong."""
    try:
        done = subprocess.run(
            list(words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(environ),
            timeout=GIT_TIMEOUT_S,
            check=False,
        )
    except (subprocess.TimeoutExpired, OSError):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


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
