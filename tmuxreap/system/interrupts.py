"""Hears SIGINT, SIGTERM and SIGHUP later, where they would tear something in two.

It never decides what they mean."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


_left_alone: list[
    None
] = []  # how many calls of a stranger's program are under way in its main thread


@contextlib.contextmanager
def left_alone() -> Iterator[None]:
    """In a program that is not ours signals are its own: no handler is touched in here."""
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
    """For milliseconds: who interrupts us now is heard afterwards.

    Handlers are held back, not signals: a mask holds for one thread, and the signal of a process
    goes to any; and a tmux server that is started meanwhile would inherit the mask."""
    # Python's handlers run in the main thread alone.
    if _left_alone or threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []

    def later(number: int, frame: FrameType | None) -> None:
        heard.append(number)

    before = {number: signal.getsignal(number) for number in INTERRUPTS}
    heeded = {
        number: handler
        for number, handler in before.items()
        if handler not in (signal.SIG_IGN, None)
    }
    try:
        for number in heeded:
            signal.signal(number, later)
        yield
    finally:
        for number, handler in heeded.items():
            signal.signal(number, handler)
        for missed in heard:
            signal.raise_signal(missed)
