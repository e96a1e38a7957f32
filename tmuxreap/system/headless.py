"""Owns sessions without tmux: a program on a terminal of its own that nobody looks at, kept open by
a small process that writes down what it draws. Never types there, and ends nobody.

The keeper (`main`) is no part of the session: it carries no mark, and leaves by itself when the
last program has closed the terminal. Without a keeper the terminal hangs up, as a closed window
does."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from tmuxreap.core.values import frozen

KEEP = "_keep"
MODE = 0o600  # it shows what a screen would
ROWS, COLUMNS = 40, 120
LIMIT = 1_000_000  # bytes of a log; beyond these its older half goes
TAIL = 65_536
OLD = ".old"
SAME_MOMENT_S = 1.0
NOT_RUN = 127
IN_TMUX = ("TMUX", "TMUX_PANE")
# A caller may ignore some of them, as nohup does; a terminal's program begins with none ignored.
HEARD = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE)


def log_path(registry: Path, name: str) -> Path:
    return registry.parent / f"{registry.stem}.logs" / f"{quote(name, safe=' @+=,')}.log"


@frozen
class Begun:
    pid: int
    keeper: int


def begin(
    words: Sequence[str],
    cwd: str,
    environ: Mapping[str, str],
    log: Path,
    way_out: Sequence[str] = (),
) -> Begun:
    """Start it, with a log of its own; OSError where that cannot be done. `way_out`: what leads
    out of a control group that is not to be its own."""
    _make_room(log)
    wish = json.dumps({"words": list(words), "cwd": cwd, "environ": _outside_tmux(environ)})
    keeper = subprocess.Popen(
        [*way_out, sys.executable, "-m", "tmuxreap", KEEP, str(log)],
        cwd="/",
        env=_clean(environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert keeper.stdin is not None  # noqa: S101 - pipes were asked for
    assert keeper.stdout is not None  # noqa: S101
    with contextlib.suppress(BrokenPipeError), keeper.stdin as asked:
        asked.write(wish.encode("utf-8", "surrogateescape"))
    with keeper.stdout as answer:
        told = answer.read()
    keeper.returncode = 0  # it outlives us: nobody here waits for it
    pid, number = map(int, told.split()) if told else (0, errno.ECHILD)
    if number:
        raise OSError(number, os.strerror(number))
    return Begun(pid, keeper.pid)


def _make_room(log: Path) -> None:
    """The log of the life before is kept; those of older ones are not."""
    log.parent.mkdir(mode=0o700, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        log.replace(log.with_suffix(OLD))
    _opened(log).close()


def tail(log: Path, since: float) -> str | None:
    """Return the last of what was drawn, escapes and all; None where nothing was since then."""
    try:
        with log.open("rb") as file:
            if os.fstat(file.fileno()).st_mtime < since - SAME_MOMENT_S:
                return None
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return None


def drop_logs(log: Path) -> tuple[str, ...]:
    """Delete them, those of the life before too, and name what was there."""
    dropped = []
    for path in (log, log.with_suffix(OLD)):
        with contextlib.suppress(OSError):
            path.unlink()
            dropped.append(str(path))
    return tuple(dropped)


def _outside_tmux(environ: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment, but for the pane that he stands in."""
    told = {name: value for name, value in environ.items() if name not in IN_TMUX}
    return {**told, "TERM": "xterm-256color"}


def _clean(environ: Mapping[str, str]) -> dict[str, str]:
    """What the keeper itself needs: a trace of the session would make it a part of it."""
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV")
    return {name: environ[name] for name in kept if name in environ}


# In the keeper


def main(words: Sequence[str]) -> int:
    wish = json.loads(sys.stdin.buffer.read().decode("utf-8", "surrogateescape"))
    begun, beginning = os.pipe()  # closed by its exec, or else told why there was none
    pid, terminal = pty.fork()
    if pid == 0:
        _become(wish["words"], wish["cwd"], wish["environ"], beginning)
    os.close(beginning)
    sys.stdout.write(f"{pid} {os.read(begun, 16).decode() or 0}\n")
    sys.stdout.flush()
    _close_streams()
    with _opened(Path(words[1])) as log:
        _copy(terminal, log)
        _, status = os.waitpid(pid, 0)
        _append(log, f"\r\n[tmuxreap: {_how(os.waitstatus_to_exitcode(status))}]\r\n".encode())
    return 0


def _become(words: Sequence[str], cwd: str, environ: Mapping[str, str], told: int) -> None:
    """Never returns."""
    try:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        for number in HEARD:
            signal.signal(number, signal.SIG_DFL)
        os.chdir(cwd)
        os.execvpe(words[0], list(words), dict(environ))  # noqa: S606 - the user's own command
    except OSError as error:
        os.write(told, str(error.errno).encode())
    finally:
        os._exit(NOT_RUN)


def _close_streams() -> None:
    """Whoever waits for the pipes of the start would wait for the whole session."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)


def _copy(terminal: int, log: BinaryIO) -> None:
    """Until nobody has the terminal open any more."""
    while True:
        try:
            drawn = os.read(terminal, TAIL)
        except OSError:  # EIO: the last one has closed it
            return
        if not drawn:
            return
        _append(log, drawn)


def _append(log: BinaryIO, drawn: bytes) -> None:
    """A full disk stops nobody's work: what could not be written is missing in the log."""
    with contextlib.suppress(OSError):
        log.write(drawn)
        if log.tell() > LIMIT:
            log.seek(-LIMIT // 2, os.SEEK_END)
            rest = log.read()
            log.truncate(0)
            log.write(rest)


def _how(status: int) -> str:
    return f"ended by signal {-status}" if status < 0 else f"left with exit status {status}"


def _opened(log: Path) -> BinaryIO:
    """Appended to, readable by its owner alone, and never through a link of somebody else."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.fdopen(os.open(log, flags, MODE), "r+b", buffering=0)
