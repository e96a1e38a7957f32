"""Owns the lock of a registry: filelock's, a flock on `<registry>.lock`, that the kernel frees when
its holder dies. Command line, Python and other programs take the same one.

Never a soft lock, which a killed holder leaves behind. Imported late: reading takes no lock."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from filelock import BaseFileLock, Timeout, UnixFileLock, lock_descriptor

from tmuxreap.core import faults
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.faults import Step
from tmuxreap.system.files import holder_name, lock_of

__all__ = ["BaseFileLock", "is_held", "lock", "locked"]

WAIT_S = 10.0
POLL_S = 0.005

_locks: dict[tuple[int, Path], BaseFileLock] = {}


class RegistryLock(UnixFileLock):
    """filelock's lock, which also takes a lock file that another user made and we may only read.

    filelock refuses such a file, because it opens it for writing; a flock needs no more than
    reading."""

    def _acquire(self) -> None:
        try:
            super()._acquire()
        except PermissionError:
            flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(self.lock_file, flags)
            if lock_descriptor(descriptor, blocking=False) and os.fstat(descriptor).st_nlink:
                self._context.lock_file_fd = descriptor
            else:
                os.close(descriptor)


def lock(path: Path, timeout: float) -> BaseFileLock:
    """Return the lock of the file at this resolved path; `timeout` applies to the calling
    thread."""
    made = _lock_of(path)
    made.timeout = timeout
    return made


def is_held(path: Path) -> bool:
    """Tell whether the calling thread holds the lock."""
    held = _locks.get((os.getpid(), path))
    return held is not None and held.is_locked


@contextlib.contextmanager
def locked(path: Path, step: Step = Step.LOCK) -> Iterator[None]:
    """Hold the lock; who holds it instead is named after `WAIT_S`."""
    try:
        held = _lock_of(path).acquire(WAIT_S)
    except Timeout:
        name = lock_of(path)
        reason = f"could not lock {name}: {holder_name(name)} held it for {WAIT_S:g} s"
        hint = f"see who holds it with: fuser -v {name}"
        raise Failure(Code.LOCK_TIMEOUT, reason, hint) from None
    with held:
        faults.at(step)
        yield


def _lock_of(path: Path) -> BaseFileLock:
    """Return the one object for this file, so that a thread can take the lock again while holding
    it. A forked process has its own, as it holds nothing of its parent."""
    key = (os.getpid(), path)
    if key not in _locks:
        made = RegistryLock(lock_of(path), poll_interval=POLL_S, fallback_to_soft=False)
        _locks.setdefault(key, made)
    return _locks[key]
