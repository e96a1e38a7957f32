"""Hears SIGINT, SIGTERM and SIGHUP later, where they would tear something in two.

It never decides what they mean."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """For milliseconds: who interrupts us now is heard afterwards.

    Handlers are held back, not signals: a mask holds for one thread, and the signal of a process goes to any; and a
    tmux server that is started meanwhile would inherit the mask."""
    if threading.current_thread() is not threading.main_thread():  # Python's handlers run in that one alone
        yield
        return
    heard: list[int] = []

    def later(number: int, frame: FrameType | None) -> None:
        heard.append(number)

    before = {number: signal.getsignal(number) for number in INTERRUPTS}
    heeded = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    try:
        for number in heeded:
            signal.signal(number, later)
        yield
    finally:
        for number, handler in heeded.items():
            signal.signal(number, handler)
        for missed in heard:
            signal.raise_signal(missed)
