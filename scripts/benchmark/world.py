"""An isolated environment for the benchmark: a tmux server on a private socket, a HOME, a registry,
agents that only exit. It ends everything it starts."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

STEP = 50  # sessions are started in steps: the machine is shared
HERE = Path(__file__).parent

PROFILE = """agents:
  bench:
    about: a program that leaves when a key is typed
    process: [benchagent]
    screens: {idle: '^>'}
    keys: {idle: [q], safe: [q]}
"""
AGENT = """#!/bin/sh
# Shows a prompt, and leaves $1 seconds after a key.
stty -echo -icanon min 1 time 0 2>/dev/null
printf '> '
dd bs=1 count=1 >/dev/null 2>&1
exec sleep "$1"
"""
# Looks like claude as far as its profile reads it: an empty prompt, what is typed into it, and gone
# $1 seconds after the Enter.
CLAUDE = """#!/bin/bash
rule=────────────────────────────────────────
show() { printf '\\033[H\\033[2J%s\\n\\u276f %s\\n%s\\n' "$rule" "$1" "$rule"; }
stty -echo -icanon min 1 time 0 2>/dev/null
show ''
IFS= read -rsn5 typed
show "$typed"
IFS= read -rsn1 typed
exec sleep "$1"
"""
STUBBORN = """#!/bin/sh
trap '' HUP TERM INT
printf '> '
while :; do sleep 60; done
"""


class World:
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tmuxreap-bench."))
        self.registry = self.folder / ".hermes" / "agent-sessions.yaml"
        for name in ("tmux", "home/.config/tmuxreap", "bin", "stubborn", ".hermes"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "home/.config/tmuxreap/agents.yaml").write_text(PROFILE)
        self.agent = self._program("bin/benchagent", AGENT)
        self.claude = self._program("bin/claude", CLAUDE)
        self.stubborn = self._program("stubborn/benchagent", STUBBORN)
        self.sleeper = self.folder / "benchagent"
        self.sleeper.symlink_to(shutil.which("sleep") or "/bin/sleep")
        self.env = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self.folder / "home"),
            "TMUX_TMPDIR": str(self.folder / "tmux"),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
        }
        self.socket = str(self.folder / "tmux" / f"tmux-{os.getuid()}" / "default")
        self.tmux("new-session", "-d", "-s", "keep", "sleep 1000")

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        pids = [line.split()[1] for line in self.panes()]
        self.tmux("kill-server")
        for pid in pids:
            _end(int(pid))
        shutil.rmtree(self.folder, ignore_errors=True)

    def _program(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def tmux(self, *words: str, given: str = "") -> str:
        command = ["tmux", "-u", *words]
        done = subprocess.run(
            command, env=self.env, input=given, capture_output=True, text=True, check=False
        )
        return done.stdout

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run one tmuxreap command, as a user does."""
        return subprocess.run(
            ["tmuxreap", *words],
            env=self.env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )

    def panes(self) -> list[str]:
        fields = (
            "session_name",
            "pane_pid",
            "pane_id",
            "session_id",
            "session_created",
            "pid",
            "start_time",
        )
        listed = self.tmux("list-panes", "-a", "-F", " ".join(f"#{{{field}}}" for field in fields))
        return [line for line in listed.splitlines() if not line.startswith("keep ")]

    def sessions(self, names: Sequence[str], command: str, *, prompt: bool = True) -> None:
        for first in range(0, len(names), STEP):
            part = names[first : first + STEP]
            self.tmux(
                "source-file",
                "-",
                given="".join(f"new-session -d -s {name} '{command}'\n" for name in part),
            )
            until = time.monotonic() + 20
            while (
                prompt
                and time.monotonic() < until
                and not all(self._prompts(name) for name in part)
            ):
                time.sleep(0.05)
        time.sleep(0.3)

    def _prompts(self, name: str) -> bool:
        shown = self.tmux("capture-pane", "-p", "-t", f"={name}:")
        return ">" in shown or "\u276f" in shown

    def say(self, name: str, text: str) -> None:
        """Send a prompt to the demo agent, so that its conversation can be resumed."""
        self.tmux("send-keys", "-l", "-t", f"={name}:", text)
        time.sleep(0.2)  # an immediate Enter would be part of a paste
        self.tmux("send-keys", "-t", f"={name}:", "Enter")
        until = time.monotonic() + 20
        while f"You said: {text}" not in self.tmux("capture-pane", "-p", "-t", f"={name}:"):
            assert time.monotonic() < until, f"{name} does not answer"
            time.sleep(0.05)

    def register(self, ended: Mapping[str, str] | None = None) -> None:
        """Write a registry of all sessions, like `adopt`, and of `ended` ones; tmuxreap then writes
        and reads it itself, so that, as in daily use, the ledger knows it."""
        for path in self.registry.parent.iterdir():
            path.unlink()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        rows = []
        for line in self.panes():
            name, pid, pane, session, created, server, started = line.split()
            ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
            rows.append(
                f"  - name: {name}\n    status: running\n    agent: bench\n"
                "    start_command: benchagent\n    tags: [bench]\n"
                f"    pane: {{pid: {pid}, id: '{pane}', cwd: {self.folder},"
                f" start_ticks: {ticks}}}\n"
                f"    tmux: {{socket: {self.socket}, host: {socket.gethostname()}, boot_id: {boot},"
                f" server_pid: {server}, server_started: {started}, session_id: '{session}',"
                f" session_created: {created}}}\n"
            )
        others = {**(ended or {}), "dummy": "bench"}
        rows += [
            f"  - name: {name}\n    status: stopped\n    agent: {agent}\n"
            for name, agent in others.items()
        ]
        self.registry.write_text("tmux_sessions:\n" + "".join(rows))
        self.run("forget", "dummy")
        self.run("list")

    def register_by_hand(self) -> None:
        for path in self.registry.parent.iterdir():
            path.unlink()
        self.registry.write_text(self.rows_by_hand())

    def rows_by_hand(self) -> str:
        """Return the rows of another tool: a name, a status, and the pane's process."""
        rows = []
        for line in self.panes():
            name, pid = line.split()[:2]
            rows.append(
                f"  - name: {name}\n    status: running\n"
                f"    pane: {{pid: {pid}, cmd: claude, cwd: {self.folder}}}\n"
            )
        return "tmux_sessions:\n" + "".join(rows)

    def replace(self, text: str) -> None:
        """Write the registry like another tool, in one step; the ledger stays."""
        fresh = self.registry.with_suffix(".fresh")
        fresh.write_text(text)
        fresh.rename(self.registry)

    def adopt_all(self) -> None:
        """Write the rows that `adopt` makes of all sessions, into an empty registry."""
        for path in self.registry.parent.iterdir():
            path.unlink()
        self.registry.write_text("tmux_sessions: []\n")
        self.run("adopt", "--all", "--yes")

    def copied(self, name: str) -> Path:
        """Return a folder with a copy of the registry, for a contender that writes it."""
        folder = self.folder / name
        shutil.copytree(self.registry.parent, folder / ".hermes", dirs_exist_ok=True)
        return folder

    def clear(self) -> None:
        """Close all sessions except the one that keeps the server alive."""
        pids = [int(line.split()[1]) for line in self.panes()]
        names = [line.split()[0] for line in self.panes()]
        self.tmux("source-file", "-", given="".join(f"kill-session -t ={name}\n" for name in names))
        for pid in pids:
            _end(pid)


def _end(pid: int) -> None:
    """Kill a process, always one started by this benchmark on its own tmux server."""
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        return
