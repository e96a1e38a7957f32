"""Owns the processes of Linux: reads /proc and signals through pidfds. Never touches a pid whose start time it has not
compared, and never takes "not permitted" for "gone"."""

from __future__ import annotations

import errno
import math
import os
import resource
import select
import signal as signals
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple, TypeVar

from tmuxreap.model import Process, ProcessId
from tmuxreap.seams import Processes, Sent

T = TypeVar("T")

LOOK_AGAIN_S = 0.02  # only where the kernel cannot be asked to tell
LISTINGS = 50  # a chain of forks is missed by one: the parent is gone before it is read, the child came after
LONGEST_POLL_MS = 2**31 - 1  # 24 days; whoever waits longer polls again
READ_AT_ONCE = 1 << 16
DELETED = " (deleted)"


def real_processes() -> Processes:
    """Those of this machine."""
    if os.path.exists("/proc/self/stat"):  # noqa: PTH110 - pathlib is not worth its import here
        return LinuxProcesses()
    from tmuxreap.processes_psutil import PsutilProcesses

    return PsutilProcesses()


def boot_id() -> str:
    """Names this run of the machine, so that a recorded pid is never compared across a boot."""
    try:
        return _read("/proc/sys/kernel/random/boot_id").decode().strip()
    except OSError:
        from tmuxreap.processes_psutil import boot_id as without_proc

        return without_proc()


def host() -> str:
    return os.uname().nodename


class LinuxProcesses:
    def __init__(self, *, pidfds: bool = True) -> None:
        self._pidfds = pidfds and hasattr(os, "pidfd_open") and hasattr(signals, "pidfd_send_signal")
        self._watched: dict[ProcessId, int] = {}  # pidfds of what the last wait asked for
        self._pages: dict[ProcessId, int] = {}  # resident at the last look

    def close(self) -> None:
        self._unwatch(list(self._watched))

    def look(self) -> Mapping[int, Process]:
        found, read = dict[int, Process](), set[int]()
        self._pages.clear()
        for _ in range(LISTINGS):
            fresh = {int(name) for name in os.listdir("/proc") if name.isdigit()} - read  # noqa: PTH208
            if not fresh:
                break
            read |= fresh
            found.update((pid, process) for pid in sorted(fresh) if (process := self._seen(pid)) and not process.dead)
        return found

    def _seen(self, pid: int) -> Process | None:
        facts = _facts(pid)
        if facts is None:
            return None
        process = _process(pid, facts)
        self._pages[process.id] = int(facts.numbers[21])
        return process

    def identify(self, pid: int) -> ProcessId | None:
        found = _stat(pid)
        return found.id if found and not found.dead else None

    def again(self, process: ProcessId) -> Process | None:
        found = _stat(process.pid)
        return found if found and not found.dead and found.id == process else None

    def argv(self, process: ProcessId) -> tuple[str, ...]:
        return self._of(process, _argv) or ()

    def environ(self, process: ProcessId) -> Mapping[str, str] | None:
        return self._of(process, _environ)

    def called(self, process: ProcessId) -> tuple[tuple[str, ...], str | None]:
        return _called(f"/proc/{process.pid}")

    def carried(self, process: ProcessId) -> Mapping[str, str]:
        try:
            return _environ(f"/proc/{process.pid}")
        except OSError:
            return {}

    def executable(self, process: ProcessId) -> str | None:
        return self._of(process, lambda home: _linked(f"{home}/exe"))

    def cwd(self, process: ProcessId) -> str | None:
        return self._of(process, lambda home: _linked(f"{home}/cwd"))

    def open_files(self, process: ProcessId) -> tuple[str, ...]:
        return self._of(process, _open_files) or ()

    def memory(self, process: ProcessId) -> int:
        pages = self._pages.get(process) or self._of(process, _resident) or 0
        return pages * resource.getpagesize()

    def started_epoch(self, process: ProcessId) -> float:
        return _boot_epoch() + process.start / os.sysconf("SC_CLK_TCK")

    def signal(self, process: ProcessId, number: signals.Signals) -> Sent:
        if process.pid <= 1 or process.pid == os.getpid():
            raise ValueError(f"pid {process.pid} is never signalled")
        try:
            pidfd = self._pidfd(process.pid)
        except ProcessLookupError:
            return Sent.GONE
        try:
            return self._signal(process, number, pidfd)
        finally:
            if pidfd is not None:
                os.close(pidfd)

    def wait(self, processes: Collection[ProcessId], timeout_s: float) -> set[ProcessId]:
        deadline = time.monotonic() + max(timeout_s, 0.0)
        gone, unwatched = self._watch(set(processes))
        while True:
            left_s = 0.0 if gone else max(deadline - time.monotonic(), 0.0)
            gone |= self._ended(min(left_s, LOOK_AGAIN_S) if unwatched else left_s)
            gone |= {process for process in unwatched if _is_gone(process)}
            if gone or left_s == 0.0:
                self._unwatch(gone)
                return gone

    def _of(self, process: ProcessId, read: Callable[[str], T]) -> T | None:
        """Read first and compare then: what was read before the same process still stood there is its own."""
        try:
            value = read(f"/proc/{process.pid}")
        except OSError:
            return None
        return value if _is_still(process) else None

    def _signal(self, process: ProcessId, number: signals.Signals, pidfd: int | None) -> Sent:
        # The start time is compared after the pidfd was opened: from then on the pid cannot go to a stranger unseen.
        found = _stat(process.pid)
        if found is None:
            # Gone, or hidden from us (hidepid): without its start time it cannot be told from a stranger.
            return Sent.GONE if pidfd is None or _readable([pidfd], 0.0) else Sent.DENIED
        if found.dead or found.id != process:
            return Sent.GONE
        try:
            if pidfd is None:
                os.kill(process.pid, number)
            else:
                signals.pidfd_send_signal(pidfd, number)
        except ProcessLookupError:
            return Sent.GONE
        except PermissionError:
            return Sent.DENIED
        return Sent.SENT

    def _watch(self, asked: set[ProcessId]) -> tuple[set[ProcessId], set[ProcessId]]:
        """Open what is not open yet: those that are gone already, and those that must be looked at again and again."""
        self._unwatch(self._watched.keys() - asked)
        gone, unwatched = set(), set()
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
            found = _stat(process.pid)
            if found is not None and found.id != process:
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
        """None where there are none to be had: an old kernel, a sandbox that forbids them, no descriptor left."""
        if not self._pidfds:
            return None
        try:
            return os.pidfd_open(pid)
        except ProcessLookupError:
            raise
        except OSError as error:
            if error.errno == errno.EMFILE and _more_descriptors():
                return self._pidfd(pid)
            return None


