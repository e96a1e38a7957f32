"""`watch` on real sessions: events are reported and recorded when they happen, and nothing else
wakes it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

from tests import warm
from tests.real import DEMO, PATIENCE_S, Real, alive, until
from tests.schemas import check_line
from tmuxreap.system.processes.linux import LinuxProcesses

pytestmark = pytest.mark.live
KERNEL = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
VERBS = int(os.environ.get("VERBS", "16"))
DEATHS = int(os.environ.get("DEATHS", "10000"))
CROWD = 50
WARM = 6500  # deaths, until late imports, the allocator and SQLite have settled


class Watch:
    def __init__(self, real: Real, *options: str) -> None:
        words = [
            sys.executable,
            "-m",
            "tmuxreap",
            "watch",
            "--json",
            "--registry",
            str(real.registry),
            *options,
        ]
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._lines: Queue[str] = Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.rests()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def rests(self) -> None:
        """Wait until it has finished its work, and waits for events."""
        until("the watch waiting", self._asleep)

    def _asleep(self) -> bool:
        """Tell whether it has the handlers that it installs before its first look, waits for no
        child or CPU, and longer than for a lock."""
        caught = Path(f"/proc/{self.process.pid}/status").read_text().split("SigCgt:")[1].split()[0]
        return (
            bool(int(caught, 16) & (1 << (signal.SIGTERM - 1)))
            and self._waits()
            and self.switches() == self.switches(after_s=0.15)
            and self._waits()
        )

    def _waits(self) -> bool:
        """On a busy machine a thread that is waiting for the CPU has the state R, not S."""
        threads = list(Path(f"/proc/{self.process.pid}/task").iterdir())
        states = {(one / "stat").read_text().rpartition(")")[2].split()[0] for one in threads}
        return states == {"S"} and not any((one / "children").read_text() for one in threads)

    def switches(self, after_s: float = 0.0) -> int:
        time.sleep(after_s)
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("voluntary_ctxt_switches:")[1].split()[0])

    def event(self, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(self._lines.get(timeout=timeout_s))
        check_line("watch", event)
        return event

    def first(self, kind: str) -> dict[str, Any]:
        """Return the next event of this kind; others may lawfully precede it."""
        return next(event for event in iter(self.event, None) if event["event"] == kind)

    def quiet(self) -> bool:
        try:
            raise AssertionError(self._lines.get_nowait())
        except Empty:
            return True


@contextlib.contextmanager
def watching(real: Real, *options: str) -> Iterator[Watch]:
    watch = Watch(real, *options)
    try:
        yield watch
    finally:
        watch.process.terminate()
        _, err = watch.process.communicate(timeout=60)
    assert (watch.process.returncode, err) == (0, "")


def test_a_death_is_reported_and_recorded_at_once(real: Real) -> None:
    real.start()
    real.bystander()
    with watching(real, "--interval", "1h") as watch:
        os.kill(real.pid(), signal.SIGKILL)
        event = watch.first("dead")
        assert (event["name"], event["settled"]) == ("acme", True)
        assert event["cause"] == ("SIGKILL" if KERNEL >= (6, 15) else None)  # reported since then
    assert real.row()["status"] == "terminated"


def test_an_agent_that_leaves_its_shell_is_reported_at_once(real: Real) -> None:
    real.start(command=["sh", "-ic", f"{sys.executable} -m tmuxreap.demo_agent; exec sh -i"])
    with watching(real, "--interval", "1h") as watch:
        real.submit("/exit")
        watch.first("agent_gone")
    assert real.row()["status"] == "running"


def test_a_server_that_dies_takes_its_rows_along(real: Real) -> None:
    for name in ("a", "b"):
        real.start(name)
    pids = [real.pid(name) for name in ("a", "b")]
    with watching(real, "--interval", "1h") as watch:
        os.kill(int(real.ask("a", "#{pid}")), signal.SIGKILL)
        assert watch.first("dead")["name"] in ("a", "b")
        until(
            "both rows", lambda: {row["status"] for row in real.rows().values()} == {"terminated"}
        )
    assert not any(alive(pid) for pid in pids)


def test_a_registry_that_is_replaced_or_broken_for_a_moment_is_lived_with(real: Real) -> None:
    with watching(real, "--interval", "1h") as watch:
        real.start()  # replaced while we watch: the new row is watched from now on
        text = real.registry.read_text()
        watch.rests()
        real.registry.write_text("{ not yaml")
        watch.first("registry_invalid")
        real.registry.write_text(text)
        watch.rests()
        os.kill(real.pid(), signal.SIGKILL)
        watch.first("dead")


def test_a_server_that_is_restarted_under_the_same_socket_is_followed_again(real: Real) -> None:
    real.start()
    with watching(real, "--interval", "1h") as watch:
        os.kill(int(real.ask("acme", "#{pid}")), signal.SIGKILL)
        assert watch.first("dead")["cause"] in (
            "its tmux server ended (SIGKILL)",
            "its tmux server ended",
        )
        real.start()  # the file shows it: the new server is another process
        watch.rests()
        os.kill(real.pid(), signal.SIGKILL)
        watch.first("dead")


def test_a_registry_that_was_away_is_read_when_it_is_back(real: Real) -> None:
    real.start()
    with watching(real, "--interval", "1h") as watch:
        away = real.registry.with_name("away.yaml")
        real.registry.rename(away)
        watch.first("registry_not_found")
        watch.rests()
        away.rename(real.registry)
        watch.rests()
        os.kill(real.pid(), signal.SIGKILL)
        watch.first("dead")


def test_cron_without_the_users_environment_takes_no_session_for_dead(real: Real) -> None:
    """Other tools' rows only name their server: without TMUX_TMPDIR that means another socket."""
    default = Path(real.socket).parent / f"tmux-{os.getuid()}" / "agents"
    default.parent.mkdir(mode=0o700, exist_ok=True)
    real.tmux("new-session", "-d", "-s", "acme", *DEMO, socket=str(default))
    pid = int(
        real.tmux("display-message", "-p", "-t", "=acme:", "#{pane_pid}", socket=str(default))
    )
    row = {
        "name": "acme",
        "status": "running",
        "tmux_server": "agents",
        "agent": "demo",
        "pane": {"pid": pid, "cwd": "/"},
    }
    real.registry.write_text("tmux_sessions:\n  - " + json.dumps(row) + "\n")
    before = real.registry.read_bytes()
    words = [
        sys.executable,
        "-m",
        "tmuxreap",
        "reconcile",
        "--json",
        "--registry",
        str(real.registry),
    ]
    environ = {"PYTHONPATH": os.environ["PYTHONPATH"], "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        words, env=environ, cwd="/", capture_output=True, text=True, timeout=60, check=False
    )
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["tmux_confirmed"], answer["actions"]) == (4, False, [])
    assert (real.registry.read_bytes(), alive(pid)) == (before, True)


