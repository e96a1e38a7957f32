"""Owns the real clock. Never sleeps: waiting is what processes are for."""

from __future__ import annotations

import time


class RealClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()
