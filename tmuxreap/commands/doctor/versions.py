"""Asks programs for their version, with a timeout and in a temporary environment, so that no file
of the user is read or written. The caller decides which programs may be run."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence

from tmuxreap.core.values import frozen

TIMEOUT_S = 8.0
TOGETHER = 4
LOOK_S = 0.02
ANSWER_BYTES = 10_000
XDG = ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME", "RUNTIME_DIR")
PLACES = ("HOME", "TMPDIR", *(f"XDG_{it}" for it in XDG))
SILENT = ("NO_COLOR", "CI", "DISABLE_AUTOUPDATER", "NO_UPDATE_NOTIFIER")
CALM = {"TERM": "dumb", **dict.fromkeys(SILENT, "1")}
_VERSION = re.compile(r"\d+\.\d+[0-9A-Za-z.+-]*")


@frozen
class Probe:
    path: str
    version: str | None
    reason: str | None = None  # why there is no version


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the program's path on the caller's PATH, never one in the working directory."""
    path = shutil.which(name, path=environ.get("PATH", ""))
    return path if path and path.startswith("/") else None


def ask_all(commands: Mapping[str, Sequence[str]], environ: Mapping[str, str]) -> dict[str, Probe]:
    """Run each command (the first word is an absolute path), except those of a single word."""
    from concurrent.futures import ThreadPoolExecutor

    with tempfile.TemporaryDirectory(prefix="tmuxreap-", ignore_cleanup_errors=True) as folder:
        world = _world(environ, folder)
        with ThreadPoolExecutor(TOGETHER) as pool:
            probes = pool.map(lambda words: _ask(words, world, folder), commands.values())
            return dict(zip(commands, probes, strict=True))


def _world(environ: Mapping[str, str], folder: str) -> dict[str, str]:
    inherited = {name: environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in environ}
    return {**inherited, **dict.fromkeys(PLACES, folder), **CALM}


def _ask(words: Sequence[str], world: Mapping[str, str], folder: str) -> Probe:
    if len(words) < 2:
        return Probe(words[0], None, "it was not asked")
    try:
        with tempfile.TemporaryFile(dir=folder) as answer:
            process = subprocess.Popen(
                list(words),
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=subprocess.STDOUT,
                env=dict(world),
                cwd=folder,
                start_new_session=True,
            )
            in_time = _over(process.pid)
            _end_group(process)
            answer.seek(0)
            said = answer.read(ANSWER_BYTES).decode("utf-8", "replace")
            return _probe(words[0], said, process.returncode, in_time)
    except OSError as error:
        return Probe(words[0], None, error.strerror or str(error))


def _probe(path: str, said: str, status: int, in_time: bool) -> Probe:
    match = _VERSION.search(said)
    if match and status == 0:
        return Probe(path, match[0])
    silent = "it named no version" if status == 0 else f"exit {status}"
    return Probe(path, None, silent if in_time else f"no answer in {TIMEOUT_S:g} s")


def _over(pid: int) -> bool:
    """Tell whether the process exits in time. It is not reaped: its pid must not be reused."""
    deadline = time.monotonic() + TIMEOUT_S
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_S)
    return True


def _end_group(asked: subprocess.Popen[bytes]) -> None:
    """Kill everything in the session that was created for the process."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(asked.pid, signal.SIGKILL)
    asked.wait()
