"""A registry and a ledger as hooks see them, and an agent that calls hooks."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

from tests.ledger_records import Ledger
from tmuxreap.core.model import ProcessId
from tmuxreap.ledger.records import Heartbeat, MirrorRow, NewIntent

ID = "e4d745b8-0584-46dc-828b-77f88ae13a1a"
# To hooks, an agent is a process on a terminal that calls them.
AGENT = """import fcntl, subprocess, sys, termios
fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0)
sys.exit(subprocess.run(sys.argv[2:]).returncode)"""


class Desk:
    """A registry with two rows: `acme`, started with a mark, and `shop`, adopted from a pane."""

    def __init__(self, folder: Path) -> None:
        self.registry = folder / ".hermes" / "agent-sessions.yaml"
        self.registry.parent.mkdir()
        self.registry.write_text(
            "tmux_sessions:\n- {name: acme, status: running}\n- {name: shop, status: running}\n"
        )
        self.path = self.registry.with_suffix(".db")
        self.folder = folder
        with self.ledger() as ledger:
            ledger.mirror([self.row("acme"), self.row("shop")], "d")
            ledger.remember_mark("acme", "mark-1", 1.0)

    def row(self, name: str) -> MirrorRow:
        socket = str(self.folder / "s")
        data = {
            "name": name,
            "agent": "claude",
            "pane": {"id": "%7"},
            "tmux": {"socket": socket, "server_pid": 42},
            "claude_session_id_own": ID,
        }
        return MirrorRow(
            name, "running", "/x", {"name": name, "agent": "claude"} if name == "acme" else data
        )

    def ledger(self) -> Ledger:
        return Ledger.open(self.path, now=time.time())

    def beats(self, name: str = "acme") -> list[Heartbeat]:
        with self.ledger() as ledger:
            return ledger.heartbeats(name)

    def run(
        self, *words: str, said: bytes = b"", **environ: str
    ) -> subprocess.CompletedProcess[bytes]:
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("TMUX", "CLAUDE"))
        }
        given = {"TMUXREAP_ID": "mark-1", "TMUXREAP_REGISTRY": str(self.registry), **environ}
        environ = {key: value for key, value in {**kept, **given}.items() if value}
        master, terminal = pty.openpty()
        agent = [
            sys.executable,
            "-c",
            AGENT,
            str(terminal),
            sys.executable,
            "-m",
            "tmuxreap",
            *words,
        ]
        try:
            return subprocess.run(
                agent,
                input=said,
                capture_output=True,
                timeout=60,
                check=False,
                env=environ,
                cwd=self.folder,
                pass_fds=(terminal,),
                start_new_session=True,
            )
        finally:
            os.close(master)
            os.close(terminal)

    def hook(self, agent: str = "claude", **facts: object) -> subprocess.CompletedProcess[bytes]:
        return self.run("hook", agent, said=json.dumps(facts).encode())

    def ask_to_stop(self, waits_ms: int = 60_000, owner: ProcessId | None = None) -> None:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        new = NewIntent(
            "acme",
            "stop",
            "tired",
            "agent",
            owner or me(),
            boot,
            time.time() + 99,
            (),
            json.dumps({"after_turn": {"waits_ms": waits_ms}}),
        )
        with self.ledger() as ledger:
            ledger.begin_intent(new, owner_alive=lambda _: False, take_over=True, now=time.time())


def me() -> ProcessId:
    return process(os.getpid())


def process(pid: int) -> ProcessId:
    facts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return ProcessId(pid, int(facts[19]))


def quiet(done: subprocess.CompletedProcess[bytes]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
