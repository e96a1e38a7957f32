"""The wait of `watch`: for a death, a change of the file, a timeout, or to end."""

from __future__ import annotations

import gc
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tmuxreap.commands.watch.waiting import Waiter
from tmuxreap.system.processes.linux import real_processes


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "registry.yaml"


@pytest.fixture
def waiter(file: Path) -> Iterator[Waiter]:
    one = Waiter(real_processes(), file, signals=False)
    yield one
    one.close()


def test_a_death_ends_the_wait_and_the_kernel_says_how(waiter: Waiter) -> None:
    child = subprocess.Popen(["sh", "-c", "read x; exit 3"], stdin=subprocess.PIPE)
    identity = real_processes().identify(child.pid)
    assert identity is not None
    assert waiter.wait([identity], 0.0).gone == frozenset()
    assert child.stdin is not None
    child.stdin.close()
    assert waiter.wait([identity], 10.0).gone == {identity}
    assert waiter.how_ended(identity) in ("exit status 3", None)
    child.wait()
    assert waiter.wait([identity], 0.0).gone <= {identity}


def test_a_file_that_comes_and_one_that_changes_are_reported(waiter: Waiter, file: Path) -> None:
    waiter.arm()
    assert not waiter.wait([], 0.0).changed
    file.write_text("a")
    assert waiter.wait([], 10.0).changed
    waiter.arm()
    file.write_text("b")
    assert waiter.wait([], 10.0).changed
    assert not waiter.wait([], 0.0).changed


def test_a_wait_of_days_makes_no_new_classes(waiter: Waiter) -> None:
    def classes() -> int:
        return sum(isinstance(one, type) for one in gc.get_objects())

    waiter.arm()
    waiter.wait([], 0.001)
    before = classes()
    gc.disable()
    try:
        for _ in range(5):
            waiter.arm()
            waiter.wait([], 0.001)
        assert classes() == before
    finally:
        gc.enable()


def test_a_timeout_ends_the_wait_silently(waiter: Waiter) -> None:
    before = time.monotonic()
    woken = waiter.wait([], 0.05)
    assert (woken.gone, woken.changed, woken.ending) == (frozenset(), False, False)
    assert time.monotonic() - before >= 0.05


def test_a_wake_ends_this_wait_and_the_next(waiter: Waiter) -> None:
    before = time.monotonic()
    waiter.ring()
    assert waiter.wait([], 60.0).ending
    assert waiter.wait([], 60.0).ending
    assert time.monotonic() - before < 60.0
