"""Owner of filelock: the lock of a registry for workflows that write the file themselves.

It is the very lock that every command takes (flock on `<registry>.lock`). One object stands for
each file, so that a thread may take it again while it holds it. Loaded when it is asked for."""

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
    """Give the one lock of this file; `timeout` holds for the calling thread."""
    with _making:
        if registry not in _locks:
            _locks[registry] = filelock.UnixFileLock(lock_of(registry))
        found = _locks[registry]
    found.timeout = timeout
    return found


def is_held(registry: Path) -> bool:
    """Whether the calling thread holds it."""
    return registry in _locks and _locks[registry].is_locked
