"""Findings as printed for users."""

from __future__ import annotations

from tmuxreap.commands.doctor.machine import problem
from tmuxreap.core.results import Result
from tmuxreap.core.text import Style
from tmuxreap.interfaces.text.report import lines


def test_people_read_what_is_wrong_and_the_command_beside_it() -> None:
    finding = problem("it is held", "ps -p 1", name="lock")
    told = Result("doctor", None, 0.0, [finding])
    assert list(lines(told, Style())) == ["problem  lock      it is held", "         fix: ps -p 1"]
    narrow = list(lines(told, Style(width=24)))
    assert narrow == ["problem  lock      it is", "         held", "         fix: ps -p 1"]
