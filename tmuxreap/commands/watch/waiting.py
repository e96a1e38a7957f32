"""Owns the wait of `watch`: for deaths of processes, a change of one file, a timeout, or a signal
to end; and the kernel's word on how a process ended.

Never polls: the kernel wakes it up. Where that is not supported, only the timeout does."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import errno
import fcntl
import os
import select
import signal
import struct
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from types import FrameType

from tmuxreap.core.model import ProcessId
from tmuxreap.core.ports import Processes
from tmuxreap.core.values import frozen
from tmuxreap.system.processes import procfs

# From <sys/inotify.h>. The file is watched rather than its folder, where the ledger changes all the
# time; the folder is watched only while the file is missing.
IN_MODIFY = 0x2
IN_ATTRIB = 0x4
IN_CLOSE_WRITE = 0x8
IN_DELETE_SELF = 0x400
IN_MOVE_SELF = 0x800
CHANGES = IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF
COMING = 0x80 | 0x100  # IN_MOVED_TO | IN_CREATE
CLOCK_BOOTTIME = 7  # counts suspended time: what is due is due when the machine wakes up
PIDFD_GET_INFO = 0xC040FF0B
PIDFD_INFO_EXIT = 1 << 3  # Linux 6.15, after the parent's wait
VMSTAT = Path("/proc/vmstat")


@frozen
class Woken:
    gone: frozenset[ProcessId]
    changed: bool  # the file has changed
    ending: bool  # we were asked to end


class Waiter:
    def __init__(
        self, processes: Processes, file: Path, *, signals: bool = True, more: Sequence[Path] = ()
    ) -> None:
        """Without `signals`, signal handlers are left alone and `ring` ends the wait. `more`: files
        of which every write is reported too."""
        self._processes = processes
        self._file = file
        self._more = more
        self._pidfds: dict[ProcessId, int] = {}
        self._inotify = _descriptor_of("inotify_init1")
        self._folder = -1
        self._timer = _descriptor_of("timerfd_create", CLOCK_BOOTTIME)
        self._ending = False
        self._out_of_memory = out_of_memory_kills()
        self._bell, self._rope = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._signals = signals
        if signals:
            signal.set_wakeup_fd(self._rope, warn_on_full_buffer=False)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, self._end)

    def ring(self) -> None:
        """End this wait and all later ones; callable from any thread."""
        self._ending = True
        with contextlib.suppress(OSError):
            os.write(self._rope, b"!")

    def close(self) -> None:
        if self._signals:
            signal.set_wakeup_fd(-1)
        rope = self._rope
        self._rope = -1  # a later `ring` must not write to a reused descriptor
        for descriptor in (*self._pidfds.values(), self._bell, rope, self._inotify, self._timer):
            if descriptor >= 0:
                os.close(descriptor)
        self._pidfds.clear()

    def arm(self) -> None:
        """Watch the files; call it before reading them, so that later writes are reported. Call it
        each time: a replaced file needs a new watch, and adding one twice is harmless."""
        if self._inotify < 0:
            return
        for path in self._more:
            _add_watch(self._inotify, path, CHANGES | IN_MODIFY)
        exists = _add_watch(self._inotify, self._file, CHANGES) >= 0
        if not exists and self._folder < 0:
            self._folder = _add_watch(self._inotify, self._file.parent, COMING)
            _add_watch(self._inotify, self._file, CHANGES)  # it may have appeared meanwhile
        elif exists and self._folder >= 0:
            _libc().inotify_rm_watch(self._inotify, self._folder)
            self._folder = -1

    def wait(self, processes: Iterable[ProcessId], timeout_s: float) -> Woken:
        """Wait until one of the processes is gone, the file has changed, or the time is up."""
        gone = self._follow(frozenset(processes))
        if gone or self._ending:
            return Woken(gone, changed=False, ending=self._ending)
        poll = select.poll()
        for descriptor in (*self._pidfds.values(), self._bell, self._inotify, self._timer):
            if descriptor >= 0:
                poll.register(descriptor, select.POLLIN)
        timeout_s = max(0.0, timeout_s)
        timed = self._timer >= 0 and timeout_s > 0 and _set_timer(self._timer, timeout_s)
        ready = {descriptor for descriptor, _ in poll.poll(None if timed else timeout_s * 1000)}
        died = frozenset(
            process for process, descriptor in self._pidfds.items() if descriptor in ready
        )
        for descriptor in (self._bell, self._inotify, self._timer):
            if descriptor in ready:
                _drain(descriptor)
        return Woken(died, self._inotify in ready, self._ending)

    def how_ended(self, process: ProcessId) -> str | None:
        """Tell how a process that was just waited for ended; None if the kernel does not say."""
        pidfd = self._pidfds.get(process, -1)
        status = _exit_status(pidfd)
        if status is None:  # its parent has not reaped it yet, and may not for long
            status = procfs.exit_status(process)
        if status is None:  # it has just now
            status = _exit_status(pidfd)
        if status is None:
            return None
        if not os.WIFSIGNALED(status):
            return f"exit status {os.WEXITSTATUS(status)}"
        number = os.WTERMSIG(status)
        if number in set(signal.Signals):
            name = signal.Signals(number).name
        else:
            name = f"signal {number}"
        starved = number == signal.SIGKILL and out_of_memory_kills() > self._out_of_memory
        return f"{name}; the OOM killer ran" if starved else name

    def remember_memory(self) -> None:
        """Forget earlier kills by the OOM killer: they are not the cause of later deaths."""
        self._out_of_memory = out_of_memory_kills()

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._ending = True

    def _follow(self, processes: frozenset[ProcessId]) -> frozenset[ProcessId]:
        """Hold a pidfd for exactly these processes; return those that are gone already."""
        for process in self._pidfds.keys() - processes:
            os.close(self._pidfds.pop(process))
        return frozenset(
            process for process in processes - self._pidfds.keys() if not self._opened(process)
        )

    def _opened(self, process: ProcessId) -> bool:
        try:
            descriptor = os.pidfd_open(process.pid)
        except ProcessLookupError:
            return False
        # no pidfd support, or no descriptor left: the full look will find out
        except (AttributeError, OSError):
            return True
        # compared after opening: the pid may have been reused
        if self._processes.refresh(process) is None:
            os.close(descriptor)
            return False
        self._pidfds[process] = descriptor
        return True


def out_of_memory_kills() -> int:
    """Return the number of OOM kills since the boot, over all memory groups."""
    with contextlib.suppress(OSError, ValueError):
        for line in VMSTAT.read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _exit_status(pidfd: int) -> int | None:
    """Return the wait status, as the parent would get it."""
    if pidfd < 0:
        return None
    info = bytearray(64)  # struct pidfd_info: the mask comes first, the status last
    struct.pack_into("Q", info, 0, PIDFD_INFO_EXIT)
    try:
        fcntl.ioctl(pidfd, PIDFD_GET_INFO, info)
    except OSError:
        return None
    answered = struct.unpack_from("Q", info, 0)[0] & PIDFD_INFO_EXIT
    if answered:
        return int(struct.unpack_from("i", info, 60)[0])
    return None


@cache  # each time it is loaded, it makes a new class
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _descriptor_of(function: str, *words: int) -> int:
    """Return the descriptor that this libc function opens; -1 where it does not exist."""
    try:
        return int(getattr(_libc(), function)(*words, os.O_NONBLOCK | os.O_CLOEXEC))
    except (AttributeError, OSError):
        return -1


def _add_watch(inotify: int, path: Path, events: int) -> int:
    try:
        return int(_libc().inotify_add_watch(inotify, os.fsencode(path), events))
    except OSError:
        return -1


def _set_timer(timer: int, seconds: float) -> bool:
    whole, rest = divmod(max(1, round(seconds * 1_000_000_000)), 1_000_000_000)
    spec = struct.pack("qqqq", 0, 0, whole, rest)  # struct itimerspec: no interval, then the time
    return int(_libc().timerfd_settime(timer, 0, spec, None)) == 0


def _drain(descriptor: int) -> None:
    try:
        while os.read(descriptor, 65536):
            pass
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EWOULDBLOCK):
            raise
