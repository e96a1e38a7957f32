"""Sessions that the demo agent's own server runs, which is a real process: `stub_server.py`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests import stub_server
from tests.background import ONE, PIDFILE
from tests.real import Real, until

STUB = str(Path(stub_server.__file__).resolve())
HTTP = {
    "transport": "http",
    "program": {"program": "demo-server", "arguments": r"stub_server\.py http"},
    "password": "DEMO_PASSWORD",
    "login": "demo",
    "list": {"GET /session/status": {"directory": "{folder}"}},
    "entry": "GET /session/{id}",
    "working": ["busy", "retry"],
    "waiting": ["GET /permission", "GET /no-such-question"],
    "waiting_id": "sessionID",
    "waiting_for": "asks",
    "end": "POST /session/{id}/abort",
    "by_hand": "attach to {url}, and Escape",
}
SOCKET = {
    "transport": "socket",
    "program": {"program": "demo-server", "arguments": r"stub_server\.py socket"},
    "socket": "server.sock",
    "hello": {"initialize": {"clientInfo": {"name": "tests"}}},
    "list": "list",
    "entries": "data",
    "entry": {"entry": {"id": "{id}"}},
    "inner": "thread",
    "working": ["busy"],
    "asks": "flags",
    "turn": {"entry": {"id": "{id}"}},
    "turn_id": "thread.turns.-1.id",
    "end": {"end": {"id": "{id}", "turn": "{turn}"}},
    "by_hand": "open {id}, and Escape",
}
BACKGROUND = {
    "id": "[a-z0-9]{2,8}",
    "conversation": "own",
    "source": "copied",
    "parents": ["launched_by"],
    "folder": "directory",
    "began": "time.created",
    "attach": [sys.executable, STUB, "attach", "{id}", "{url}"],
}
STATE = {"http": "type", "socket": "status.type"}


class Server:
    """The demo agent's own server, with what it is at work on."""

    def __init__(self, real: Real, transport: str = "http", **environ: str) -> None:
        self.real, self.store, self.transport = real, real.store, transport
        real.store.mkdir(parents=True, exist_ok=True)
        told_as(transport)
        self.process = self.open(**environ)

    def open(self, **environ: str) -> subprocess.Popen[bytes]:
        program = self.real.folder / "demo-server"
        if not program.exists():
            program.symlink_to(Path(sys.executable).resolve())
        process = subprocess.Popen(
            [str(program), STUB, self.transport],
            env={**os.environ, **environ},
            cwd=self.real.folder,
        )
        sign = stub_server.PORT if self.transport == "http" else stub_server.SOCKET
        until("its port", (self.store / sign.name).exists)
        return process

    def begin(self, number: str = "s1", own: str = ONE, **told: Any) -> None:
        """Begin a session. `own`: its conversation."""
        one = {"own": own, "directory": str(self.real.folder), "type": "busy", **told}
        working = stub_server.read(self.store / "working.json")
        stub_server.write(self.store / "working.json", {**working, number: one})

    def end(self, number: str = "s1") -> None:
        working = stub_server.read(self.store / "working.json")
        working.pop(number)
        stub_server.write(self.store / "working.json", working)

    def mode(self, **mode: Any) -> None:
        stub_server.write(self.store / "mode.json", mode)

    def working(self) -> list[str]:
        return list(stub_server.read(self.store / "working.json"))

    def asked(self) -> list[dict[str, Any]]:
        path = self.store / "asked.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def told_as(
    transport: str,
    conversation: dict[str, Any] | None = None,
    launch: list[str] | None = None,
    **server: Any,
) -> None:
    """Tell the program of the server from now on. The rest is what differs."""
    folder = Path(os.environ["XDG_CONFIG_HOME"], "tmuxreap")
    folder.mkdir(exist_ok=True)
    known = {"http": HTTP, "socket": SOCKET}[transport]
    demo = {
        "background": {**BACKGROUND, "state": STATE[transport], "server": {**known, **server}},
        "conversation": {"locators": [PIDFILE, "launch"], **(conversation or {})},
        **({} if launch is None else {"launch": launch}),
    }
    (folder / "agents.yaml").write_text(json.dumps({"agents": {"demo": demo}}))
