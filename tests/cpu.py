"""A bound on work, not on time: a loaded machine makes no difference."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Fail what takes more of the processor than that."""

    def late(_number: int, _frame: FrameType | None) -> None:
        pytest.fail(f"it took more than {seconds} s of CPU")

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
