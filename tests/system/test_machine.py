"""The real clock: three clocks, each with its own rule."""

from __future__ import annotations

import time

from tmuxreap.system.machine import RealClock


def test_the_clock_of_records_is_the_one_on_the_wall() -> None:
    before = time.time()
    assert before <= RealClock().now() <= time.time()


def test_monotonic_clocks_never_go_back_and_one_counts_sleep() -> None:
    clock = RealClock()
    first, second = clock.monotonic(), clock.uptime()
    assert clock.monotonic() >= first
    assert clock.uptime() >= second
    assert clock.uptime() >= clock.monotonic() - 0.5
