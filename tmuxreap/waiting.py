"""Owner of the one wait of `watch`: for the death of processes, a change of one file, or a signal to end.

Nothing here wakes up by itself: the kernel tells. Where it cannot, the time-out is all there is."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import errno
import os
import select
import signal
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

from tmuxreap.model import ProcessId
from tmuxreap.seams import Processes
from tmuxreap.values import frozen

# From <sys/inotify.h>. The file itself is watched, not its folder: the ledger beside it changes all the time.
IN_ATTRIB, IN_CLOSE_WRITE, IN_DELETE_SELF, IN_MOVE_SELF = 0x4, 0x8, 0x400, 0x800
CHANGES = IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF


@frozen
class Woken:
    gone: frozenset[ProcessId]
    changed: bool  # the file
    ending: bool  # we were asked to end


class Waiter:
    def __init__(self, processes: Processes, file: Path) -> None:
        self._processes = processes
        self._file = file
        self._pidfds: dict[ProcessId, int] = {}
        self._inotify = _inotify()
        self._ending = False
        self._bell, self._rope = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._rope, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._end)

    def close(self) -> None:
        signal.set_wakeup_fd(-1)
        for descriptor in (*self._pidfds.values(), self._bell, self._rope, self._inotify):
            if descriptor >= 0:
                os.close(descriptor)
        self._pidfds.clear()

    def wait(self, processes: Iterable[ProcessId], timeout_s: float) -> Woken:
        """As soon as one of them is gone, the file changed or the time is up."""
        gone = self._follow(frozenset(processes))
        if gone or self._ending:
            return Woken(gone, changed=False, ending=self._ending)
        self._watch_file()
        poll = select.poll()
        for descriptor in (*self._pidfds.values(), self._bell, self._inotify):
            if descriptor >= 0:
                poll.register(descriptor, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(max(0.0, timeout_s) * 1000)}
        died = frozenset(process for process, descriptor in self._pidfds.items() if descriptor in ready)
        changed = self._inotify in ready
        for descriptor in (self._bell, self._inotify):
            if descriptor in ready:
                _drain(descriptor)
        return Woken(died, changed, self._ending)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._ending = True

    def _follow(self, processes: frozenset[ProcessId]) -> frozenset[ProcessId]:
        """Keep a descriptor of each of them and of no other; those that are gone already are told."""
        for process in self._pidfds.keys() - processes:
            os.close(self._pidfds.pop(process))
        return frozenset(process for process in processes - self._pidfds.keys() if not self._opened(process))

    def _opened(self, process: ProcessId) -> bool:
        try:
            descriptor = os.pidfd_open(process.pid)
        except ProcessLookupError:
            return False
        except (AttributeError, OSError):  # no pidfds, or no more descriptors: the full look will tell
            return True
        if self._processes.again(process) is None:  # compared after opening: a pid may be a stranger's by now
            os.close(descriptor)
            return False
        self._pidfds[process] = descriptor
        return True

    def _watch_file(self) -> None:
        """Again for each wait: a replaced file is another one. Adding it twice changes nothing."""
        if self._inotify >= 0:
            with contextlib.suppress(OSError):
                _libc().inotify_add_watch(self._inotify, os.fsencode(self._file), CHANGES)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _inotify() -> int:
    try:
        return int(_libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
    except (AttributeError, OSError):
        return -1


def _drain(descriptor: int) -> None:
    try:
        while os.read(descriptor, 65536):
            pass
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EWOULDBLOCK):
            raise
