"""The totals by host, in one line."""

from __future__ import annotations

from tmuxreap.core.answers.base import problem_of
from tmuxreap.core.answers.endings import Ending
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import RemoteResult
from tmuxreap.interfaces.text.by_host import by_host


def of(host: str, failure: Failure | None = None, **facts: object) -> RemoteResult:
    return RemoteResult("x", host, facts, error=problem_of(failure))


def test_endings_are_summed_up_by_host() -> None:
    items = [
        of("a", outcome="stopped"),
        of("b", outcome="already_stopped"),
        of("a", outcome="killed"),
        of("b", Failure(Code.STILL_RUNNING, "m"), outcome="survived"),
    ]
    assert list(by_host(items)) == ["by host: a 2 of 2 ended; b 0 of 2 ended, 1 failed"]


def test_sessions_are_summed_up_by_host() -> None:
    items = [of("a", live="alive"), of("\x1b[2Jb", live="gone")]
    (line,) = by_host(items)
    assert line.startswith("by host: a 1 of 1 alive; ")
    assert "\x1b" not in line


def test_one_host_needs_no_sum() -> None:
    assert list(by_host([of("a", live="alive"), of("a", live="gone")])) == []
    assert list(by_host([Ending("x")])) == []
