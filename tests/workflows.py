"""A project as its users have it: our skills installed, `tmuxreap` on the PATH, a private tmux, the
demo agent.

Blocks of shell are run in it as they stand in a document."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests import plain_yaml, warm
from tests.real import BURST_S, until
from tmuxreap.commands.skills import compare, our_skills, write

ROOT = Path(__file__).parent.parent
LIMIT_S = 120


class Project:
    """Everything in one folder; the tmux server is the default one of a private TMUX_TMPDIR."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.registry = self.folder / ".hermes" / "agent-sessions.yaml"
        programs = folder / "programs"
        for path in (self.folder, programs):
            path.mkdir()
        (programs / "tmuxreap").symlink_to(warm.program())
        environ = {
            key: value for key, value in os.environ.items() if not key.startswith("TMUXREAP")
        }
        path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environ = {**environ, "PATH": path, "PYTHONPATH": str(ROOT)}
        for skill in our_skills():
            comparison = compare(skill, self.folder / ".agents" / "skills")
            write(comparison, comparison.names("missing"))

    def run(
        self, block: str, *, exit_code: int | None = 0, shell: str = "bash", **environ: str
    ) -> str:
        """What it says, stdout and stderr as they come."""
        ended = subprocess.run(
            [shell, "-c", block],
            cwd=self.folder,
            env={**self.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert exit_code in (None, ended.returncode), f"{ended.returncode}: {ended.stdout}"
        return ended.stdout

    def answered(self, block: str, answer: str) -> int:
        """Run on a terminal, where a question is asked and answered."""
        ours, theirs = pty.openpty()
        try:
            asked = subprocess.Popen(
                ["bash", "-c", block],
                cwd=self.folder,
                env=self.environ,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
            )
            os.close(theirs)
            seen = b""
            while b"[y/N]" not in seen:
                seen += os.read(ours, 4096)
            os.write(ours, answer.encode() + b"\n")
            return self._ended(asked, ours)
        finally:
            os.close(ours)

    def _ended(self, asked: subprocess.Popen[bytes], terminal: int) -> int:
        try:
            while os.read(terminal, 4096):
                pass
        except OSError:  # nobody holds the other end any more
            pass
        return asked.wait(LIMIT_S)

    def row(self, name: str) -> dict[str, Any]:
        rows = plain_yaml.load(self.registry.read_text())["tmux_sessions"]
        (found,) = [row for row in rows if row["name"] == name]
        return dict(found)

    def screen(self, name: str) -> str:
        return self.run(f"tmux capture-pane -p -t '={name}:'", exit_code=None)

    def start(self, name: str, *, say: str = "") -> None:
        """A demo agent that is ready, and has been told something."""
        self.run(f"tmuxreap start {name} --agent demo --confirm 0.05")
        self.ready(name)
        if say:
            self.say(name, say)

    def ready(self, name: str) -> None:
        until("the agent", lambda: "demo agent · conversation" in self.screen(name))

    def say(self, name: str, text: str) -> None:
        self.run(f"tmux send-keys -t '={name}:' -l '{text}'")
        until("the prompt", lambda: f"> {text}" in self.screen(name))
        time.sleep(BURST_S)
        self.run(f"tmux send-keys -t '={name}:' Enter")
        until("the answer", lambda: f"You said: {text}" in self.screen(name))
