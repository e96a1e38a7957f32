"""The rung of each session: one redrawn line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import io

import pytest

from tests.fakes import FakeClock
from tmuxreap.ending.plan import RungKind
from tmuxreap.interfaces.text.progress import ProgressText
from tmuxreap.interfaces.text.receipt import RUNGS


class Watched:
    """The display, its output since the last look, and its clock."""

    def __init__(self, *, live: bool) -> None:
        self.clock, self.to = FakeClock(), io.StringIO()
        self.display = ProgressText(self.to, self.clock.monotonic, live)

    def after(self, seconds: float) -> None:
        self.clock.move_to(self.clock.monotonic() + seconds)
        self.display.draw()

    def news(self) -> str:
        said = self.to.getvalue()
        self.to.seek(0)
        self.to.truncate()
        return said


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_every_rung_has_its_words() -> None:
    assert set(RUNGS) == {rung.value for rung in RungKind}


def test_off_a_terminal_only_slow_endings_print_a_line() -> None:
    watched = Watched(live=False)
    watched.display.begin(2)
    watched.display.rung("one", RungKind.KEYS)
    watched.display.rung("two", RungKind.KEYS)
    watched.display.rung("two", RungKind.HANGUP)
    watched.display.done("two")
    watched.after(5)
    watched.display.rung("one", RungKind.HANGUP)
    watched.display.done("one")
    assert watched.news().splitlines() == ["one: still there after 5 s, ending what is left of it"]


def test_one_line_shows_each_session_and_its_time() -> None:
    watched = Watched(live=True)
    watched.display.begin(3)
    watched.display.rung("one", RungKind.KEYS)
    watched.display.rung("two", RungKind.TERM)
    watched.news()
    watched.after(1.5)
    assert watched.news() == "\r\x1b[K0 of 3 ended · one keys 1.5 s · two term 1.5 s"
    watched.display.rung("one", RungKind.KILL)
    watched.display.done("two")
    watched.after(1.0)
    assert watched.news() == "\r\x1b[K1 of 3 ended · one kill 2.5 s"


def test_progress_is_not_drawn_faster_than_an_eye_can_follow() -> None:
    watched = Watched(live=True)
    watched.display.begin(100)
    for number in range(100):
        watched.display.rung(f"agent-{number}", RungKind.KEYS)
    assert watched.news().count("\r") == 1


def test_the_progress_line_is_cut_at_the_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    watched = Watched(live=True)
    watched.display.begin(1)
    watched.display.rung("a-very-long-name-of-a-session", RungKind.KEYS)
    assert watched.news() == "\r\x1b[K0 of 1 ended · a-v…"


def test_no_progress_line_stays_on_the_screen() -> None:
    watched = Watched(live=True)
    watched.display.begin(1)
    watched.display.rung("one", RungKind.KEYS)
    watched.display.done("one")
    assert watched.news().endswith("\r\x1b[K")
