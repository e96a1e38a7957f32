"""Interrupts are deferred, whichever thread the kernel picks, and never lost."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from tests.real import until
from tmuxreap.system.machine import INTERRUPTS, defer_interrupts


@pytest.mark.parametrize("number", INTERRUPTS, ids=lambda number: number.name)
def test_a_deferred_interrupt_is_heard_afterwards(number: signal.Signals) -> None:
    heard: list[int] = []
    waiter = threading.Event()
    other = threading.Thread(target=waiter.wait)  # gets the signal if this thread does not
    other.start()
    before = signal.signal(number, lambda number, _: heard.append(number))
    try:
        with defer_interrupts():
            os.kill(os.getpid(), number)
            time.sleep(0.05)  # not an event to wait for: it must not happen
            assert heard == []
        assert heard == [number]
    finally:
        signal.signal(number, before)
        waiter.set()
        other.join()


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with defer_interrupts():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_thread_that_gets_no_signals_is_not_held_up() -> None:
    passed = []

    def work() -> None:
        with defer_interrupts():
            passed.append(True)

    threading.Thread(target=work).start()
    until("the other thread", lambda: passed)
