"""Runs programs other than tmux to their end, each with a timeout and a short reason if it fails.
Never raises."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence


def run(
    words: Sequence[str], environ: Mapping[str, str], timeout_s: float
) -> tuple[str, str | None]:
    """Return its output, and None; or nothing, and a short reason why it failed."""
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
        return "", f"{words[0]} gave no answer in {timeout_s:g} s"
    except OSError as error:
        return "", f"{words[0]} could not be run: {error.strerror}"
    if done.returncode == 0:
        return done.stdout.decode("utf-8", "replace"), None
    reason = done.stderr.decode("utf-8", "replace").strip() or f"exit {done.returncode}"
    if reason.startswith("Traceback "):  # kitty is a Python program
        reason = reason.splitlines()[-1]
    return "", f"{words[0]} said: {reason}"
