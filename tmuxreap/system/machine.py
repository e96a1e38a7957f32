"""Owns the real clock. Never sleeps: waiting is what processes are for."""

from __future__ import annotations

import time

# Linux has a clock for it; where there is none the monotonic one of POSIX goes on during a sleep
# (macOS).
BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class RealClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def uptime(self) -> float:
        return time.clock_gettime(BOOT_CLOCK)
