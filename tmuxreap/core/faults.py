"""Named steps where a test can inject a failure: a crash, a full disk, an I/O error.

Never armed outside of tests; an unarmed step costs one comparison with None."""

from __future__ import annotations

import errno
import os
import signal
from enum import Enum


class Step(Enum):
    """Every point between the first look and the last fsync where the program may be killed."""

    LOCK = "lock"
    READ = "read"
    INTENT = "intent"
    CREATED = "created"
    CONFIRMED = "confirmed"
    KEYS = "keys"
    HANGUP = "hangup"
    KILL = "kill"
    PROVEN = "proven"
    PURGED = "purged"
    HELD = "held"
    WRITE_LOCK = "write_lock"
    TEMP_CREATED = "temp_created"
    TEMP_WRITTEN = "temp_written"
    TEMP_SYNCED = "temp_synced"
    REPLACED = "replaced"
    FOLDER_SYNCED = "folder_synced"
    LEDGER = "ledger"
    INTENT_CLOSED = "intent_closed"


_armed: dict[str, str] | None = None
_passed: dict[str, int] = {}


def arm(spec: str) -> None:
    """Arm steps as in `step=fault[,step=fault]`; a fault is `kill` or an error name (ENOSPC).
    `step@2` is armed when the step is passed for the second time."""
    global _armed
    _armed = None
    _passed.clear()
    if spec:
        _armed = dict(part.split("=", 1) for part in spec.split(","))


def at(step: Step) -> None:
    if _armed is None:
        return
    passed = _passed.get(step.value, 0) + 1
    _passed[step.value] = passed
    fault = _armed.get(step.value) or _armed.get(f"{step.value}@{passed}")
    if fault is not None:
        _fail(fault)


def _fail(fault: str) -> None:
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    number: int = getattr(errno, fault)
    raise OSError(number, os.strerror(number))
