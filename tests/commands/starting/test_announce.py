"""The intent of a start: open until its row is written or everything is cleared away."""

from __future__ import annotations

import json

import pytest

from tests.fakes import Story
from tmuxreap.commands.starting.row import Launch, Start, open_start
from tmuxreap.core.errors import Failure
from tmuxreap.ledger.records import Intent
from tmuxreap.registry.transitions import RowEvent


def wish(story: Story) -> Launch:
    return Launch("acme", "demo", ("it",), None, "/", None, story.SOCKET, RowEvent.STARTED)


def announce(story: Story, *, cleared: bool = False, mark: str = "m1", fail: bool = False) -> Start:
    with open_start(story.app(), wish(story), mark) as start:
        if cleared:
            start.is_cleared = True
        if fail:
            raise RuntimeError("no luck")
    return start


def standing(story: Story) -> list[Intent]:
    with story.ledger() as ledger:
        return ledger.open_intents()


def test_an_announced_start_stays_open_until_it_is_closed_with_the_row(story: Story) -> None:
    start = announce(story)
    (intent,) = standing(story)
    assert (intent.verb, intent.name) == ("start", "acme")
    assert json.loads(intent.plan)["marks"] == ["m1"]
    assert [(one.id, one.outcome) for one in start.closing] == [(intent.id, "started")]


def test_a_failed_start_that_left_nothing_is_closed(story: Story) -> None:
    with pytest.raises(RuntimeError):
        announce(story, cleared=True, fail=True)
    assert standing(story) == []


def test_a_failed_start_that_may_have_left_something_keeps_all_its_marks(story: Story) -> None:
    with pytest.raises(RuntimeError):
        announce(story, fail=True)
    with pytest.raises(RuntimeError):
        announce(story, cleared=True, fail=True, mark="m2")
    (intent,) = standing(story)
    assert json.loads(intent.plan)["marks"] == ["m2", "m1"]


def test_only_one_of_two_simultaneous_starts_proceeds(story: Story) -> None:
    other = story.app(story.processes.add("tmuxreap").pid)
    with (
        open_start(story.app(), wish(story), "m1"),
        pytest.raises(Failure, match="it is being started by the process") as caught,
        open_start(other, wish(story), "m2"),
    ):
        pytest.fail("it was begun twice")
    assert caught.value.code.text == "session_exists"
