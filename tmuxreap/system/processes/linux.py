"""Owns the processes of Linux: reads /proc and signals through pidfds. Never touches a pid whose
start time it has not compared, and never mistakes "not permitted" for "gone"."""

from __future__ import annotations

import errno
import math
import os
import resource
import select
import signal as signals
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeVar

from tmuxreap.core.model import Process, ProcessId, Usage
from tmuxreap.core.ports import Processes, SignalSent
from tmuxreap.system.processes import procfs

T = TypeVar("T")

LOOK_AGAIN_S = 0.02  # polling interval where the kernel cannot notify us
# A single listing misses a fork: the parent exits before it is read, the child comes after.
LISTINGS = 50
NOTHING: tuple[bytes, Process | None] = (b"", None)
LONGEST_POLL_MS = 2**31 - 1  # 24 days; longer waits poll again


def real_processes() -> Processes:
    """Return the implementation for this machine."""
    if os.path.exists("/proc/self/stat"):  # noqa: PTH110 - pathlib is not worth its import here
        return LinuxProcesses()
    from tmuxreap.system.processes.portable import PsutilProcesses

    return PsutilProcesses()


def boot_id() -> str:
    """Return this boot's ID, so that a recorded pid is never compared across a reboot."""
    try:
        return procfs.boot_id()
    except OSError:
        from tmuxreap.system.processes.portable import boot_id as without_proc

        return without_proc()


def host() -> str:
    return os.uname().nodename