class _Facts(NamedTuple):
    name: bytes
    numbers: list[bytes]  # from the third field on: the state first
    uid: int


def _stat(pid: int) -> Process | None:
    """One process, zombies too; None when it is gone or hidden."""
    facts = _facts(pid)
    return None if facts is None else _process(pid, facts)


def _facts(pid: int) -> _Facts | None:
    home = f"/proc/{pid}"
    try:
        text = _read(f"{home}/stat")
        uid = os.stat(home).st_uid  # noqa: PTH116
    except OSError:
        return None
    name, _, rest = text.partition(b"(")[2].rpartition(b")")  # a name may hold spaces and parentheses
    return _Facts(name, rest.split(None, 22), uid)


def _process(pid: int, facts: _Facts) -> Process:
    n = facts.numbers
    name = facts.name.decode("utf-8", "surrogateescape")
    identity = ProcessId(pid, int(n[19]))
    return Process(identity, int(n[1]), int(n[2]), int(n[3]), int(n[4]), int(n[5]), _state(n).decode(), name, facts.uid)


def _state(numbers: list[bytes]) -> bytes:
    """Of a zombie with other threads only the first thread has ended."""
    return b"S" if numbers[0] == b"Z" and int(numbers[17]) > 1 else numbers[0]


def _is_still(process: ProcessId) -> bool:
    """The same, and alive: `_stat` in short, since it is asked after each thing that is read of a process."""
    try:
        facts = _read(f"/proc/{process.pid}/stat").rpartition(b")")[2].split(None, 20)
    except OSError:
        return False
    return int(facts[19]) == process.start and _state(facts) not in (b"Z", b"X", b"x")


def _is_gone(process: ProcessId) -> bool:
    found = _stat(process.pid)
    if found is not None:
        return found.dead or found.id != process
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _readable(pidfds: Iterable[int], timeout_s: float) -> set[int]:
    poller = select.poll()
    for pidfd in pidfds:
        poller.register(pidfd, select.POLLIN)
    limit_ms = None if math.isinf(timeout_s) else min(math.ceil(timeout_s * 1000), LONGEST_POLL_MS)
    return {pidfd for pidfd, _ in poller.poll(limit_ms)}


def _more_descriptors() -> bool:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= hard:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return True


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # a third of the time of a file object, thousands of times
    try:
        found = b""
        while part := os.read(descriptor, READ_AT_ONCE):
            found += part
        return found
    finally:
        os.close(descriptor)


def _boot_epoch() -> int:
    return next(int(line.split()[1]) for line in _read("/proc/stat").splitlines() if line.startswith(b"btime "))


def _argv(home: str) -> tuple[str, ...]:
    words = _read(f"{home}/cmdline").rstrip(b"\0")
    return tuple(map(os.fsdecode, words.split(b"\0"))) if words else ()


def _called(home: str) -> tuple[tuple[str, ...], str | None]:
    try:
        program = _linked(f"{home}/exe")
    except OSError:  # another user's may be hidden, and its words not
        program = None
    try:
        return _argv(home), program
    except OSError:
        return (), program


def _environ(home: str) -> Mapping[str, str]:
    """Tolerant: a program may have written over it. The first of two settings counts, as for getenv."""
    entries = _read(f"{home}/environ").decode("utf-8", "surrogateescape").split("\0")
    settings = (entry.partition("=") for entry in reversed(entries))
    return {name: value for name, equals, value in settings if name and equals}


def _linked(path: str) -> str:
    """The path behind it, also when it was deleted: an agent that updated itself still runs from there."""
    target = os.readlink(path)  # noqa: PTH115
    return target if os.path.lexists(target) else target.removesuffix(DELETED)


def _open_files(home: str) -> tuple[str, ...]:
    paths = []
    for descriptor in os.listdir(f"{home}/fd"):  # noqa: PTH208
        try:
            paths.append(os.readlink(f"{home}/fd/{descriptor}"))  # noqa: PTH115
        except OSError:
            continue
    return tuple(paths)


def _resident(home: str) -> int:
    return int(_read(f"{home}/statm").split()[1])
