"""The user's own patterns: masked in time, in any thread and in a host program."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable

import pytest

from tmuxreap.system import timed_masks
from tmuxreap.system.machine import keep_signal_handlers

EVIL = "(a+)+$"
SCREEN = f"first\n{'a' * 140}!\nacme-77 last"


def mask(*patterns: str) -> tuple[str, tuple[str, ...]]:
    return timed_masks.mask([re.compile(one, re.MULTILINE) for one in patterns], SCREEN)


def in_main_thread(work: Callable[[], None]) -> None:
    work()


def in_another(work: Callable[[], None]) -> None:
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert failed == []


def in_a_host_program(work: Callable[[], None]) -> None:
    with keep_signal_handlers():
        work()


@pytest.mark.parametrize("where", [in_main_thread, in_another, in_a_host_program])
def test_a_pattern_that_backtracks_costs_its_line_alone(
    where: Callable[[Callable[[], None]], None],
) -> None:
    def work() -> None:
        told, slow = mask("acme-[0-9]+", EVIL)
        assert told == "first\n***\n*** last"
        assert slow == (EVIL,)

    handler = signal.getsignal(signal.SIGALRM)
    began = time.monotonic()
    where(work)
    assert time.monotonic() - began < timed_masks.ALL_S + timed_masks.START_S
    assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_masked_match_stays_readable() -> None:
    pattern = re.compile(r"(?P<keep>pin: )\d+")
    assert timed_masks.mask([pattern], "pin: 1234") == ("pin: ***", ())


def test_without_time_every_line_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_masks, "ALL_S", 0.0)
    assert mask(EVIL) == ("***\n***\n***", (EVIL,))


def test_a_child_that_fails_masks_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_masks, "CHILD", "import nothing_of_that_name")
    with keep_signal_handlers():
        assert mask("acme-[0-9]+") == ("***", ("acme-[0-9]+",))
