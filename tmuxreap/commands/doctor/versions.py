"""Owns the question to a program which version it is: with a time limit, in a world of its own that
is thrown away afterwards, so that nothing of the user's is read or written. Whether a program may
be asked, others say."""

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
from pathlib import Path

from tmuxreap.core.values import frozen

TIMEOUT_S = 8.0
TOGETHER = 4
LOOK_S = 0.02
ANSWER_BYTES = 10_000
_VERSION = re.compile(r"\d+\.\d+[0-9A-Za-z.+-]*")


@frozen
class Probe:
    path: str
    version: str | None
    reason: str | None = None  # why there is no version


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Where it is on the caller's PATH; never what merely lies in the working directory."""
    found = shutil.which(name, path=environ.get("PATH", ""))
    return found if found and found.startswith("/") else None


def ask_all(commands: Mapping[str, Sequence[str]], environ: Mapping[str, str]) -> dict[str, Probe]:
    """Each command's first word is a full path; one that has no more words is not run."""
    from concurrent.futures import ThreadPoolExecutor

    with tempfile.TemporaryDirectory(prefix="tmuxreap-", ignore_cleanup_errors=True) as folder:
        world = _world(environ, folder)
        with ThreadPoolExecutor(TOGETHER) as pool:
            return dict(
                zip(
                    commands,
                    pool.map(lambda words: _ask(words, world, folder), commands.values()),
                    strict=True,
                )
            )


def _world(environ: Mapping[str, str], folder: str) -> dict[str, str]:
    kept = {name: environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in environ}
    places = (
        "HOME",
        "TMPDIR",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "XDG_CACHE_HOME",
        "XDG_RUNTIME_DIR",
    )
    calm = {
        "TERM": "dumb",
        "NO_COLOR": "1",
        "CI": "1",
        "DISABLE_AUTOUPDATER": "1",
        "NO_UPDATE_NOTIFIER": "1",
    }
    return {**kept, **dict.fromkeys(places, folder), **calm}


def _ask(words: Sequence[str], world: Mapping[str, str], folder: str) -> Probe:
    if len(words) < 2:
        return Probe(words[0], None, "it was not asked")
    try:
        with tempfile.TemporaryFile(dir=folder) as answer:
            asked = subprocess.Popen(
                list(words),
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=subprocess.STDOUT,
                env=dict(world),
                cwd=folder,
                start_new_session=True,
            )
            in_time = _over(asked.pid)
            _end_group(asked)
            answer.seek(0)
            return _probe(
                words[0],
                answer.read(ANSWER_BYTES).decode("utf-8", "replace"),
                asked.returncode,
                in_time,
            )
    except OSError as error:
        return Probe(words[0], None, error.strerror or str(error))


def _probe(path: str, said: str, status: int, in_time: bool) -> Probe:
    found = _VERSION.search(said)
    if found and status == 0:
        return Probe(path, found[0])
    silent = "it named no version" if status == 0 else f"exit {status}"
    return Probe(path, None, silent if in_time else f"no answer in {TIMEOUT_S:g} s")


def _over(pid: int) -> bool:
    """Has it ended in time? It is not reaped here: until then no stranger can get its number."""
    until = time.monotonic() + TIMEOUT_S
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > until:
            return False
        time.sleep(LOOK_S)
    return True


def _end_group(asked: subprocess.Popen[bytes]) -> None:
    """Its own session, made for it above: whatever it has begun ends with the question."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(asked.pid, signal.SIGKILL)
    asked.wait()


def entries(folder: str) -> list[str]:
    """What lies there, as full paths; nothing where it cannot be listed."""
    try:
        return sorted(str(path) for path in Path(folder).iterdir())
    except OSError:
        return []
