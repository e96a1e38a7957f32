"""Owns sessions without tmux: a program on a pseudoterminal, which a small process, the keeper,
holds open while it logs the output. Never types there, and never ends a process.

The keeper (`main`) is no part of the session: it carries no mark, and exits when the last program
has closed the terminal. If the keeper dies, the terminal hangs up like a closed window."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from tmuxreap.core.model import Row
from tmuxreap.core.values import frozen
from tmuxreap.system.whereabouts import own_command

KEEP = "_keep"
MODE = 0o600  # a log shows everything that the screen did
ROWS = 40
COLUMNS = 120
LIMIT = 1_000_000  # bytes of a log; beyond these its older half is dropped
TAIL = 65_536
OLD = ".old"
SAME_MOMENT_S = 1.0
NOT_RUN = 127
IN_TMUX = ("TMUX", "TMUX_PANE")
# A caller may ignore some of them, as nohup does; a program on a terminal starts with the defaults.
DEFAULT_SIGNALS = (
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE),
    signal.SIGCHLD,
)


def log_path(registry: Path, name: str) -> Path:
    from urllib.parse import quote  # late, like all that few sessions need

    return registry.parent / f"{registry.stem}.logs" / f"{quote(name, safe=' @+=,')}.log"


@frozen
class StartedProgram:
    pid: int
    keeper: int


def start_program(
    words: Sequence[str],
    cwd: str,
    environ: Mapping[str, str],
    log: Path,
    prefix: Sequence[str] = (),
) -> StartedProgram:
    """Start a keeper with its program and log; raise OSError on failure. `prefix`: a command
    prefix that leaves our control group."""
    import subprocess

    _rotate(log)
    outside = {}
    for name, value in environ.items():
        if name not in IN_TMUX:
            outside[name] = value
    outside["TERM"] = "xterm-256color"
    payload = json.dumps({"words": list(words), "cwd": cwd, "environ": outside})
    keeper = subprocess.Popen(
        [*prefix, *own_command(KEEP, str(log))],
        cwd="/",
        env=_keeper_environ(environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert keeper.stdin is not None  # noqa: S101 - pipes were asked for
    assert keeper.stdout is not None  # noqa: S101
    with contextlib.suppress(BrokenPipeError), keeper.stdin as request:
        request.write(payload.encode("utf-8", "surrogateescape"))
    with keeper.stdout as answer:
        reply = answer.read()
    keeper.returncode = 0  # it outlives us and is never waited for
    pid = 0
    number = errno.ECHILD
    if reply:
        pid, number = map(int, reply.split())
    if number:
        raise OSError(number, os.strerror(number))
    return StartedProgram(pid, keeper.pid)


def _rotate(log: Path) -> None:
    """Rotate the log: that of the previous run is kept, older ones are not."""
    log.parent.mkdir(mode=0o700, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        log.replace(log.with_suffix(OLD))
    _open_log(log).close()


def tail(log: Path, since: float) -> str | None:
    """Return the end of the log, escape sequences included; None if not written since then."""
    try:
        with log.open("rb") as file:
            if os.fstat(file.fileno()).st_mtime < since - SAME_MOMENT_S:
                return None
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return None


def logged_screen(registry: Path, row: Row) -> str | None:
    """Return the end of the log of a session without tmux, if tmuxreap started it."""
    return tail(log_path(registry, row.name), row.pane.created_epoch or 0.0)


def drop_logs(log: Path) -> tuple[str, ...]:
    """Delete a session's logs, also that of its previous run, and return the deleted paths."""
    dropped = []
    for path in (log, log.with_suffix(OLD)):
        with contextlib.suppress(OSError):
            path.unlink()
            dropped.append(str(path))
    return tuple(dropped)


def _keeper_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the few variables that the keeper needs: the session's mark would make it a part of
    the session."""
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV")
    return {name: environ[name] for name in kept if name in environ}


# In the keeper


def main(words: Sequence[str]) -> int:
    import pty

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # or the end of the program is not told
    payload = json.loads(sys.stdin.buffer.read().decode("utf-8", "surrogateescape"))
    errors, error_pipe = os.pipe()  # closed by the child's exec, or written to if that fails
    pid, terminal = pty.fork()
    if pid == 0:
        _exec(payload["words"], payload["cwd"], payload["environ"], error_pipe)
    os.close(error_pipe)
    sys.stdout.write(f"{pid} {os.read(errors, 16).decode() or 0}\n")
    sys.stdout.flush()
    _close_streams()
    with _open_log(Path(words[1])) as log:
        _copy(terminal, log)
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            end = f"ended by signal {-code}"
        else:
            end = f"left with exit status {code}"
        _append(log, f"\r\n[tmuxreap: {end}]\r\n".encode())
    return 0


def _exec(words: Sequence[str], cwd: str, environ: Mapping[str, str], error_pipe: int) -> None:
    """Become the session's program. Never returns."""
    import fcntl
    import struct
    import termios

    try:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        for number in DEFAULT_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        os.chdir(cwd)
        os.execvpe(words[0], list(words), dict(environ))  # noqa: S606 - the user's own command
    except OSError as error:
        os.write(error_pipe, str(error.errno).encode())
    finally:
        os._exit(NOT_RUN)


def _close_streams() -> None:
    """Redirect the standard streams to /dev/null: a caller that reads them to their end would wait
    for the whole session."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)


def _copy(terminal: int, log: BinaryIO) -> None:
    """Log the terminal's output until the last process has closed it."""
    while True:
        try:
            drawn = os.read(terminal, TAIL)
        except OSError:  # EIO: no process has it open
            return
        if not drawn:
            return
        _append(log, drawn)


def _append(log: BinaryIO, drawn: bytes) -> None:
    """Append to the log. A full disk must not stop the program: its output is missing then."""
    with contextlib.suppress(OSError):
        log.write(drawn)
        if log.tell() > LIMIT:
            log.seek(-LIMIT // 2, os.SEEK_END)
            rest = log.read()
            log.truncate(0)
            log.write(rest)


def _open_log(log: Path) -> BinaryIO:
    """Open a log for appending, private to its owner, and never through a symlink."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.fdopen(os.open(log, flags, MODE), "r+b", buffering=0)
