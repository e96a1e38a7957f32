"""Sessions without a pane in a soak: in a machine's own daemon (`stub_daemon.py`), which starts a
worker for each, or its own server (`stub_server.py`), which runs their turns itself."""

from __future__ import annotations

import fcntl
import json
import os
import random
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests import background, served, stub_daemon, stub_server
from tests.soak.world import Machine

ALIVE_S = 20.0  # how long a daemon may take to begin
LOCATORS = [
    background.PIDFILE,
    {"kind": "exit-banner", "pattern": "tmuxreap-demo --resume (?P<id>{id})"},
    "launch",
    {"kind": "argv", "flags": ["--resume", "--session-id"]},
    "sole-candidate",
]


class Seats:
    """The sessions of one machine. `ended` are those that a stop was said to have ended."""

    wanted: str  # the file with the sessions that it is to run

    def __init__(self, machine: Machine, chance: random.Random) -> None:
        self.machine, self.random = machine, chance
        self.store = machine.home / ".tmuxreap-demo"
        self.store.mkdir()
        self.ended: dict[str, str] = {}
        self._configure()
        self.process = self.open()

    def begin(self) -> str:
        """Begin a session with a conversation; return its ID."""
        number = f"w{self.random.randrange(10**6)}"
        own = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        path = self.store / "conversations" / f"{own}.jsonl"
        path.parent.mkdir(exist_ok=True)
        line = {"cwd": str(self.machine.home), "role": "user", "text": "hello"}
        path.write_text(json.dumps(line) + "\n")
        self._want(number, own)
        _until(lambda: number in self.living())
        return number

    def living(self) -> set[str]:
        """Return what runs, by the daemon's own list."""
        raise NotImplementedError

    def open(self) -> subprocess.Popen[bytes]:
        raise NotImplementedError

    def trouble(self) -> None:
        """Let it behave in another way from now on."""
        mode = self.random.choice(({}, {"slow_s": 0.5}, {"deaf": True}, {"respawn_s": 0.5}))
        stub_daemon.write(self.store / "mode.json", mode)

    def restart(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process = self.open()

    def back(self) -> list[str]:
        """Return the sessions that run although a stop of them was said to have ended them."""
        return [f"{self.ended[number]} ({number})" for number in self.living() & set(self.ended)]

    def _configure(self) -> None:
        demo = {**self._profile(), "conversation": {"locators": LOCATORS}}
        file = self.machine.home / ".config" / "tmuxreap" / "agents.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"agents": {"demo": demo}}))

    def _profile(self) -> dict[str, Any]:
        raise NotImplementedError

    def _want(self, number: str, own: str) -> None:
        raise NotImplementedError

    def _change(self, lock: str, file: str, number: str, told: dict[str, Any]) -> None:
        with (self.store / lock).open("a") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            path = self.store / file
            stub_daemon.write(path, {**stub_daemon.read(path), number: told})


class DaemonSeats(Seats):
    def living(self) -> set[str]:
        workers = stub_daemon.read(self.store / "roster.json").get("workers", {})
        return {number for number, entry in workers.items() if stub_daemon.lives(entry)}

    def open(self) -> subprocess.Popen[bytes]:
        words = [sys.executable, background.STUB, "daemon"]
        process = subprocess.Popen(words, env=self.machine.environ, start_new_session=True)
        roster = self.store / "roster.json"
        _until(lambda: stub_daemon.read(roster).get("daemon") == process.pid)
        return process

    def _profile(self) -> dict[str, Any]:
        spare = {"program": "stub daemon", "command": r"stub_daemon\.py daemon"}
        return {"spare": [spare], "background": background.BACKGROUND}

    def _want(self, number: str, own: str) -> None:
        told = {"own": own, "cwd": str(self.machine.home)}
        self._change("stub.lock", "wanted.json", number, told)

    def worker(self, number: str) -> int | None:
        """Return its process, if it lives."""
        workers = stub_daemon.read(self.store / "roster.json").get("workers", {})
        entry = workers.get(number, {})
        return entry["pid"] if stub_daemon.lives(entry) else None


class ServedSeats(Seats):
    def living(self) -> set[str]:
        return set(stub_server.read(self.store / "working.json"))

    def open(self) -> subprocess.Popen[bytes]:
        program = self.machine.home / "demo-server"
        if not program.exists():
            program.symlink_to(Path(sys.executable).resolve())
        port = self.store / "port"
        port.unlink(missing_ok=True)
        words = [str(program), served.STUB, "http"]
        environ = {**self.machine.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        process = subprocess.Popen(words, env=environ, cwd=self.machine.home)
        _until(port.exists)
        return process

    def _profile(self) -> dict[str, Any]:
        block = {**served.BACKGROUND, "state": served.STATE["http"], "server": served.HTTP}
        return {"background": block}

    def _want(self, number: str, own: str) -> None:
        told = {"own": own, "directory": str(self.machine.home), "type": "busy"}
        self._change("server.lock", "working.json", number, told)

    def worker(self, number: str) -> int | None:
        return None


def _until(found: Callable[[], object]) -> None:
    until = time.monotonic() + ALIVE_S
    while not found():
        if time.monotonic() > until:
            raise TimeoutError("the daemon of the soak does not answer")
        time.sleep(0.02)
