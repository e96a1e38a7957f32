"""hcom's comparable operations: launch an agent in tmux, and kill it. It signals the process,
closes the pane and answers "sent"; it waits for no death, looks for no stragglers, and keeps no
registry of sessions."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from benchmark.world import World

CLAUDE = """#!/bin/sh
[ "$1" = --version ] && { echo '2.1.0 (Claude Code)'; exit 0; }
exec sleep 1000
"""


class Hcom:
    """Its own folder, HOME and tmux server; the agent's program only sleeps."""

    def __init__(self, world: World, program: Path) -> None:
        self.program, self.folder = program, world.folder / "hcom"
        (self.folder / "bin").mkdir(parents=True)
        (self.folder / "bin" / "claude").write_text(CLAUDE)
        (self.folder / "bin" / "claude").chmod(0o755)
        path = f"{self.folder}/bin:{world.env['PATH']}"
        self.env = {
            **world.env,
            "PATH": path,
            "HOME": str(self.folder),
            "TMUX_TMPDIR": str(self.folder),
        }
        self.version = self._run("--version").strip()

    def launch(self) -> str:
        said = self._run("1", "claude", "--terminal", "tmux")
        time.sleep(1.5)
        return next(line.split()[1] for line in said.splitlines() if line.startswith("Names:"))

    def kill(self, name: str) -> None:
        self._run("kill", name)

    def end(self) -> None:
        self._run("kill", "all")
        subprocess.run(["tmux", "kill-server"], env=self.env, capture_output=True, check=False)

    def _run(self, *words: str) -> str:
        command = [str(self.program), *words]
        done = subprocess.run(
            command, env=self.env, cwd=self.folder, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr
