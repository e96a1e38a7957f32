"""A random walk on real tmux: several concurrent tmuxreap processes on one registry, some killed on
the way, next to a writer without the lock and a user who moves panes. Whatever happened: what is
written is true, and one reconcile settles it.

The seed is in the test's name and in each failure. For longer walks: WALK_S=300 WALK_SEED=7 pytest
tests/live/test_a_random_walk_breaks_no_promise.py"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.live.person import HIS, WORK, Person
from tests.real import DEMO, Real, alive

pytestmark = [pytest.mark.live, pytest.mark.long]

SECONDS = float(os.environ.get("WALK_S", "4"))
SEED = int(os.environ.get("WALK_SEED", "1"))  # fixed here; set another seed for more walks
NAMES = ("a", "b", "c")
AT_ONCE = 4
PERSON = 0.5  # probability per step that a user moves panes
ROUND = 10  # steps between two reconciles
ABOVE = (
    "# of somebody else\r\ntmux_sessions:\r\n  - {name: flow,  status: stopped, note: 'n00000'}   #"
    " as it is\r\n"
)
NOTE = re.compile(rb"n(\d{5})")
DEEDS = (
    "start",
    "start",
    "stop",
    "kill",
    "adopt",
    "reconcile",
    "write",
    "die",
    "crash",
    "crash",
    "pause",
)


def lives(row: dict[str, Any]) -> bool:
    """Tell whether exactly that row's process lives, not a later one with its pid."""
    pane = row.get("pane") or {}
    try:
        fields = Path(f"/proc/{pane['pid']}/stat").read_text().rpartition(")")[2].split()
    except (OSError, KeyError):
        return False
    return fields[0] != "Z" and int(fields[19]) == pane["start_ticks"]


class Walk:
    def __init__(self, real: Real, seed: int) -> None:
        self.real, self.random = real, random.Random(seed)
        self.running: list[subprocess.Popen[bytes]] = []
        self.names: set[str] = set()
        self.steps = self.killed = self.note = 0
        real.registry.write_bytes(ABOVE.encode())
        self.bystander = real.bystander("quiet", *WORK)
        self.person = Person(real, self.random, NAMES, self.bystander)

    def begin(self, verb: str, *words: str) -> None:
        # Before the command: after -- it would be the agent's.
        line = [
            sys.executable,
            "-m",
            "tmuxreap",
            verb,
            "--registry",
            str(self.real.registry),
            *words,
        ]
        quiet = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.PIPE,
        }
        self.person.log.append(" ".join([verb, *words[:1]]))
        self.running.append(subprocess.Popen(line, **quiet))  # type: ignore[call-overload]

    def step(self) -> None:
        deed, name = self.random.choice(DEEDS), self.random.choice(NAMES)
        self.steps += 1
        if self.random.random() < PERSON:
            self.person.act()
        server = ("--server", self.real.socket)
        if len(self.running) >= AT_ONCE and deed not in ("write", "die", "crash"):
            self.ended(self.running.pop(0))
        if deed == "start":
            more = ["--ignore", "hup,term"] if self.random.random() < 0.2 else []
            self.begin(
                "start",
                name,
                "--agent",
                "demo",
                "--confirm",
                "0.1",
                *server,
                "--quiet",
                "--",
                *DEMO,
                *more,
            )
        elif deed in ("stop", "kill"):
            self.begin(
                deed, name, "--grace", "0.3", *(("--keys-timeout", "0.5") if deed == "stop" else ())
            )
        elif deed == "adopt" and not self.person.is_in(name):
            # Adopting means the session's current content: nothing moves in meanwhile.
            self.begin("adopt", name, "--agent", "demo", *server)
            self.ended(self.running.pop())
        elif deed == "reconcile":
            self.begin("reconcile")
        elif deed == "write":
            self.write()
        elif deed == "die":
            row = self.real.rows().get(name, {})
            if lives(row):
                os.kill(row["pane"]["pid"], signal.SIGKILL)
        elif deed == "crash" and self.running:
            victim = self.running.pop(self.random.randrange(len(self.running)))
            self.killed += victim.poll() is None
            victim.kill()
            victim.communicate()
        time.sleep(self.random.choice((0, 0.02, 0.1, 0.2)))

    def ended(self, process: subprocess.Popen[bytes]) -> None:
        _, said = process.communicate(timeout=60)
        assert process.returncode in (0, 1, 3), (process.args, process.returncode, said.decode())

    def write(self) -> None:
        """Write in place, with equal length, without the lock."""
        with self.real.registry.open("r+b") as file:
            found = NOTE.search(file.read())
            assert found is not None
            self.note += 1
            file.seek(found.start())
            file.write(b"n%05d" % self.note)

    def check(self) -> None:
        """Check the invariants."""
        text = self.real.registry.read_bytes()
        assert NOTE.sub(b"n00000", text, 1).startswith(ABOVE.encode()), text
        rows = self.real.rows()
        assert self.names <= rows.keys(), "a row is lost"
        self.names = set(rows)
        for name, row in rows.items():
            assert row["status"] == "running" or not lives(row), (
                f"{name} lives and is {row['status']}"
            )
        assert alive(self.bystander)
        self.person.check()

    def settle(self) -> None:
        while self.running:
            self.ended(self.running.pop())
        self.person.goes_home()
        self.reconcile()
        self.check()
        again = self.reconcile()
        assert again["actions"] == [], again
        told = {drift["name"] for drift in again["drifts"]}
        there = self.real.sessions() - {"quiet", HIS}
        sessions = {self.person.renamed.get(name, name) for name in there}
        running = {name for name, row in self.real.rows().items() if row["status"] == "running"}
        assert running ^ sessions <= told, (running, sessions, told)
        for name in there:
            options = self.real.tmux("show-options", "-p", "-t", f"={name}:")
            assert options == "" or self.person.renamed.get(name, name) in told, name

    def clear_up(self) -> None:
        """End all, including processes that ignore hangup: ending the server would not end them."""
        panes = self.real.tmux("list-panes", "-a", "-F", "#{pane_pid}").split()
        rows = [row["pane"]["pid"] for row in self.real.rows().values() if lives(row)]
        for pid in {*map(int, panes), *rows} - {self.bystander}:
            os.kill(pid, signal.SIGKILL)

    def reconcile(self) -> dict[str, Any]:
        words = [
            sys.executable,
            "-m",
            "tmuxreap",
            "reconcile",
            "--json",
            "--registry",
            str(self.real.registry),
        ]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


@pytest.mark.parametrize("seed", [SEED])
def test_a_random_walk_breaks_no_promise(real: Real, seed: int) -> None:
    walk = Walk(real, seed)
    until = time.monotonic() + SECONDS
    try:
        while time.monotonic() < until:
            for _ in range(ROUND):
                walk.step()
                walk.check()
            walk.settle()
    finally:
        for process in walk.running:
            process.kill()
            process.communicate()
        walk.clear_up()
        print(
            f"seed {seed}: {walk.steps} steps, {walk.killed} killed in the middle, {walk.note}"
            f" writes by another, {walk.person.deeds} deeds of a person; at last",
            *walk.person.log[-30:],
            sep="\n",
        )
