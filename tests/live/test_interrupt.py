"""`interrupt` on real sessions: the turn ends, and nothing else does."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.real import Real, alive, answer
from tmuxreap.commands import interrupt, start
from tmuxreap.commands.interrupt import InterruptRequest

pytestmark = pytest.mark.live


def interrupted(real: Real) -> dict[str, Any]:
    with real.app() as app:
        return answer(interrupt.run(app, InterruptRequest(("acme",))))


def test_a_turn_ends_and_what_was_queued_is_in_the_input(real: Real) -> None:
    real.start("acme", "--state", "busy")
    real.submit("run it")
    pid, before = real.pid(), real.registry.read_bytes()
    one = interrupted(real)
    assert (one["outcome"], one["state"], one["error"]) == ("interrupted", "idle", None)
    real.shows("acme", "> run it")
    assert "working" not in real.screen()
    assert (real.pid(), real.registry.read_bytes()) == (pid, before)
    assert ("user", "run it") not in real.said()
    assert interrupted(real)["outcome"] == "already_idle"
    assert len(real.events("interrupted")) == 1


def test_a_dialog_is_closed(real: Real) -> None:
    real.start("acme")
    real.submit("/ask")
    real.shows("acme", "Allow the tool")
    assert interrupted(real)["outcome"] == "interrupted"
    assert ("tool", "approved") not in real.said()


# An agent that exits at a second C-c within 2 s, as some do; frozen, it hears both at once.
PARROT = """import os, sys, termios, time, tty
tty.setraw(0)
open(sys.argv[0] + ".pid", "w").write(str(os.getpid()))
first, working = -9.0, True
while True:
    os.write(1, b"\\x1b[H\\x1b[Jparrot\\r\\n" + (b"talks" if working else b"> "))
    if os.read(0, 1) == b"\\x03":
        now = time.monotonic()
        if now - first < 2:
            sys.exit(0)
        first, working = now, False
"""
PARROT_BLOCK = {
    "process": ["parrot"],
    "screens": {"busy": "^talks$", "idle": "^>$"},
    "keys": {"safe": ["C-c", 0.3, "C-c"], "turn": ["C-c"]},
}


@pytest.mark.parametrize("frozen_s", [1.0, 2.5, 4.0])
def test_an_agent_that_is_frozen_is_not_ended_by_a_doubled_key(real: Real, frozen_s: float) -> None:
    own = Path(os.environ["XDG_CONFIG_HOME"], "tmuxreap")
    own.mkdir()
    (own / "agents.yaml").write_text(json.dumps({"agents": {"parrot": PARROT_BLOCK}}))
    script = real.folder / "parrot"
    script.write_text(PARROT)
    # Below a shell: tmux continues a stopped process that it started itself.
    line = f"{sys.executable} {script}; exec sh"
    request = start.StartRequest(
        "acme", "parrot", str(real.folder), server=real.socket, command=("sh", "-c", line)
    )
    with real.app() as app:
        start.run(app, request)
    real.shows("acme", "talks")
    pid = int((real.folder / "parrot.pid").read_text())
    os.kill(pid, signal.SIGSTOP)
    threading.Timer(frozen_s, os.kill, (pid, signal.SIGCONT)).start()
    one = interrupted(real)
    assert alive(pid), one
    assert one["outcome"] == "interrupted"
