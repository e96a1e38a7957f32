"""The queue of what a watch reports: bounded, and never blocking."""

from __future__ import annotations

import threading

import pytest

from tests.real import until
from tmuxreap.commands.watch import telling
from tmuxreap.commands.watch.telling import Outlet
from tmuxreap.core.answers import Drift


def test_a_thousand_events_start_few_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    now, most, count, lock = [0], [0], [0], threading.Lock()
    done = threading.Event()

    def executed(command: str, event: str) -> int:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        done.wait(0.001)
        with lock:
            now[0] -= 1
            count[0] += 1
        return 0

    monkeypatch.setattr(telling, "_executed", executed)
    told = telling.Reporter(lambda event: None, "true", "registry")
    drifts = [Drift(f"n{number}", "odd", settled=True) for number in range(1_000)]
    told.drifts(0.0, drifts)
    until("all of them", lambda: count[0] == 1_000)
    assert most[0] == telling.AT_ONCE


def test_lines_that_do_not_fit_are_dropped_and_marked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(telling, "ROOM", 3)
    taken: list[str] = []
    started, reads = threading.Event(), threading.Event()

    def slowly(word: str) -> None:
        started.set()
        reads.wait(10)
        taken.append(word)

    out: Outlet[str] = Outlet(slowly, lambda count: f"{count} lost")
    out.put("0")
    assert started.wait(10)
    for number in range(1, 8):
        out.put(str(number))
    reads.set()
    assert out.drain(10)
    assert taken == ["0", "1", "2", "3", "4 lost"]
