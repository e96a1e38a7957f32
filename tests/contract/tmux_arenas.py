"""A tmux server for the contract: fake, or real on a private socket."""

from __future__ import annotations

import os
import subprocess
import sys
from signal import SIGKILL, Signals
from typing import Protocol

import pytest

from tests.fakes import FakeClock, FakeProcesses, FakeTmux
from tmuxreap.core.model import (
    Created,
    NewSession,
    ProcessId,
    Server,
    ServerSession,
    Unreachable,
)
from tmuxreap.core.ports import Processes, Tmux
from tmuxreap.system.processes.linux import LinuxProcesses
from tmuxreap.system.tmux.server import RealTmux

PROGRAM = """
import os, signal, sys, termios, tty
for number in map(int, sys.argv[1].split(",") if sys.argv[1] else ()):
    signal.signal(number, signal.SIG_IGN)
tty.setcbreak(0, termios.TCSANOW)
os.write(1, b"\\x1b[2mready\\x1b[0m\\n")
typed = b""
while not typed.endswith(b"q"):
    try:
        typed += os.read(0, 1) or b"hung up"
    except OSError:
        typed += b"hung up"
    if typed.endswith(b"hung up"):
        signal.pause()
"""
PLENTY_S = 60.0


class Arena(Protocol):
    @property
    def tmux(self) -> Tmux: ...

    @property
    def processes(self) -> Processes: ...

    @property
    def socket(self) -> str: ...

    def open(self, name: str, *, ignores: tuple[Signals, ...] = ()) -> ServerSession:
        """Open a session with a program that prints `ready` and exits on `q`."""

    def split(self, session: ServerSession) -> None: ...

    def enter_mode(self, pane: str) -> None: ...

    def option(self, name: str, value: str | None = None) -> str:
        """Set a server option if a value is given, and read it."""

    def buffers(self) -> str:
        """Return the names of all paste buffers."""

    def hang(self) -> None:
        """Make the server stop answering."""

    def deny(self) -> None: ...


def look(arena: Arena) -> Server:
    seen = arena.tmux.look(arena.socket)
    assert isinstance(seen, Server), seen
    return seen


class FakeArena:
    socket = "/tmp/tmux-1000/default"

    def __init__(self, *, tells_pid_of_dead: bool = True) -> None:
        self.processes = FakeProcesses(FakeClock())
        self.tmux = FakeTmux(self.processes)
        self.tmux.tells_pid_of_dead = tells_pid_of_dead

    def open(self, name: str, *, ignores: tuple[Signals, ...] = ()) -> ServerSession:
        self.tmux.programs["python"] = {"ignores": ignores, "leaves_on": {("q",): 0.0}}
        new = NewSession(name, "/", ["python", "-c", PROGRAM], {"MARK": "m"})
        assert isinstance(self.tmux.create(self.socket, new), Created)
        pane = self.tmux.servers[self.socket].sessions[-1].panes[0]
        pane.screen = "\x1b[2mready\x1b[0m\n\n\n"
        return look(self).sessions[-1]

    def split(self, session: ServerSession) -> None:
        found = next(one for one in self.tmux.servers[self.socket].sessions if one.id == session.id)
        self.tmux.split(self.socket, found, "python", "-c", PROGRAM, leaves_on={("q",): 0.0})

    def enter_mode(self, pane: str) -> None:
        found = next(
            one
            for s in self.tmux.servers[self.socket].sessions
            for one in s.panes
            if one.now.id == pane
        )
        self.tmux.change(found, in_mode=True)

    def option(self, name: str, value: str | None = None) -> str:
        options = self.tmux.servers[self.socket].options
        options.update({} if value is None else {name: value})
        return options.get(name, "")

    def buffers(self) -> str:
        return "\n".join(self.tmux.buffers)

    def hang(self) -> None:
        self.tmux.hung.add(self.socket)

    def deny(self) -> None:
        self.tmux.answers[self.socket] = Unreachable(
            self.socket, "permission denied", "", denied=True
        )


class RealArena:
    def __init__(self, socket: str) -> None:
        self.socket = socket
        self.processes = LinuxProcesses()
        self.tmux = RealTmux(os.environ, timeout_s=PLENTY_S)
        self.hung: list[int] = []
        self.leaders: set[ProcessId] = set()

    def open(self, name: str, *, ignores: tuple[Signals, ...] = ()) -> ServerSession:
        ignored = ",".join(str(int(number)) for number in ignores)
        program = [sys.executable, "-c", PROGRAM, ignored]
        made = self.tmux.create(self.socket, NewSession(name, "/", program, {"MARK": "m"}))
        assert isinstance(made, Created), made
        self.ready(made.pane)
        leader = self.processes.identify(made.pid)
        assert leader is not None
        self.leaders.add(leader)
        return next(session for session in look(self).sessions if session.id == made.session)

    def split(self, session: ServerSession) -> None:
        program = [sys.executable, "-c", PROGRAM, ""]
        pane = self.told(
            "split-window", "-d", "-P", "-F", "#{pane_id}", "-t", session.panes[0].id, *program
        ).strip()
        self.ready(pane)

    def enter_mode(self, pane: str) -> None:
        self.told("copy-mode", "-t", pane)

    def option(self, name: str, value: str | None = None) -> str:
        if value is not None:
            self.told("set-option", "-g", name, value)
        return self.told("show-options", "-gqv", name).strip()

    def buffers(self) -> str:
        words = ["tmux", "-N", "-S", self.socket, "list-buffers", "-F", "#{buffer_name}"]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()

    def hang(self) -> None:
        server = look(self)
        self.hung.append(server.pid)
        os.kill(server.pid, 19)
        self.tmux = RealTmux(os.environ, timeout_s=0.2)

    def deny(self) -> None:
        if os.geteuid() != 0:
            pytest.skip("only root can be somebody else")
        os.seteuid(65534)

    def told(self, *words: str) -> str:
        return subprocess.run(
            ["tmux", "-S", self.socket, *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout

    def ready(self, pane: str) -> None:
        for _ in range(500):
            if (self.tmux.capture(self.socket, pane) or "").startswith("ready"):
                return
            self.processes.wait((), 0.01)
        raise AssertionError("the program did not come up")

    def clear(self) -> None:
        os.seteuid(os.getuid())
        for pid in self.hung:
            os.kill(pid, 18)
        for leader in self.leaders:
            self.processes.signal(leader, SIGKILL)
        self.processes.close()
