"""The commands that reach a host: OpenSSH, with our own connections kept open for a minute, or the
user's own command.

Starts a command and returns its process. Never puts anything but `program` and the word `at` on the
remote command line."""

from __future__ import annotations

import contextlib
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

from tmuxreap.core.values import frozen
from tmuxreap.hosts.file import Host
from tmuxreap.system.whereabouts import without_caller

AT = "at"
CONNECT_S = 10
KEPT_S = 60
SPECIAL = frozenset('%" ')  # ssh expands or splits them in its options
LEAVE_S = 0.2
LONGEST_SOCKET = 104 - 18  # the kernel's limit, less the suffix that ssh adds temporarily
ALWAYS = (
    "BatchMode=yes",  # no prompt ever hangs a command
    f"ConnectTimeout={CONNECT_S}",
    "ClearAllForwardings=yes",  # the user's own connection may already use them
    "RemoteCommand=none",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=2",
)


@frozen
class Engine:
    """The local command that reaches a host; `shared`: the folder of its shared connections."""

    words: tuple[str, ...]
    environ: Mapping[str, str]
    folder: str | None = "/"  # our own working directory must not matter
    shared: Path | None = None


def engine_of(
    host: Host, environ: Mapping[str, str], uid: int, *, unshared: bool = False
) -> Engine:
    """Return the engine of a host. `unshared`: use a new connection, as a shared one hangs."""
    if host.is_local:
        return Engine((sys.executable, "-m", "tmuxreap", AT), environ, None)
    clean = without_caller(environ)
    if host.ssh is None:
        return Engine((*host.via, *_remote_command(host)), clean)
    folder = None if unshared else shared_folder(environ, uid)
    options = [*ALWAYS, *_sharing_options(host, folder)]
    flags = tuple(chain.from_iterable(("-o", option) for option in options))
    return Engine(("ssh", "-T", *flags, "--", host.ssh, host.program, AT), clean, shared=folder)


def terminal_words(host: Host, name: str) -> tuple[str, ...] | None:
    """Return the command that attaches this terminal to a remote session; None without ssh. It is
    interactive, so ssh may prompt; the remote shell parses the name, which is quoted."""
    if host.ssh is None:
        return None
    from shlex import quote

    where = () if host.registry is None else ("--registry", quote(host.registry))
    return ("ssh", "-t", "--", host.ssh, host.program, "attach", *where, "--", quote(name))


def run_in_terminal(words: tuple[str, ...]) -> tuple[int, str]:
    """Run a command on this terminal; return its status and its last line on stderr. Ctrl-C does
    not end us meanwhile."""
    previous = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        done = subprocess.run(words, stderr=subprocess.PIPE, check=False)
    except OSError as error:
        return (127, f"{words[0]}: {error.strerror}")
    finally:
        signal.signal(signal.SIGINT, previous)
    errors = done.stderr.decode(errors="replace").strip()
    return (done.returncode, errors.rpartition("\n")[2].strip())


def _remote_command(host: Host) -> tuple[str, ...]:
    """Return the remote command. Only a shell expands `~`: ssh runs one, other engines do not."""
    if not host.program.startswith("~/") or Path(host.via[0]).name == "ssh":
        return (host.program, AT)
    return ("sh", "-c", f"exec {host.program} {AT}")


def _sharing_options(host: Host, folder: Path | None) -> tuple[str, ...]:
    if folder is None:
        return ("ControlMaster=no", "ControlPath=none")
    return (
        "ControlMaster=auto",
        f"ControlPath={shared_socket(host, folder)}",
        f"ControlPersist={KEPT_S}",
    )


def shared_folder(environ: Mapping[str, str], uid: int) -> Path | None:
    """Return a private folder for connection sockets, or None."""
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    folder = Path(runtime, "tmuxreap")
    fits = len(str(folder)) + 25 <= LONGEST_SOCKET
    plain = runtime.isprintable() and not set(runtime) & SPECIAL
    if not (runtime.startswith("/") and plain and fits):
        return None
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        info = folder.lstat()
    except OSError:
        return None
    return folder if (info.st_mode, info.st_uid) == (stat.S_IFDIR | 0o700, uid) else None


def shared_socket(host: Host, folder: Path) -> Path:
    from hashlib import sha256

    return folder / sha256(str(host.ssh).encode()).hexdigest()[:24]


def forget_shared(host: Host, engine: Engine) -> None:
    """Delete the socket of a hanging connection, so that the next command opens a new one."""
    if engine.shared is not None:
        shared_socket(host, engine.shared).unlink(missing_ok=True)


def start_engine(engine: Engine) -> subprocess.Popen[bytes]:
    """Start an engine in its own process session: neither Ctrl-C nor our terminal's hangup reaches
    it."""
    return subprocess.Popen(
        engine.words,
        env=dict(engine.environ),
        cwd=engine.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def wait_for_exit(process: subprocess.Popen[bytes], wait_s: float) -> int | None:
    try:
        return process.wait(wait_s)
    except subprocess.TimeoutExpired:
        return None


def release(process: subprocess.Popen[bytes]) -> None:
    """Close the streams and send SIGHUP: ssh exits, but a verb in progress on the host goes on."""
    for stream in (process.stdin, process.stdout, process.stderr):
        with contextlib.suppress(OSError, ValueError):
            if stream is not None:
                stream.close()
    if process.poll() is None:
        with contextlib.suppress(OSError):
            process.send_signal(signal.SIGHUP)
        wait_for_exit(process, LEAVE_S)