class LinuxProcesses:
    def __init__(self, *, pidfds: bool = True) -> None:
        has_pidfds = hasattr(os, "pidfd_open") and hasattr(signals, "pidfd_send_signal")
        self._pidfds = pidfds and has_pidfds
        self._watched: dict[ProcessId, int] = {}  # pidfds of the processes that `wait` was given
        # What each stat said at the last look, and what it means: most are the same at the next.
        self._stats: dict[int, tuple[bytes, Process]] = {}

    def close(self) -> None:
        self._unwatch(list(self._watched))

    def look(self) -> Mapping[int, Process]:
        processes: dict[int, Process] = {}
        read: set[int] = set()
        before = self._stats
        self._stats = {}
        for _ in range(LISTINGS):
            fresh = {int(name) for name in os.listdir("/proc") if name.isdigit()} - read  # noqa: PTH208
            if not fresh:
                break
            read |= fresh
            for pid in sorted(fresh):
                text = procfs.stat_of(pid)
                if text is None:
                    continue
                said, process = before.get(pid, NOTHING)
                if process is None or said != text:
                    process = process_of(pid, *procfs.facts_in(text))
                self._stats[pid] = text, process
                if not process.dead:
                    processes[pid] = process
        return processes

    def identify(self, pid: int) -> ProcessId | None:
        process = stat(pid)
        return process.id if process and not process.dead else None

    def refresh(self, process: ProcessId) -> Process | None:
        current = stat(process.pid)
        if current and not current.dead and current.id == process:
            return current
        return None

    def argv(self, process: ProcessId) -> tuple[str, ...]:
        return self._read_own(process, procfs.argv_in) or ()

    def environ(self, process: ProcessId) -> Mapping[str, str] | None:
        return self._read_own(process, procfs.environ_in)

    def argv_and_executable(self, process: ProcessId) -> tuple[tuple[str, ...], str | None]:
        return procfs.argv_and_executable_in(f"/proc/{process.pid}")

    def tmux_variables(self, process: ProcessId) -> Mapping[str, str]:
        try:
            return procfs.environ_in(f"/proc/{process.pid}", "TMUX")
        except OSError:
            return {}

    def cwd(self, process: ProcessId) -> str | None:
        return self._read_own(process, lambda home: procfs.linked(f"{home}/cwd"))

    def input_of(self, process: ProcessId) -> str | None:
        return self._read_own(process, lambda home: procfs.linked(f"{home}/fd/0"))

    def open_files(self, process: ProcessId, begin: str = "") -> tuple[str, ...]:
        try:
            paths = procfs.open_files_in(f"/proc/{process.pid}", begin)
        except OSError:
            return ()
        # Few processes have such a file: of the others, nothing was read that needs an owner.
        return paths if paths and procfs.is_alive(process) else ()

    def clients(self, process: ProcessId) -> Collection[int] | None:
        sockets = self._sockets(process)
        ends = procfs.client_ends(sockets) if sockets else None
        if ends is None:
            return None
        if not ends:
            return ()
        holders = {}
        for it in self.look().values():
            if held := self._sockets(it.id) & ends:
                holders[it.pid] = held
        told = frozenset[str]().union(*holders.values())
        return None if ends - told else frozenset(holders)

    def listens(self, process: ProcessId) -> Collection[tuple[str, int]]:
        sockets = self._sockets(process)
        is_ours = self._read_own(process, procfs.owner_of) == os.getuid()
        return procfs.addresses_of(sockets) if sockets and is_ours else ()

    def _sockets(self, process: ProcessId) -> frozenset[str]:
        """Return the inodes of its open sockets."""
        paths = self.open_files(process, procfs.SOCKET)
        return frozenset(path[len(procfs.SOCKET) : -1] for path in paths)

    def scope(self, process: ProcessId) -> str | None:
        return self._read_own(process, procfs.scope_in)

    def members(self, scope: str) -> Collection[int]:
        return procfs.members_in(scope)

    def memory(self, process: ProcessId) -> int:
        pages = self._pages(process) or self._read_own(process, procfs.resident_pages) or 0
        return pages * resource.getpagesize()

    def usage(self, processes: Collection[ProcessId]) -> Mapping[ProcessId, Usage]:
        from tmuxreap.system.processes.portable import (
            usage_of,  # late: psutil, for `show` and `doctor`
        )

        used = usage_of(process.pid for process in processes)
        alive = (it for it in processes if it.pid in used and procfs.is_alive(it))
        return {process: used[process.pid] for process in alive}

    def _pages(self, process: ProcessId) -> int:
        """Return its resident pages at the last look; 0 when it was not in it."""
        text, seen = self._stats.get(process.pid, NOTHING)
        if seen is None or seen.id != process:
            return 0
        return int(procfs.facts_in(text)[1][procfs.PAGES])

    def started_epoch(self, process: ProcessId) -> float:
        return procfs.boot_epoch() + process.start / os.sysconf("SC_CLK_TCK")

    def moment(self) -> float:
        return time.time()

    def is_newer(self, terminal: str, moment: float) -> bool:
        return procfs.is_newer(terminal, moment)

    def signal(self, process: ProcessId, number: signals.Signals) -> SignalSent:
        if process.pid <= 1 or process.pid == os.getpid():
            raise ValueError(f"pid {process.pid} is never signalled")
        try:
            pidfd = self._pidfd(process.pid)
        except ProcessLookupError:
            return SignalSent.GONE
        try:
            return self._signal(process, number, pidfd)
        finally:
            if pidfd is not None:
                os.close(pidfd)

    def wait(self, processes: Collection[ProcessId], timeout_s: float) -> set[ProcessId]:
        deadline = time.monotonic() + max(timeout_s, 0.0)
        gone, unwatched = self._watch(set(processes))
        while True:
            if gone:
                left_s = 0.0
            else:
                left_s = max(deadline - time.monotonic(), 0.0)
            gone |= self._ended(min(left_s, LOOK_AGAIN_S) if unwatched else left_s)
            gone |= {process for process in unwatched if procfs.is_gone(process)}
            if gone or left_s == 0.0:
                self._unwatch(gone)
                return gone

    def _read_own(self, process: ProcessId, read: Callable[[str], T]) -> T | None:
        """Read, then check that the pid still belongs to the process: what was read is its own."""
        try:
            value = read(f"/proc/{process.pid}")
        except OSError:
            return None
        return value if procfs.is_alive(process) else None

    def _signal(self, process: ProcessId, number: signals.Signals, pidfd: int | None) -> SignalSent:
        # The start time is compared after opening the pidfd: from then on, the signal cannot hit
        # another process by pid reuse.
        current = stat(process.pid)
        if current is None:
            # Gone, or hidden from us (hidepid): without its start time, pid reuse cannot be ruled
            # out.
            if pidfd is None or _readable([pidfd], 0.0):
                return SignalSent.GONE
            return SignalSent.DENIED
        if current.dead or current.id != process:
            return SignalSent.GONE
        try:
            if pidfd is None:
                os.kill(process.pid, number)
            else:
                signals.pidfd_send_signal(pidfd, number)
        except ProcessLookupError:
            return SignalSent.GONE
        except PermissionError:
            return SignalSent.DENIED
        return SignalSent.SENT

    def _watch(self, asked: set[ProcessId]) -> tuple[set[ProcessId], set[ProcessId]]:
        """Open the missing pidfds; return the processes that are gone, and those that have no pidfd
        and must be polled."""
        self._unwatch(self._watched.keys() - asked)
        gone = set()
        unwatched = set()
        for process in asked - self._watched.keys():
            try:
                pidfd = self._pidfd(process.pid)
            except ProcessLookupError:
                gone.add(process)
                continue
            if pidfd is None:
                unwatched.add(process)
                continue
            self._watched[process] = pidfd
            current = stat(process.pid)
            if current is not None and current.id != process:
                gone.add(process)
        return gone, unwatched

    def _unwatch(self, processes: Iterable[ProcessId]) -> None:
        for process in processes:
            pidfd = self._watched.pop(process, None)
            if pidfd is not None:
                os.close(pidfd)

    def _ended(self, timeout_s: float) -> set[ProcessId]:
        ready = _readable(self._watched.values(), timeout_s)
        return {process for process, pidfd in self._watched.items() if pidfd in ready}

    def _pidfd(self, pid: int) -> int | None:
        """Open a pidfd; return None where that fails: an old kernel, a sandbox, no descriptor
        left."""
        if not self._pidfds:
            return None
        try:
            return os.pidfd_open(pid)
        except ProcessLookupError:
            raise
        except OSError as error:
            is_full = error.errno == errno.EMFILE and _more_descriptors()
            return self._pidfd(pid) if is_full else None


def _readable(pidfds: Iterable[int], timeout_s: float) -> set[int]:
    poller = select.poll()
    for pidfd in pidfds:
        poller.register(pidfd, select.POLLIN)
    if math.isinf(timeout_s):
        limit_ms = None
    else:
        limit_ms = min(math.ceil(timeout_s * 1000), LONGEST_POLL_MS)
    return {pidfd for pidfd, _ in poller.poll(limit_ms)}


def _more_descriptors() -> bool:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= hard:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return True


def stat(pid: int) -> Process | None:
    """Return one process, even a zombie; None when it is gone or hidden."""
    facts = procfs.facts_of(pid)
    return None if facts is None else process_of(pid, *facts)


def process_of(pid: int, name: bytes, numbers: list[bytes]) -> Process:
    ppid, pgrp, sid, tty, tpgid = map(int, numbers[procfs.PPID : procfs.PPID + 5])
    identity = ProcessId(pid, int(numbers[procfs.START]))
    state = procfs.state_in(numbers).decode()
    called = name.decode("utf-8", "surrogateescape")
    return Process(identity, ppid, pgrp, sid, tty, tpgid, state, called)
