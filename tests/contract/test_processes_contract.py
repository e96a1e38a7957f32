"""What the ladder needs from processes, tested on the fake and on real ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM, Signals
from typing import Protocol

import pytest

from tests.fakes import OWN_PID, FakeClock, FakeProcesses
from tmuxreap.core.model import ProcessId
from tmuxreap.core.ports import Clock, Processes, SignalSent
from tmuxreap.system.machine import RealClock
from tmuxreap.system.processes.linux import LinuxProcesses
from tmuxreap.system.processes.portable import PsutilProcesses

PROGRAM = """
import os, signal, sys, time
if "BECOME" in os.environ:
    os.setuid(int(os.environ["BECOME"]))
for number in map(int, sys.argv[1].split(",") if sys.argv[1] else ()):
    signal.signal(number, signal.SIG_IGN)
if len(sys.argv) > 2:
    keep = open(sys.argv[2])
print("ready", flush=True)
time.sleep(120)
"""
PLENTY_S = 60.0


class Arena(Protocol):
    @property
    def seam(self) -> Processes: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def own_pid(self) -> int: ...

    def start(
        self,
        *,
        ignores: tuple[Signals, ...] = (),
        environ: Mapping[str, str] | None = None,
        opens: str | None = None,
    ) -> ProcessId: ...


class FakeArena:
    own_pid = OWN_PID

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.seam = FakeProcesses(self.clock)
        self.own = self.seam.add("pytest", pid=OWN_PID)

    def start(
        self,
        *,
        ignores: tuple[Signals, ...] = (),
        environ: Mapping[str, str] | None = None,
        opens: str | None = None,
    ) -> ProcessId:
        return self.seam.add(
            "python",
            "-c",
            PROGRAM,
            parent=self.own,
            new_session=True,
            cwd="/",
            ignores=ignores,
            environ=environ,
            open_files=(opens,) if opens else (),
        )


class RealArena:
    def __init__(self, seam: Processes) -> None:
        self.seam = seam
        self.own_pid = os.getpid()  # of the worker, a fork of the process that imported us
        self.clock = RealClock()
        self.started: list[subprocess.Popen[bytes]] = []

    def start(
        self,
        *,
        ignores: tuple[Signals, ...] = (),
        environ: Mapping[str, str] | None = None,
        opens: str | None = None,
    ) -> ProcessId:
        arguments = [",".join(str(int(number)) for number in ignores), *([opens] if opens else [])]
        child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            cwd="/",
            env={**os.environ, **(environ or {})},
            start_new_session=True,
        )
        self.started.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        identity = self.seam.identify(child.pid)
        assert identity is not None
        return identity

    def clear(self) -> None:
        for child in self.started:
            child.kill()
            child.communicate()


REAL: dict[str, Callable[[], Processes]] = {
    "linux": LinuxProcesses,
    "linux-without-pidfds": lambda: LinuxProcesses(pidfds=False),
    "psutil": PsutilProcesses,
}


@pytest.fixture(params=["fake", *REAL])
def arena(request: pytest.FixtureRequest, no_leftovers: None) -> Iterator[Arena]:
    if request.param == "fake":
        yield FakeArena()
        return
    seam = REAL[request.param]()
    real = RealArena(seam)
    try:
        yield real
    finally:
        real.clear()
        if isinstance(seam, LinuxProcesses):
            seam.close()


def stranger(process: ProcessId) -> ProcessId:
    """Return the earlier process with that pid."""
    return ProcessId(process.pid, process.start - 1)


def test_a_look_shows_leaders_and_parents_of_processes(arena: Arena) -> None:
    process = arena.start()
    seen = arena.seam.look()[process.pid]
    assert (seen.id, seen.sid, seen.pgrp, seen.tty, seen.tpgid) == (
        process,
        process.pid,
        process.pid,
        0,
        -1,
    )
    assert seen.ppid == arena.own_pid
    assert seen.state in "SR"
    assert arena.seam.refresh(process) is not None


def test_a_process_has_its_words_environment_folder_and_files(
    arena: Arena, tmp_path_factory: pytest.TempPathFactory
) -> None:
    opened = tmp_path_factory.mktemp("open") / "a file"
    opened.touch()
    process = arena.start(environ={"MARK": "a=b"}, opens=str(opened))
    assert arena.seam.argv(process)[1:3] == ("-c", PROGRAM)
    environ = arena.seam.environ(process)
    assert environ is not None
    assert environ["MARK"] == "a=b"
    assert arena.seam.cwd(process) == "/"
    assert "python" in (arena.seam.argv_and_executable(process)[1] or "")
    assert str(opened) in arena.seam.open_files(process)
    assert arena.seam.open_files(process, str(opened)) == (str(opened),)
    assert arena.seam.open_files(process, "/no/such/") == ()
    told = arena.seam.input_of(process)
    assert told == (None if isinstance(arena.seam, PsutilProcesses) else "/dev/null")
    assert arena.seam.memory(process) > 100_000
    assert abs(arena.seam.started_epoch(process) - arena.clock.now()) < 5


def test_a_stranger_with_the_pid_is_left_alone(arena: Arena) -> None:
    process = arena.start(environ={"MARK": "x"})
    before = stranger(process)
    assert arena.seam.signal(before, SIGKILL) is SignalSent.GONE
    assert arena.seam.wait({before, process}, PLENTY_S) == {before}
    assert arena.seam.refresh(before) is None
    assert (arena.seam.argv(before), arena.seam.environ(before), arena.seam.cwd(before)) == (
        (),
        None,
        None,
    )
    assert (arena.seam.open_files(before), arena.seam.memory(before)) == ((), 0)
    assert arena.seam.identify(process.pid) == process


def test_a_signal_ends_a_process_and_the_wait_reports_it_at_once(arena: Arena) -> None:
    process = arena.start()
    assert arena.seam.signal(process, SIGTERM) is SignalSent.SENT
    began = arena.clock.monotonic()
    assert arena.seam.wait({process}, PLENTY_S) == {process}
    assert arena.clock.monotonic() - began < PLENTY_S / 2


def test_a_process_is_dead_before_its_parent_collects_it(arena: Arena) -> None:
    process = arena.start()
    arena.seam.signal(process, SIGKILL)
    arena.seam.wait({process}, PLENTY_S)
    assert process.pid not in arena.seam.look()
    assert arena.seam.identify(process.pid) is None
    assert arena.seam.refresh(process) is None
    assert arena.seam.environ(process) is None
    assert arena.seam.signal(process, SIGTERM) is SignalSent.GONE
    assert arena.seam.wait({process}, PLENTY_S) == {process}


def test_waiting_for_a_process_that_ignores_the_signal_times_out(arena: Arena) -> None:
    process = arena.start(ignores=(SIGTERM,))
    assert arena.seam.signal(process, SIGTERM) is SignalSent.SENT
    began = arena.clock.monotonic()
    assert arena.seam.wait({process}, 0.15) == set()
    assert arena.clock.monotonic() - began >= 0.149
    assert arena.seam.refresh(process) is not None
    arena.seam.signal(process, SIGKILL)
    assert arena.seam.wait({process}, PLENTY_S) == {process}


def test_a_wait_ends_with_the_first_process_that_exits(arena: Arena) -> None:
    first, second = arena.start(), arena.start()
    arena.seam.signal(first, SIGTERM)
    assert arena.seam.wait({first, second}, PLENTY_S) == {first}
    assert arena.seam.wait({second}, 0.0) == set()
    arena.seam.signal(second, SIGTERM)
    assert arena.seam.wait({second}, PLENTY_S) == {second}


def test_waiting_for_nothing_is_sleeping(arena: Arena) -> None:
    began = arena.clock.monotonic()
    assert arena.seam.wait(set(), 0.1) == set()
    assert arena.clock.monotonic() - began >= 0.1


def test_a_stopped_process_handles_nothing_until_it_continues(arena: Arena) -> None:
    process = arena.start()
    arena.seam.signal(process, SIGSTOP)
    while (seen := arena.seam.refresh(process)) and seen.state != "T":
        arena.seam.wait((), 0.01)
    arena.seam.signal(process, SIGTERM)
    assert arena.seam.wait({process}, 0.15) == set()
    arena.seam.signal(process, SIGCONT)
    assert arena.seam.wait({process}, PLENTY_S) == {process}


@pytest.mark.parametrize("pid", [-1, 0, 1, "own"])
def test_groups_init_and_the_caller_are_never_signalled(arena: Arena, pid: int | str) -> None:
    with pytest.raises(ValueError, match="never signalled"):
        arena.seam.signal(ProcessId(arena.own_pid if isinstance(pid, str) else pid, 0), SIGCONT)


def test_a_process_that_may_not_be_signalled_is_alive(arena: Arena) -> None:
    if isinstance(arena, FakeArena):
        process = arena.seam.add("sshd", denied=True)
        assert (arena.seam.signal(process, SIGCONT), arena.seam.wait({process}, 0.1)) == (
            SignalSent.DENIED,
            set(),
        )
        return
    if os.geteuid() != 0:
        pytest.skip("only root can start a process of another user")
    assert isinstance(arena, RealArena)
    process = arena.start(environ={"BECOME": "65533"})
    os.seteuid(65534)
    try:
        assert (arena.seam.signal(process, SIGCONT), arena.seam.wait({process}, 0.1)) == (
            SignalSent.DENIED,
            set(),
        )
        assert arena.seam.environ(process) is None
        assert process.pid in arena.seam.look()
    finally:
        os.seteuid(0)
