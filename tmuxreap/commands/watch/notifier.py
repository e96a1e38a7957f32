"""Owns the processes of `watch --exec`: the user's command, with each event on its stdin.

Never lets them write to our stdout, which carries only events."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess

from tmuxreap.core.errors import Failure, could_not

EXEC_S = 30.0
AT_ONCE = 8  # at most, even for a thousand events
PLAIN_WORD = re.compile(r"[\w./+@%:,-]+")  # needs no quoting in a shell


def check(command: str) -> None:
    """Refuse a command that the shell cannot parse or find, before the first event."""
    parsed = _shell("-n", "-c", command)
    if parsed.returncode:
        complaint = parsed.stderr.decode("utf-8", "replace").strip() or "the shell cannot read it"
        raise _unusable(command, complaint)
    first = (command.split() or [""])[0]
    if not PLAIN_WORD.fullmatch(first):
        return
    if _shell("-c", 'command -v -- "$1"', "sh", first).returncode:
        raise _unusable(command, f"there is no program {first}")


def _shell(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sh", *words], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )


def _unusable(command: str, reason: str) -> Failure:
    hint = "give a command that sh can run"
    return could_not("use", f"--exec {command!r}", reason, hint)


def execute(command: str, event: str) -> None:
    """Run the command with the event; kill its process group on a timeout."""
    try:
        status = str(_executed(command, event) or "")
    except OSError as error:
        status = str(error.strerror)
    if status:
        with contextlib.suppress(OSError):
            os.write(2, f"warning: the command of --exec ended with: {status}\n".encode())


def _executed(command: str, event: str) -> int | str:
    words = ["sh", "-c", command]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=2, start_new_session=True
    ) as process:
        try:
            process.communicate(event.encode(), timeout=EXEC_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                # not reaped yet: its pid cannot be reused
                os.killpg(process.pid, signal.SIGKILL)
            return f"nothing within {EXEC_S:g} s"
        return process.returncode
