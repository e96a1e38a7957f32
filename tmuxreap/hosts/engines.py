"""The commands that reach a host: OpenSSH with connections of our own kept open for a minute, or
the user's own words.

Starts one and hands out its streams. Only `program` and the word `at` stand on the far command
line."""

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

AT = "at"
CONNECT_S = 10
KEPT_S = 60
LEAVE_S = 0.2
LONGEST_SOCKET = 104 - 18  # of a path in the kernel, without what ssh adds while it makes one
ALWAYS = (
    "BatchMode=yes",  # no prompt ever hangs a command
    f"ConnectTimeout={CONNECT_S}",
    "ClearAllForwardings=yes",  # those of the user's own connection, which may be open
    "RemoteCommand=none",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=2",
)
OURS = ("TMUX", "TMUX_PANE")  # an engine, and what it leaves behind, belongs to no session


@frozen
class Engine:
    """What runs here to reach a host; `shared`: the folder of connections that others may use,
    too."""

    words: tuple[str, ...]
    environ: Mapping[str, str]
    folder: str | None = "/"  # nothing of where we stand is taken for something there
    shared: Path | None = None


def engine_of(host: Host, environ: Mapping[str, str], uid: int, *, alone: bool = False) -> Engine:
    """`alone`: over a connection of its own, where a shared one does not answer."""
    if host.is_local:
        return Engine((sys.executable, "-m", "tmuxreap", AT), environ, None)
    clean = {
        name: value
        for name, value in environ.items()
        if name not in OURS and not name.startswith("TMUXREAP_")
    }
    if host.ssh is None:
        return Engine((*host.via, *_there(host)), clean)
    folder = None if alone else shared_folder(environ, uid)
    options = [*ALWAYS, *_sharing(host, folder)]
    flags = tuple(chain.from_iterable(("-o", option) for option in options))
    return Engine(("ssh", "-T", *flags, "--", host.ssh, host.program, AT), clean, shared=folder)


def terminal_words(host: Host, name: str) -> tuple[str, ...] | None:
    """What a terminal here becomes to sit in a session there; None where the engine carries none.
    A person is there: ssh may ask him, and the shell there reads the name."""
    if host.ssh is None:
        return None
    from shlex import quote

    where = () if host.registry is None else ("--registry", quote(host.registry))
    return ("ssh", "-t", "--", host.ssh, host.program, "attach", *where, "--", quote(name))


def sit_in(words: tuple[str, ...]) -> tuple[int, str]:
    """Give the terminal away until that program leaves it: its status, and what it said last on
    stderr. Nobody's Ctrl-C ends us meanwhile."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        done = subprocess.run(words, stderr=subprocess.PIPE, check=False)
    except OSError as error:
        return (127, f"{words[0]}: {error.strerror}")
    finally:
        signal.signal(signal.SIGINT, before)
    said = done.stderr.decode(errors="replace").strip()
    return (done.returncode, said.rpartition("\n")[2].strip())


def _there(host: Host) -> tuple[str, ...]:
    """A home is found by a shell alone; ssh brings one, other engines do not."""
    if not host.program.startswith("~/") or Path(host.via[0]).name == "ssh":
        return (host.program, AT)
    return ("sh", "-c", f"exec {host.program} {AT}")


def _sharing(host: Host, folder: Path | None) -> tuple[str, ...]:
    if folder is None:
        return ("ControlMaster=no", "ControlPath=none")
    return (
        "ControlMaster=auto",
        f"ControlPath={shared_socket(host, folder)}",
        f"ControlPersist={KEPT_S}",
    )


def shared_folder(environ: Mapping[str, str], uid: int) -> Path | None:
    """A private folder for the sockets of connections, or none."""
    runtime = environ.get("XDG_RUNTIME_DIR")
    if (
        not runtime
        or not runtime.startswith("/")
        or "%" in runtime
        or '"' in runtime
        or not runtime.isprintable()
    ):
        return None
    folder = Path(runtime, "tmuxreap")
    if len(str(folder)) + 25 > LONGEST_SOCKET or any(character.isspace() for character in runtime):
        return None
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    private = (
        stat.S_ISDIR(found.st_mode) and found.st_uid == uid and stat.S_IMODE(found.st_mode) == 0o700
    )
    return folder if private else None


def shared_socket(host: Host, folder: Path) -> Path:
    from hashlib import sha256

    return folder / sha256(str(host.ssh).encode()).hexdigest()[:24]


def forget_shared(host: Host, engine: Engine) -> None:
    """Take away the socket of a connection that does not answer: the next one makes its own."""
    if engine.shared is not None:
        shared_socket(host, engine.shared).unlink(missing_ok=True)


def begin(engine: Engine) -> subprocess.Popen[bytes]:
    """In a session of its own: neither Ctrl-C nor the loss of our terminal reaches it."""
    return subprocess.Popen(
        engine.words,
        env=dict(engine.environ),
        cwd=engine.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def has_left(process: subprocess.Popen[bytes], wait_s: float) -> int | None:
    try:
        return process.wait(wait_s)
    except subprocess.TimeoutExpired:
        return None


def let_go(process: subprocess.Popen[bytes]) -> None:
    """Close our ends and hang up: ssh leaves, a verb that is under way there goes on."""
    for stream in (process.stdin, process.stdout, process.stderr):
        with contextlib.suppress(OSError, ValueError):
            if stream is not None:
                stream.close()
    if process.poll() is None:
        with contextlib.suppress(OSError):
            process.send_signal(signal.SIGHUP)
        has_left(process, LEAVE_S)
