"""Owns the sockets of tmux servers: their paths, and whether a server listens. Connects and reads
/proc/net/unix; never talks to a server and never starts or signals one."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping

from tmuxreap.core.model import NoServer, Unreachable

LONGEST_PATH = 107 if sys.platform == "linux" else 103
CONNECT_S = 1.0
ACCEPTS_CONNECTIONS = 0x10000  # __SO_ACCEPTCON in the flags of /proc/net/unix


def socket_path(server: str | None, env: Mapping[str, str], uid: int) -> str:
    """Return the socket path of `-L server` (or `-S` if it has a slash), by tmux's own rules."""
    if server and "/" in server:
        return server
    # tmux falls back to /tmp if TMUX_TMPDIR does not exist.
    tmpdir = env.get("TMUX_TMPDIR", "")
    folder = os.path.realpath(tmpdir if tmpdir and os.path.exists(tmpdir) else "/tmp")  # noqa: S108, PTH110
    return f"{folder}/tmux-{uid}/{server or 'default'}"


def why_no_answer(socket: str) -> NoServer | Unreachable | None:
    """Find out why a tmux client got no answer; None if a server does listen."""
    if not socket or len(os.fsencode(socket)) > LONGEST_PATH:
        return Unreachable(
            socket, "its path is empty or too long for a socket", "give another path as tmux_server"
        )
    try:
        if not stat.S_ISSOCK(os.stat(socket).st_mode):  # noqa: PTH116
            return Unreachable(
                socket, "it is not a socket", "look at that path, and at tmux_server"
            )
        _connect(socket)
    except (FileNotFoundError, ConnectionRefusedError):
        return _deleted_listener(socket) or NoServer(socket)
    except PermissionError:
        return Unreachable(
            socket, "permission denied", "run as the user that owns the tmux server", denied=True
        )
    except (BlockingIOError, TimeoutError):
        return None  # the listen queue is full: the server hangs but exists
    except (OSError, ValueError) as error:
        return Unreachable(socket, str(error), "look at that path, and at tmux_server")
    return None


def _connect(socket: str) -> None:
    import socket as sockets  # imported late: only needed if tmux gave no answer

    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as client:
        client.settimeout(CONNECT_S)
        client.connect(socket)


def _deleted_listener(socket: str) -> Unreachable | None:
    """Find a server that lives on after its socket was deleted: /proc/net/unix still lists it
    (Linux only)."""
    inode = next((inode for inode, path in _listeners() if _may_be_same(path, socket)), None)
    if inode is None:
        return None
    pid = _pid_of(inode)
    if pid:
        again = f"kill -USR1 {pid}"
    else:
        again = "a SIGUSR1 to the server"
    return Unreachable(
        socket, "its socket was deleted, but the server lives", f"{again} makes the socket again"
    )


def _listeners() -> Iterator[tuple[str, str]]:
    try:
        with open("/proc/net/unix", "rb") as table:  # noqa: PTH123
            lines = table.read().split(b"\n")[1:]
    except OSError:
        return
    for line in lines:
        fields = line.split(None, 7)
        if len(fields) == 8 and int(fields[3], 16) & ACCEPTS_CONNECTIONS:
            yield fields[6].decode(), os.fsdecode(fields[7])


def _may_be_same(listening: str, socket: str) -> bool:
    """Compare paths leniently: tmux binds the path as given, which may go through symlinks or be
    relative to an unknown folder."""
    if listening.startswith("@"):
        return False
    if not listening.startswith("/"):
        return os.path.abspath(socket).endswith("/" + os.path.normpath(listening))  # noqa: PTH100
    if os.path.basename(listening) != os.path.basename(socket):  # noqa: PTH119
        return False
    return _real_folder(listening) == _real_folder(socket)


def _real_folder(path: str) -> str:
    return os.path.realpath(os.path.dirname(path) or ".")  # noqa: PTH120


def _pid_of(inode: str) -> int | None:
    for pid in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        try:
            with open(f"/proc/{pid}/comm", "rb") as comm:  # noqa: PTH123
                if not comm.read().startswith(b"tmux"):
                    continue
            targets = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}  # noqa: PTH115, PTH208
        except OSError:
            continue
        if f"socket:[{inode}]" in targets:
            return int(pid)
    return None


def lost_servers(folder: str) -> list[tuple[str, int | None]]:
    """Return servers whose socket in that folder was deleted, each with its path and pid."""
    return [
        (path, _pid_of(inode))
        for inode, path in _listeners()
        if os.path.dirname(path) == folder and not os.path.lexists(path)  # noqa: PTH120
    ]
