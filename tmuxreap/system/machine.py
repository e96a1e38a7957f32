"""Owns the real clock. Never sleeps: the processes port does the waiting."""

from __future__ import annotations

import time

# Linux has its own clock for it; on macOS the monotonic clock goes on while the machine sleeps.
BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class RealClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def uptime(self) -> float:
        return time.clock_gettime(BOOT_CLOCK)
