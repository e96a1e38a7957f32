"""Many calls run at the same time; the results are in the order of the calls."""

from __future__ import annotations

import threading

import pytest

from tmuxreap.hosts.crowd import call_in_threads


def test_no_hosts_to_ask_means_no_answer() -> None:
    assert call_in_threads([]) == []


def test_hosts_may_answer_in_any_order() -> None:
    last = threading.Event()

    def first() -> str:
        assert last.wait(60)
        return "first"

    def then() -> str:
        last.set()
        return "then"

    assert call_in_threads([first, then]) == ["first", "then"]


@pytest.mark.parametrize(("works", "threads"), [(50, 3), (2, 2)])
def test_only_a_limited_number_of_hosts_is_asked_at_once(
    works: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[threading.Thread] = []

    class Counted(threading.Thread):
        def start(self) -> None:
            begun.append(self)
            super().start()

    monkeypatch.setattr(threading, "Thread", Counted)
    assert call_in_threads([lambda: "x"] * works, threads=3) == ["x"] * works
    assert len(begun) == threads


def test_an_error_is_raised_when_all_have_answered() -> None:
    answered: list[int] = []

    def fails() -> None:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        call_in_threads([fails, *[lambda n=n: answered.append(n) for n in range(5)]], threads=1)
    assert answered == [0, 1, 2, 3, 4]