def test_a_watch_does_not_wake_up_when_nothing_happens(real: Real) -> None:
    real.start()
    with watching(real, "--interval", "1h") as watch:
        watch.rests()
        assert watch.switches() == watch.switches(after_s=1.0)


def test_a_command_gets_each_event(real: Real) -> None:
    real.start()
    out = real.folder / "event.json"
    with watching(real, "--exec", f"cat > {out}.part; mv {out}.part {out}") as watch:
        os.kill(real.pid(), signal.SIGKILL)
        watch.first("dead")
        until("its file", lambda: out.exists() and json.loads(out.read_text())["event"] == "dead")


def test_two_watchers_record_a_death_once(real: Real) -> None:
    real.start()
    with watching(real) as one, watching(real) as two:
        os.kill(real.pid(), signal.SIGKILL)
        until("the row", lambda: real.row()["status"] == "terminated")
        one.rests()
        two.rests()
    assert two.process.returncode == 0
    assert len(real.events("dead")) == 1


def test_ctrl_c_ends_a_watch_cleanly(real: Real) -> None:
    with watching(real) as watch:
        watch.process.send_signal(signal.SIGINT)
        assert watch.process.wait(timeout=60) == 0


def test_a_reader_that_does_not_read_blocks_no_record(real: Real) -> None:
    """Its stdout is a full pipe."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writer, b"x" * 4096)
    words = [warm.program(), "watch", "--json", "--registry", str(real.registry)]
    process = subprocess.Popen(words, stdout=writer)
    try:
        for _ in range(3):
            real.start()
            os.kill(real.pid(), signal.SIGKILL)
            until("the row", lambda: real.row()["status"] == "terminated")
        process.terminate()
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        os.close(reader)
        os.close(writer)


def test_healthy_starts_and_stops_are_no_events(real: Real) -> None:
    """Each by a separate process, which is gone when its work is done."""
    told = ["--json", "--registry", str(real.registry)]
    names = [f"n{number}" for number in range(4)]
    options = ("--agent", "demo", "--server", real.socket, "--confirm", "0.05")

    def run(*words: str) -> None:
        line = [warm.program(), *words, *told]
        done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    with watching(real, "--interval", "1") as watch:
        for _ in range(VERBS // 8):
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(lambda name: run("start", name, *options), names))
                list(pool.map(lambda name: run("stop", name), names))
        watch.rests()
        assert watch.quiet()
    assert not [event for kind in ("intent", "dead", "unregistered") for event in real.events(kind)]


def crowd(real: Real) -> list[subprocess.Popen[bytes]]:
    """Start that many headless agents of another tool, and replace the registry by their rows."""
    processes = [subprocess.Popen(["sleep", "600"]) for _ in range(CROWD)]
    clock = LinuxProcesses()
    known = [identity for one in processes if (identity := clock.identify(one.pid))]
    rows = [
        {
            "name": f"n{number}",
            "status": "running",
            "terminal": "none",
            "pane": {"pid": one.pid, "created_epoch": clock.started_epoch(one)},
        }
        for number, one in enumerate(known)
    ]
    part = real.registry.with_suffix(".part")
    part.write_text("tmux_sessions:\n" + "".join(f"  - {json.dumps(row)}\n" for row in rows))
    part.rename(real.registry)
    return processes


def resident_kb(watch: Watch) -> int:
    text = Path(f"/proc/{watch.process.pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0])


@pytest.mark.long
@pytest.mark.only_long
def test_the_memory_of_a_watch_does_not_grow_over_thousands_of_deaths(real: Real) -> None:
    seen: dict[int, int] = {}
    with watching(real, "--interval", "1h") as watch:
        for died in range(CROWD, DEATHS + 1, CROWD):
            processes = crowd(real)
            watch.rests()
            for one in processes:
                one.kill()
                one.wait()
            until(
                "all recorded", lambda: real.registry.read_text().count("terminated_at:") == CROWD
            )
            seen[died] = resident_kb(watch)
    print({died: kb for died, kb in seen.items() if died % 500 == 0})
    grown_kb = seen[max(seen)] - seen[WARM]
    assert grown_kb < 0.25 * (max(seen) - WARM), seen
