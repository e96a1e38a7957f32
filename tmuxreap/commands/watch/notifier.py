"""Runs the user's command of `watch --exec`, with each event on its stdin.

Owns these processes and their end. Never lets them write to our stdout, which is for events alone.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess

from tmuxreap.core.errors import Code, Failure

EXEC_S = 30.0
AT_ONCE = 8  # a thousand events are no thousand processes
PLAIN_WORD = re.compile(r"[\w./+@%:,-]+")  # one that the shell takes as it stands


def check(command: str) -> None:
    """Refuse what the shell can neither read nor find: better now than at the first event."""
    read = subprocess.run(
        ["sh", "-n", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if read.returncode:
        said = read.stderr.decode("utf-8", "replace").strip() or "the shell cannot read it"
        raise _unusable(command, said)
    first = (command.split() or [""])[0]
    if not PLAIN_WORD.fullmatch(first):
        return
    words = ["sh", "-c", 'command -v -- "$1"', "sh", first]
    if subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode:
        raise _unusable(command, f"there is no program {first}")


def _unusable(command: str, reason: str) -> Failure:
    return Failure(
        Code.USAGE, f"could not use --exec {command!r}: {reason}", "give a command that sh can run"
    )


def execute(command: str, event: str) -> None:
    """One that hangs is ended with what it began."""
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
                os.killpg(
                    process.pid, signal.SIGKILL
                )  # not waited for yet: the number is still its own
            return f"nothing within {EXEC_S:g} s"
        return process.returncode
