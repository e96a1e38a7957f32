"""Defers SIGINT, SIGTERM and SIGHUP during a critical section. Never decides what they mean."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


_library_calls: list[None] = []  # one item per call in progress from a host program's main thread


@contextlib.contextmanager
def keep_signal_handlers() -> Iterator[None]:
    """Leave all signal handlers alone in here: they belong to the program that imports us."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _library_calls.append(None)
    try:
        yield
    finally:
        _library_calls.pop()


def may_handle_signals() -> bool:
    """Tell whether handlers are ours to set: Python runs them in the main thread only, and in a
    library call they belong to the host program."""
    return not _library_calls and threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def defer_interrupts() -> Iterator[None]:
    """Defer interrupts for some milliseconds and raise them afterwards.

    Replaces handlers rather than blocking signals: a mask applies to one thread, while a signal to
    the process may reach any; and a tmux server started meanwhile would inherit the mask."""
    if not may_handle_signals():
        yield
        return
    deferred: list[int] = []

    handlers = {number: signal.getsignal(number) for number in INTERRUPTS}
    handled = {number: old for number, old in handlers.items() if old not in (signal.SIG_IGN, None)}
    try:
        for number in handled:
            signal.signal(number, lambda signum, _: deferred.append(signum))
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for signum in deferred:
            signal.raise_signal(signum)
