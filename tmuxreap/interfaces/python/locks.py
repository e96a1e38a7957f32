"""Owns filelock: the lock of a registry, for workflows that write the file themselves.

It is the lock that every command takes (flock on `<registry>.lock`). Each file has one object, so
that a thread can take it again while holding it. Imported on first use."""

from __future__ import annotations

import threading
from pathlib import Path

import filelock
from filelock import BaseFileLock

from tmuxreap.system.files import lock_of

__all__ = ["BaseFileLock", "is_held", "lock"]

_locks: dict[Path, BaseFileLock] = {}
_making = threading.Lock()


def lock(registry: Path, timeout: float) -> BaseFileLock:
    """Return the lock of this file; `timeout` applies to the calling thread."""
    with _making:
        if registry not in _locks:
            _locks[registry] = filelock.UnixFileLock(lock_of(registry))
        file_lock = _locks[registry]
    file_lock.timeout = timeout
    return file_lock


def is_held(registry: Path) -> bool:
    """Tell whether the calling thread holds the lock."""
    return registry in _locks and _locks[registry].is_locked
