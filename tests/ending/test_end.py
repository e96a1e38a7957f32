"""The one path: answers in the order of the rows; changes in the meantime are seen under the
lock."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ending.test_plan import KILL, STOP
from tests.fakes import Story
from tmuxreap.commands.endings import ender_of
from tmuxreap.core.model import Row
from tmuxreap.core.results import Item
from tmuxreap.ending import end, prepare
from tmuxreap.sessions.context import Context


def ended(story: Story, app: Context | None = None) -> list[Item]:
    app = app or story.app()
    look = app.registry.look()
    return ender_of(app).end(look.usable, STOP)


def facts(items: list[Item]) -> list[tuple[object, object]]:
    answers: list[Any] = [item.as_json() for item in items]
    return [(one["name"], one["outcome"]) for one in answers]


def test_answers_appear_in_the_order_of_the_rows(story: Story) -> None:
    story.agent("slow", exit_delay_s=2.0)
    story.agent("quick")
    assert facts(ended(story)) == [("slow", "stopped"), ("quick", "stopped")]


def test_a_row_that_was_renewed_since_the_look_is_planned_again(story: Story) -> None:
    story.agent()
    app = story.app()
    look = app.registry.look()
    story.path.write_text(
        story.path.read_text().replace('"status": "running"', '"status": "stopped"')
    )
    (answer,) = ender_of(app).end(look.usable, STOP)
    assert answer.error is not None
    assert answer.error.code == "session_alive"


def test_a_row_that_is_gone_since_the_look_ends_nothing(story: Story) -> None:
    agent = story.agent()
    app = story.app()
    look = app.registry.look()
    story.path.write_text("tmux_sessions: []\n")
    (answer,) = ender_of(app).end(look.usable, STOP)
    assert answer.error is not None
    assert answer.error.code == "session_not_registered"
    assert story.processes.alive(agent.process)
    assert story.signals_to(agent.process) == []


def test_a_row_that_never_rests_is_given_up(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = story.agent()
    monkeypatch.setattr(prepare, "_unchanged", lambda row, look: False)
    (answer,) = ended(story)
    assert answer.error is not None
    assert (answer.error.code, story.processes.alive(agent.process)) == ("lock_timeout", True)


def test_an_interruption_answers_for_each_unfinished_target(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.agent("a")
    story.agent("b")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(end.Ender, "run_ladders", interrupted)
    codes = [item.error.code for item in ended(story) if item.error]
    assert codes == ["interrupted", "interrupted"]
    with story.ledger() as ledger:
        assert {intent.name for intent in ledger.open_intents()} == {"a", "b"}


def test_an_unregistered_session_is_ended_and_not_recorded(story: Story) -> None:
    app = story.app()
    app.registry.look()
    vim = story.tmux.open(story.SOCKET, "stray", "vim").panes[0].process
    row = Row("stray")
    before = story.path.read_bytes()
    answer: Any = ender_of(app).end_unregistered(row, KILL).as_json()
    assert (answer["outcome"], answer["status"]) == ("killed", None)
    assert not story.processes.alive(vim)
    assert story.path.read_bytes() == before
