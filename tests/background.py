"""Sessions in the demo agent's own daemon, which is a real process: `stub_daemon.py`."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests import stub_daemon
from tests.real import Real, until

STUB = str(Path(stub_daemon.__file__).resolve())
ONE, TWO = "11111111-6d0c-4f63-9b53-1d5f0c6f2a11", "22222222-6d0c-4f63-9b53-1d5f0c6f2a11"
PIDFILE = {
    "kind": "pidfile",
    "path": "sessions/{pid}.json",
    "id": "sessionId",
    "started": "procStart",
    "state": "status",
    "asks": "asks",
    "parked": "parked",
}
MOVED = '^{"continued": ?"(?P<id>[^"]+)"'
BACKGROUND = {
    "file": "roster.json",
    "entries": "workers",
    "daemon": "daemon",
    "id": "[a-z0-9]{2,8}",
    "pid": "pid",
    "started": "start",
    "agent_pid": "agent",
    "agent_started": "agent_start",
    "conversation": "own",
    "source": "took",
    "parents": ["launched_by"],
    "folder": "cwd",
    "flags": "flags",
    "unused": {"source": "spare"},
    "state_file": "jobs/{id}/state.json",
    "ended": ["stopped"],
    "attach": [sys.executable, STUB, "attach", "{id}"],
    "end": [sys.executable, STUB, "stop", "{id}"],
}


class Daemon:
    """The demo agent's own daemon, with its sessions."""

    def __init__(self, real: Real, **block: Any) -> None:
        self.real, self.store = real, real.store
        told_as(**block)
        self.process = self.open()

    def open(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, STUB, "daemon"], start_new_session=True)
        until("the daemon's list", lambda: self.list().get("daemon") == process.pid)
        return process

    def list(self) -> dict[str, Any]:
        return stub_daemon.read(self.store / "roster.json")

    def begin(self, number: str = "w1", own: str = ONE, **told: Any) -> int:
        """Begin a session; return its process. `own`: its conversation."""
        cwd = str(self.real.folder)
        stub_daemon.write(
            self.store / "wanted.json",
            {
                **stub_daemon.read(self.store / "wanted.json"),
                number: {"own": own, "cwd": cwd, **told},
            },
        )
        return self.lives(number)

    def lives(self, number: str = "w1") -> int:
        """Wait until it lives, and return its process."""
        found: list[int] = []

        def seen() -> bool:
            pid = self.pid(number)
            found.extend([] if pid is None else [pid])
            return bool(found)

        until(f"the session {number}", seen)
        return found[0]

    def pid(self, number: str = "w1") -> int | None:
        """Return its process, once that has said what it does."""
        entry = self.list().get("workers", {}).get(number, {})
        file = self.store / "sessions" / f"{entry.get('pid')}.json"
        return entry.get("pid") if stub_daemon.lives(entry) and file.exists() else None

    def mode(self, **mode: Any) -> None:
        stub_daemon.write(self.store / "mode.json", mode)

    def told(self) -> list[str]:
        """Return its sessions as its own command lists them."""
        words = [sys.executable, STUB, "list"]
        found: list[str] = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
        return found

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.kill()
        for entry in self.list().get("workers", {}).values():
            if stub_daemon.lives(entry):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(entry["pid"], signal.SIGKILL)


def told_as(**block: Any) -> None:
    """Tell the program of the daemon from now on. `block`: what differs."""
    folder = Path(os.environ["XDG_CONFIG_HOME"], "tmuxreap")
    folder.mkdir(exist_ok=True)
    spare = {"program": "stub daemon", "command": r"stub_daemon\.py daemon"}
    demo = {
        "spare": [spare],
        "background": {**BACKGROUND, **block},
        "conversation": {"locators": [PIDFILE, "launch"], "goes_on": {"moved": MOVED}},
    }
    (folder / "agents.yaml").write_text(json.dumps({"agents": {"demo": demo}}))


def said(real: Real, conversation: str = ONE) -> Path:
    """Write a conversation with a message."""
    path = real.store / "conversations" / f"{conversation}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cwd": str(real.folder), "role": "user", "text": "hello"}) + "\n")
    return path
