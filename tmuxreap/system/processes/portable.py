"""Owns psutil: what processes use, for `show` and `doctor`; and processes where there is no /proc
(macOS), which on Linux only the contract tests use.

Weaker than Linux: it never sees another user's environment, and has a race between the identity
check and the signal."""

from __future__ import annotations

import contextlib
import os
import signal as signals
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeVar

import psutil

from tmuxreap.core.model import Process, ProcessId, Usage
from tmuxreap.core.ports import SignalSent
from tmuxreap.system.processes import procfs

T = TypeVar("T")

LOOK_AGAIN_S = 0.02
PS_TIMEOUT_S = 2.0
MICROSECONDS = 1_000_000

ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
STATES = {
    psutil.STATUS_RUNNING: "R",
    psutil.STATUS_DISK_SLEEP: "D",
    psutil.STATUS_STOPPED: "T",
    psutil.STATUS_TRACING_STOP: "t",
    psutil.STATUS_ZOMBIE: "Z",
    psutil.STATUS_DEAD: "X",
}


def boot_id() -> str:
    return _printed("sysctl", "-n", "kern.bootsessionuuid").strip()


class PsutilProcesses:
    def look(self) -> Mapping[int, Process]:
        foreground = _foreground_groups()
        processes = (_process(handle, foreground) for handle in psutil.process_iter())
        found = {}
        for process in processes:
            if process and not process.dead:
                found[process.pid] = process
        return found

    def identify(self, pid: int) -> ProcessId | None:
        found = _handle(pid)
        return found[1] if found else None

    def refresh(self, process: ProcessId) -> Process | None:
        found = _handle(process.pid)
        if found and found[1] == process:
            return _process(found[0], _foreground_groups())
        return None

    def argv(self, process: ProcessId) -> tuple[str, ...]:
        return tuple(self._read_own(process, lambda handle: handle.cmdline()) or ())

    def environ(self, process: ProcessId) -> Mapping[str, str] | None:
        return self._read_own(process, lambda handle: handle.environ())

    def argv_and_executable(self, process: ProcessId) -> tuple[tuple[str, ...], str | None]:
        program = self._read_own(process, lambda handle: handle.exe()) or None
        return self.argv(process), program

    def tmux_variables(self, process: ProcessId) -> Mapping[str, str]:
        return self.environ(process) or {}

    def cwd(self, process: ProcessId) -> str | None:
        return self._read_own(process, lambda handle: handle.cwd()) or None

    def input_of(self, process: ProcessId) -> str | None:
        """Return None: which of its files is its input is not told."""
        return None

    def open_files(self, process: ProcessId, begin: str = "") -> tuple[str, ...]:
        files = self._read_own(process, lambda handle: handle.open_files()) or ()
        return tuple(file.path for file in files if file.path.startswith(begin))

    def clients(self, process: ProcessId) -> Collection[int] | None:
        """Return None: the other ends of connections are not told."""
        return None

    def listens(self, process: ProcessId) -> Collection[tuple[str, int]]:
        """Return none: that nobody else listens there is not told."""
        return ()

    def scope(self, process: ProcessId) -> str | None:
        """Return None: there are no control groups."""
        return None

    def members(self, scope: str) -> Collection[int]:
        return ()

    def usage(self, processes: Collection[ProcessId]) -> Mapping[ProcessId, Usage]:
        used = usage_of(process.pid for process in processes)
        alive = (it for it in processes if it.pid in used and self.identify(it.pid) == it)
        return {process: used[process.pid] for process in alive}

    def memory(self, process: ProcessId) -> int:
        return self._read_own(process, lambda handle: int(handle.memory_info().rss)) or 0

    def started_epoch(self, process: ProcessId) -> float:
        return process.start / MICROSECONDS

    def moment(self) -> float:
        return time.time()

    def is_newer(self, terminal: str, moment: float) -> bool:
        return procfs.is_newer(terminal, moment)

    def signal(self, process: ProcessId, number: signals.Signals) -> SignalSent:
        if process.pid <= 1 or process.pid == os.getpid():
            raise ValueError(f"pid {process.pid} is never signalled")
        if _is_gone(process):
            return SignalSent.GONE
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            return SignalSent.GONE
        except PermissionError:
            return SignalSent.DENIED
        return SignalSent.SENT

    def wait(self, processes: Collection[ProcessId], timeout_s: float) -> set[ProcessId]:
        deadline = time.monotonic() + max(timeout_s, 0.0)
        while True:
            gone = {process for process in processes if _is_gone(process)}
            left_s = deadline - time.monotonic()
            if gone or left_s <= 0:
                return gone
            time.sleep(min(left_s, LOOK_AGAIN_S) if processes else left_s)

    def close(self) -> None:
        """Do nothing: nothing is kept open."""

    def _read_own(self, process: ProcessId, read: Callable[[psutil.Process], T]) -> T | None:
        found = _handle(process.pid)
        if found is None or found[1] != process:
            return None
        try:
            return read(found[0])
        except (psutil.Error, OSError):
            return None


