"""A limit on CPU time, not elapsed time: independent of machine load."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Fail the test if it uses more CPU time than that."""

    def late(_number: int, _frame: FrameType | None) -> None:
        pytest.fail(f"it took more than {seconds} s of CPU")

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
