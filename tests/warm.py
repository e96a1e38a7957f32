"""The program without its startup: one process has imported everything, and each call is a fork of
it, with the caller's arguments, environment, folder and streams. All workers call the same one.

For tests of the program's output and actions. Its startup, its own terminal, its parents, its early
signals and the program that it becomes (`attach`) need the real one: `python -m tmuxreap`."""

from __future__ import annotations

import array
import ctypes
import gc
import importlib
import marshal
import os
import pkgutil
import shutil
import signal
import socket
import sys
import tempfile
from pathlib import Path

# Replaces the program: passes on its streams and signals, and exits like the fork. It imports
# nothing beyond a bare interpreter.
CALLER = """#!{python} -IS
import _signal, _socket, marshal, posix, sys
there = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
there.connect({address!r})
call = marshal.dumps((sys.argv[1:], posix.getcwd(), posix.environ))
fds = b"".join(fd.to_bytes(4, sys.byteorder) for fd in range(3))
there.sendmsg([len(call).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
there.sendall(call)
pid = int.from_bytes(there.recv(4), "big")
for number in (1, 2, 15):
    _signal.signal(number, lambda number, frame: posix.kill(pid, number))
status = there.recv(1)
if not status:
    posix.kill(posix.getpid(), 9)
posix._exit(status[0])
"""
REHEARSED = (("list",), ("list", "--json"), ("reconcile", "--json"), ("stop", "none", "--json"))
HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD)
DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG
PROGRAM = "TESTED_PROGRAM"  # in the environment: the workers are children of who began it
_warm: list[Warm] = []


def begin() -> None:
    """Start before tests are imported: forking a small process is fast."""
    if PROGRAM not in os.environ:
        _warm.append(Warm())
        os.environ[PROGRAM] = str(_warm[-1].program)


def end() -> None:
    while _warm:
        _warm.pop().close()
        del os.environ[PROGRAM]


def program() -> str:
    """Return the program; outside of a test run the installed one."""
    return os.environ.get(PROGRAM) or str(Path(sys.executable).with_name("tmuxreap"))


class Warm:
    """The warm program; `program` is called like the installed one."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tw", dir="/tmp"))
        self.program = self._folder / "tmuxreap"
        address = f"{self._folder}/s"
        self.program.write_text(CALLER.format(python=sys.executable, address=address))
        self.program.chmod(0o755)
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(address)
        listening.listen(128)
        self._pid = os.fork()
        if self._pid == 0:
            _serve(listening)
        listening.close()

    def close(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        shutil.rmtree(self._folder)


def _serve(listening: socket.socket) -> None:
    """Serve calls. Import on the first call only: a run of one file may never need it."""
    ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks are not awaited
    for stream in range(3):
        os.dup2(os.open(os.devnull, os.O_RDWR), stream)
    kept = os.dup2(listening.detach(), 3)
    os.closerange(4, 4096)
    listening = socket.socket(fileno=kept)
    caller, _ = listening.accept()
    _import_all()
    _rehearse()
    gc.collect()
    gc.freeze()
    while True:
        if os.fork() == 0:
            listening.close()
            _run(caller)
        caller.close()
        caller, _ = listening.accept()


def _import_all() -> None:
    import tmuxreap

    for module in pkgutil.walk_packages(tmuxreap.__path__, "tmuxreap."):
        if module.name.rpartition(".")[2] not in ("__main__", "demo_agent"):
            importlib.import_module(module.name)
    importlib.import_module("tmuxreap.__main__")


def _rehearse() -> None:
    """Run a few verbs on an empty registry: what a first run imports, compiles and parses is then
    there for all forks."""
    from tmuxreap.__main__ import main

    environ, handlers = dict(os.environ), {n: signal.getsignal(n) for n in HANDLED}
    with tempfile.TemporaryDirectory(prefix="tw", dir="/tmp") as folder:
        registry = Path(folder) / "agent-sessions.yaml"
        registry.write_text("tmux_sessions: []\n")
        for name in ("HOME", "TMUX_TMPDIR", "XDG_CONFIG_HOME"):
            os.environ[name] = folder
        for words in REHEARSED:
            main([*words, "--registry", str(registry)])
    os.environ.clear()
    os.environ.update(environ)
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _run(caller: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(DIES_WITH_PARENT, 0)
    head, ancillary, _, _ = caller.recvmsg(4, socket.CMSG_SPACE(12))
    streams = array.array("i", ancillary[0][2])
    size, call = int.from_bytes(head, "big"), b""
    while len(call) < size:
        call += caller.recv(size - len(call))
    words, folder, environ = marshal.loads(call)
    os.environb.clear()
    os.environb.update(environ)
    os.chdir(folder)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, closefd=False) for number, mode in enumerate("rww")
    )
    from tmuxreap import __main__ as program

    sys.argv = [str(program.__file__), *words]
    pid, leave = os.getpid(), os._exit
    caller.sendall(pid.to_bytes(4, "big"))

    def told(status: int) -> None:
        if os.getpid() == pid:  # not a leftover child
            caller.sendall(bytes([status]))
        leave(status)

    os._exit = told  # type: ignore[assignment]
    program.run()
