"""Defers SIGINT, SIGTERM and SIGHUP during a critical section. Never decides what they mean."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


_left_alone: list[None] = []  # one item per call in progress from a host program's main thread


@contextlib.contextmanager
def left_alone() -> Iterator[None]:
    """Leave all signal handlers alone in here: they belong to the program that imports us."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _left_alone.append(None)
    try:
        yield
    finally:
        _left_alone.pop()


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Defer interrupts for some milliseconds and raise them afterwards.

    Replaces handlers rather than blocking signals: a mask applies to one thread, while a signal to
    the process may reach any; and a tmux server started meanwhile would inherit the mask."""
    # Python runs handlers in the main thread only.
    if _left_alone or threading.current_thread() is not threading.main_thread():
        yield
        return
    deferred: list[int] = []

    def later(number: int, frame: FrameType | None) -> None:
        deferred.append(number)

    handlers = {number: signal.getsignal(number) for number in INTERRUPTS}
    handled = {
        number: handler
        for number, handler in handlers.items()
        if handler not in (signal.SIG_IGN, None)
    }
    try:
        for number in handled:
            signal.signal(number, later)
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for signum in deferred:
            signal.raise_signal(signum)
