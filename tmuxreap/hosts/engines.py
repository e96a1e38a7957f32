"""The commands that reach a host: OpenSSH, with our own connections kept open for a minute, or the
user's own command.

Never puts anything but `program` and the word `at` on the remote command line, and starts a command
on this terminal only."""

from __future__ import annotations

import signal
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tmuxreap.core.values import frozen
from tmuxreap.hosts.file import Host
from tmuxreap.system.environment import Settings
from tmuxreap.system.programs import run
from tmuxreap.system.whereabouts import own_command, without_caller

AT = "at"
CONNECT_S = 10
CHECK_S = 2.0  # for what ssh tells of its own connections
KEPT_S = 60
SPECIAL = frozenset('%" ')  # ssh expands or splits them in its options
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
    """The local command that reaches a host; `shared`: the socket of its shared connection."""

    words: tuple[str, ...]
    environ: Mapping[str, str]
    folder: str | None = "/"  # our own working directory must not matter
    shared: Path | None = None


def engine_of(host: Host, settings: Settings, *, unshared: bool = False) -> Engine:
    """Return the engine of a host. `unshared`: use a new connection, as a shared one hangs."""
    if host.is_local:
        return Engine(own_command(AT), settings.environ, None)
    clean = without_caller(settings.environ)
    if host.ssh is None:
        return Engine((*host.via, *_remote_command(host)), clean)
    if unshared:
        socket = None
    else:
        socket = _shared_socket(host.ssh, settings)
    flags: list[str] = []
    sharing = _sharing_options(socket)
    if not unshared and (socket is None or not socket.exists()) and _has_own(host.ssh, clean):
        sharing = ("ControlMaster=no",)
        socket = None
    for option in (*ALWAYS, *sharing):
        flags += ("-o", option)
    return Engine(("ssh", "-T", *flags, "--", host.ssh, host.program, AT), clean, shared=socket)


def _has_own(destination: str, environ: Mapping[str, str]) -> bool:
    """Tell whether the user's ssh keeps a connection to this host: it may have taken a second
    factor or a key that nobody can give again now."""
    return run(("ssh", "-O", "check", "--", destination), environ, CHECK_S)[1] is None


def terminal_words(host: Host, name: str) -> tuple[str, ...] | None:
    """Return the command that attaches this terminal to a remote session; None without ssh. It is
    interactive, so ssh may prompt; the remote shell parses the name, which is quoted."""
    if host.ssh is None:
        return None
    from shlex import quote

    where: tuple[str, ...] = ()
    if host.registry is not None:
        where = ("--registry", quote(host.registry))
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


def _sharing_options(socket: Path | None) -> tuple[str, ...]:
    if socket is None:
        return ("ControlMaster=no", "ControlPath=none")
    return ("ControlMaster=auto", f"ControlPath={socket}", f"ControlPersist={KEPT_S}")


def shared_folder(settings: Settings) -> Path | None:
    """Return a private folder for connection sockets, or None."""
    runtime = settings.environ.get("XDG_RUNTIME_DIR", "")
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
    if (info.st_mode, info.st_uid) == (stat.S_IFDIR | 0o700, settings.uid):
        return folder
    return None


def _shared_socket(destination: str, settings: Settings) -> Path | None:
    from hashlib import sha256

    folder = shared_folder(settings)
    if folder:
        return folder / sha256(destination.encode()).hexdigest()[:24]
    return None
