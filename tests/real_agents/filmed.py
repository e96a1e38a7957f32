"""The world of scripts/film: real agents, a model on loopback that answers them, their tmux server.

python -m tests.real_agents.filmed FOLDER HOME PROJECT AGENT...

FOLDER/AGENT is where each is installed. They are seeded in HOME, and the server is started with
what they need in its environment. Prints "ready", and serves until it is ended (SIGTERM); all
that has this HOME ends with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.real_agents.mock_model import MockModel, Reply
from tests.real_agents.setups import SETUPS, Place, program_of

ANSWERS = {
    "add a login test": "Added tests/test_login.py; 4 tests pass.",
    "shorten the docs": "docs/intro.md: 212 lines became 90.",
    "fix the menu": "The menu closes on Escape again.",
}


class Answering(MockModel):
    """Answers what was asked for, so that the film can be read."""

    def reply(self, body: dict[str, Any]) -> Reply:
        told = str(body.get("messages") or body.get("input") or body.get("contents") or "")
        asked = [text for text in ANSWERS if text in told]
        return Reply(ANSWERS[asked[-1]]) if asked else super().reply(body)


def main(folder: Path, home: Path, project: Path, agents: Sequence[str]) -> None:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    model, programs = Answering("true"), home / "bin"
    programs.mkdir()
    seeded: dict[str, str] = {}
    for agent in agents:
        seeded |= SETUPS[agent].seed(Place(home, project, model.url))
        (programs / agent).symlink_to(program_of(folder, agent))
    environ = {
        **os.environ,
        **seeded,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "NO_PROXY": "127.0.0.1,localhost",
    }
    # It stays when the last session is gone: what is resumed finds the model.
    stays = ["start-server", ";", "set-option", "-g", "exit-empty", "off"]
    subprocess.run(["tmux", *stays], env=environ, check=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    print("ready", flush=True)
    try:
        signal.pause()
    finally:
        model.close()
        for pid in living_in(home):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def living_in(home: Path) -> list[int]:
    """Return the processes with this HOME, but for this one: several agents have left their
    terminal."""
    mark, found = f"HOME={home}".encode(), []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