def _handle(pid: int) -> tuple[psutil.Process, ProcessId] | None:
    try:
        handle = psutil.Process(pid)
        if handle.status() in ENDED:
            return None
        return handle, _identity(handle)
    except (psutil.Error, ValueError):
        return None


def _identity(handle: psutil.Process) -> ProcessId:
    return ProcessId(handle.pid, round(handle.create_time() * MICROSECONDS))


def _is_gone(process: ProcessId) -> bool:
    try:
        handle = psutil.Process(process.pid)
        return _identity(handle) != process or handle.status() in ENDED
    except (psutil.NoSuchProcess, ValueError):
        return True
    except psutil.Error:
        return False  # alive, but not readable


def _process(handle: psutil.Process, foreground: Mapping[int, int]) -> Process | None:
    try:
        with handle.oneshot():
            return Process(
                id=_identity(handle),
                ppid=handle.ppid(),
                pgrp=os.getpgid(handle.pid),
                sid=os.getsid(handle.pid),
                tty=_device(handle),
                tpgid=foreground.get(handle.pid, -1),
                state=STATES.get(handle.status(), "S"),
                comm=handle.name(),
            )
    except (psutil.Error, OSError):
        return None


def _device(handle: psutil.Process) -> int:
    path = handle.terminal()
    return os.stat(path).st_rdev if path else 0  # noqa: PTH116


def _foreground_groups() -> dict[int, int]:
    """Return each process's foreground group, from ps: psutil does not have it."""
    rows = (line.split() for line in _printed("ps", "-A", "-o", "pid=,tpgid=").splitlines())
    return {int(pid): int(group) or -1 for pid, group in rows}


def _printed(*command: str) -> str:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=PS_TIMEOUT_S, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


SAMPLE_S = 0.1  # the kernel counts in hundredths of a second


def usage_of(pids: Iterable[int]) -> dict[int, Usage]:
    """Return what each of these uses now; what is gone or not readable is missing."""
    handles: dict[int, psutil.Process] = {}
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            handles[pid] = psutil.Process(pid)
            handles[pid].cpu_percent()  # the beginning of the sample
    if not handles:
        return {}
    time.sleep(SAMPLE_S)
    used: dict[int, Usage] = {}
    for pid, handle in handles.items():
        with contextlib.suppress(psutil.Error):
            used[pid] = _usage(handle)
    return used


def _usage(handle: psutil.Process) -> Usage:
    percent = handle.cpu_percent()
    times = handle.cpu_times()
    return Usage(round(times.user + times.system, 2), percent, _ports(handle))


def _ports(handle: psutil.Process) -> tuple[int, ...]:
    """Return the TCP ports that it listens on; none where they may not be read."""
    try:
        connections = handle.net_connections("tcp")
    except psutil.AccessDenied:
        return ()
    return tuple(sorted({it.laddr.port for it in connections if it.status == psutil.CONN_LISTEN}))
