"""Many operations beside an orchestrator that dumps the whole registry every quarter of a second,
once without the lock and once under it: nobody loses a field, no stop is undone for good, and no
agent comes back.

For more: OPERATIONS=200 SEED=7 pytest tests/live/test_beside_a_writer.py"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import warm
from tests.live.test_reverted import later, settled
from tests.real import Real, alive, answer, until
from tmuxreap.commands.list import ListRequest
from tmuxreap.commands.list import run as look
from tmuxreap.system import files

pytestmark = [pytest.mark.live, pytest.mark.long]

SETTLES_S = 10.0  # on a busy machine the writer's dump may be torn for longer than 0.5 s
OPERATIONS = int(os.environ.get("OPERATIONS", "8"))
SEED = int(os.environ.get("SEED", "1"))
NAMES = ("a", "b", "c", "d")
ENDED = ("stopped_at", "stopped_at_epoch", "stopped_by", "stop_reason", "termination_mode")
# It thinks between its read and its dump: what is written meanwhile, its dump undoes.
ORCHESTRATOR = """\
import contextlib, fcntl, pathlib, sys, time, yaml
registry, log, locked = sys.argv[1], sys.argv[2], sys.argv[3] == "locked"
stop = pathlib.Path(sys.argv[4])

@contextlib.contextmanager
def lock():
    if not locked:
        yield
        return
    with open(registry + ".lock", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

known, beat = {}, 0
while not stop.exists():
    beat += 1
    with lock():
        with open(registry) as file:
            rows = yaml.safe_load(file)["tmux_sessions"]
        time.sleep(0.05)
        found = {row["name"]: row for row in rows}
        for name, budget in known.items():
            if found.get(name, {}).get("budget") != budget:
                with open(log, "a") as file:
                    file.write(f"{name} has lost its budget at beat {beat}: {found.get(name)}\\n")
        for row in rows:
            row.setdefault("budget", {"name": row["name"], "since": beat})
            row["beat"] = beat
            known[row["name"]] = row["budget"]
        with open(registry, "w") as file:
            yaml.safe_dump({"tmux_sessions": rows}, file, sort_keys=False)
    time.sleep(0.2)
"""


@contextlib.contextmanager
def orchestrated(real: Real, manner: str) -> Iterator[Path]:
    """Let an orchestrator write, and a watch correct; yield where the first tells of losses."""
    lost = real.folder / "lost"
    lost.touch()
    stop = real.folder / "stop"
    given = [real.registry, lost, manner, stop]
    writer = subprocess.Popen([sys.executable, "-c", ORCHESTRATOR, *given])
    until("its first dump", lambda: real.registry.read_text().count("beat: ") == len(NAMES))
    line = [warm.program(), "watch", "--interval", "1"]
    quiet = subprocess.DEVNULL
    watch = subprocess.Popen([*line, "--registry", real.registry], stdout=quiet, stderr=quiet)
    try:
        yield lost
        assert (writer.poll(), watch.poll()) == (None, None)
    finally:
        stop.touch()  # killed, it would leave half a dump
        writer.wait(timeout=60)
        watch.send_signal(signal.SIGTERM)
        watch.wait(timeout=60)


def birth_of(pid: int) -> str:
    """Return when the process was started, in ticks; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


class Beside:
    """The operations, and what must be true after each of them."""

    def __init__(self, real: Real, seed: int) -> None:
        self.real, self.random = real, random.Random(seed)
        self.running = {name: real.pid(name) for name in NAMES}
        self.reasons: dict[str, str] = {}
        self.born = {pid: birth_of(pid) for pid in self.running.values()}
        self.dead: set[int] = set()
        self.done: list[str] = []

    def step(self) -> None:
        name = self.random.choice(NAMES)
        ends = self.random.choice(("stop", "kill"))
        deed = self.random.choice((ends, ends, "resume", "reconcile", "list"))
        self.done.append(f"{deed} {name}")
        if deed == "reconcile":
            settled(self.real)
        elif deed == "list":
            with self.real.app() as app:
                assert {row.as_json()["name"] for row in look(app, ListRequest()).results} >= {
                    *NAMES
                }
        elif deed == "resume":
            self.resume(name)
        else:
            self.end(deed, name)
        self.check()

    def end(self, deed: str, name: str) -> None:
        reason = f"{deed} {len(self.done)}"
        end = self.real.stop if deed == "stop" else self.real.kill
        result = answer(end(name, reason=reason))
        pid = self.running.pop(name, None)
        if pid is None:
            assert (result["outcome"], result["stop_reason"]) == (
                "already_stopped",
                self.reasons[name],
            ), (self.done, result)
            return
        assert result["error"] is None, (self.done, result)
        assert result["outcome"] in ("stopped", "killed"), self.done
        self.reasons[name] = reason
        self.dead.add(pid)

    def resume(self, name: str) -> None:
        result = self.real.resume(name)
        if name in self.running:
            assert result["error"]["code"] == "session_exists", self.done
            return
        assert result.get("error") is None, (self.done, result)
        pid = self.running[name] = self.real.pid(name)
        self.dead.discard(pid)  # after many operations a number comes again
        self.born[pid] = birth_of(pid)
        self.real.shows(name, f"You said: this is {name}")

    def check(self) -> None:
        """Check the world: exactly those run that were not ended, each in its own process."""
        assert self.real.sessions() & {*NAMES} == self.running.keys(), self.done
        assert {name: self.real.pid(name) for name in self.running} == self.running, self.done
        back = [pid for pid in self.dead if alive(pid) and birth_of(pid) == self.born[pid]]
        assert back == [], self.done

    def check_rows(self) -> None:
        """Check the registry, when all others have fallen silent."""
        for name, row in self.real.rows().items():
            assert row["budget"]["name"] == name, (self.done, row)
            if name in self.running:
                assert (row["status"], row["pane"]["pid"]) == ("running", self.running[name]), (
                    self.done,
                    row,
                )
                assert not {*ENDED} & row.keys(), (self.done, row)
            elif name in NAMES:
                assert row["status"] == "stopped", (self.done, row)
                assert row["stop_reason"] == self.reasons[name], (self.done, row)
                assert {*ENDED} <= row.keys(), (self.done, row)
                assert row["resumable"] is True, (self.done, row)


@pytest.mark.parametrize("manner", ["unlocked", "locked"])
def test_concurrent_writers_lose_no_field_and_undo_no_stop(
    real: Real, monkeypatch: pytest.MonkeyPatch, manner: str
) -> None:
    monkeypatch.setattr(files, "SETTLES_S", SETTLES_S)
    real.bystander()
    for name in NAMES:
        real.start(name, restart="always")
        real.say(f"this is {name}", name)
    beside = Beside(real, SEED)
    with orchestrated(real, manner) as lost:
        for _ in range(OPERATIONS):
            beside.step()
    assert lost.read_text() == ""
    later(real)
    assert [drift for drift in settled(real) if not drift["settled"]] == [], beside.done
    time.sleep(0.1)
    assert settled(real) == [], beside.done
    beside.check()
    beside.check_rows()
