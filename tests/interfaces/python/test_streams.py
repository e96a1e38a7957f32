"""A stream yields items until it is closed."""

from __future__ import annotations

import threading

import pytest

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Problem
from tmuxreap.interfaces.python.options import TmuxError
from tmuxreap.interfaces.python.watching import CloseRequest, Stream, Tell

FACTS = {"code": "usage", "message": "m", "hint": "h"}


def test_a_stream_yields_in_order_and_ends() -> None:
    def work(tell: Tell, ending: CloseRequest) -> None:
        tell(FACTS)
        tell({**FACTS, "message": "n"})

    with Stream(Problem, work) as stream:
        assert [one.message for one in stream] == ["m", "n"]
        assert list(stream) == []


def test_an_error_of_a_stream_is_raised_once() -> None:
    def work(tell: Tell, ending: CloseRequest) -> None:
        raise Failure(Code.TMUX_MISSING, "no tmux")

    stream = Stream(Problem, work)
    with pytest.raises(TmuxError, match="no tmux"):
        next(stream)
    assert list(stream) == []
    stream.close()


def test_closing_wakes_the_work_up_and_waits_for_it() -> None:
    woken, ended = threading.Event(), threading.Event()

    def work(tell: Tell, ending: CloseRequest) -> None:
        ending.wake = woken.set
        tell(FACTS)
        woken.wait(30)
        assert not ending.is_open()
        ended.set()

    stream = Stream(Problem, work)
    assert next(stream).code == "usage"
    stream.close()
    assert ended.is_set()
