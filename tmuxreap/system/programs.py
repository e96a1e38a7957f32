"""Runs programs other than tmux to their end, each with a timeout and a short reason if it fails.
Never raises, and never reads without a limit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from tmuxreap.system.tmux.client import TooSlow, ask


def run(
    words: Sequence[str], environ: Mapping[str, str], timeout_s: float, sent: bytes = b""
) -> tuple[str, str | None]:
    """Run it, with this on stdin. Return its output, and None; or nothing, and a short reason why
    it failed."""
    try:
        done = ask(words[0], words[1:], sent, dict(environ), timeout_s)
    except TooSlow:
        return "", f"{words[0]} gave no answer in {timeout_s:g} s"
    except OSError as error:
        return "", f"{words[0]} could not be run: {error.strerror or error}"
    if done.status == 0:
        return done.text, None
    if done.status is None:  # whatever it said may be half of it
        return "", f"{words[0]} ended, and its exit status is unknown: SIGCHLD is ignored"
    code = os.waitstatus_to_exitcode(done.status)
    reason = done.err.decode("utf-8", "replace").strip() or f"exit {code}"
    if reason.startswith("Traceback "):  # kitty is a Python program
        reason = reason.splitlines()[-1]
    return "", f"{words[0]} said: {reason}"
