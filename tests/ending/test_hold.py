"""The first half of a restart beside other endings: one at a time, and never on an old row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import OWN_PID, Story, row_of
from tmuxreap.commands.endings import ender_of
from tmuxreap.core.model import Status
from tmuxreap.core.results import failure_in
from tmuxreap.core.values import replace
from tmuxreap.ending.ending_state import EndingState
from tmuxreap.ending.hold import POLICY, end_and_hold, prepared
from tmuxreap.ending.plan import RungKind
from tmuxreap.ledger.records import Intent
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.under_way import under_way


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    new = Story(tmp_path)
    yield new
    new.close()


def held(story: Story, app: Context) -> tuple[dict[str, str | None], list[EndingState]]:
    endings, _ = prepared(ender_of(app).planning, [row_of(story)])
    with under_way(app.books) as mark:
        answers, found = end_and_hold(ender_of(app), endings, mark)
    failures = {name: failure_in(answer) for name, answer in answers.items()}
    return {name: it.code.text if it else None for name, it in failures.items()}, found


def open_intents(story: Story) -> list[Intent]:
    return story.ledger().open_intents()


@pytest.mark.parametrize("shell", [False, True])
def test_a_held_pane_is_left_dead_and_the_row_is_true(story: Story, shell: bool) -> None:
    agent = story.agent(shell=shell)
    codes, (ending,) = held(story, story.app())
    assert (codes, agent.pane.now.dead) == ({"acme": None}, True)
    assert agent.pane.options == {"remain-on-exit": "on"}
    assert story.row()["status"] == "stopped"
    (intent,) = open_intents(story)
    assert (intent.verb, intent.recorded.held_by) == ("restart", ending.plan.server.pid)  # type: ignore[union-attr]
    assert [option.before for option in intent.options] == [None]


def test_a_pane_is_held_even_without_keys(story: Story) -> None:
    """Its pane takes no input: no key is sent, and its hangup comes by signal."""
    agent = story.agent()
    story.tmux.change(agent.pane, input_off=True)
    codes, (ending,) = held(story, story.app())
    assert (codes, agent.heard, agent.pane.now.dead) == ({"acme": None}, [], True)
    assert [one.rung for one in ending.rungs if one.enough] == [RungKind.HANGUP]


def test_a_hold_does_not_disturb_another_ending(story: Story) -> None:
    agent = story.agent()
    other = story.app(story.processes.add("tmuxreap").pid)
    endings, _ = prepared(ender_of(other).planning, [row_of(story)])

    with under_way(other.books) as mark:
        ender_of(other).planning.begin(endings, POLICY, mark)
    codes, found = held(story, story.app(OWN_PID))
    assert (codes, found, agent.heard) == ({"acme": "still_running"}, [], [])


def test_a_row_that_changed_since_the_plan_gets_no_key(story: Story) -> None:
    agent = story.agent()
    app = story.app()
    endings, _ = prepared(ender_of(app).planning, [row_of(story)])
    text = story.path.read_text()
    story.path.write_text(text.replace('"status": "running"', '"status": "stopped"'))
    with under_way(app.books) as mark:
        answers, found = end_and_hold(ender_of(app), endings, mark)
    failure = failure_in(answers["acme"])
    assert (failure and failure.code.text, found, agent.heard) == ("lock_timeout", [], [])


def test_a_kill_takes_over_a_hold(story: Story) -> None:
    agent = story.agent(leaves=False)
    mine = story.processes.add("tmuxreap")

    def killed() -> None:
        story.kill(pid=mine.pid, grace_s=0.0)

    story.processes.after(0.5, killed)
    codes, found = held(story, story.app())
    assert found == []
    assert story.row()["termination_mode"] == "kill"
    assert story.processes.refresh(agent.process) is None
    assert open_intents(story) == []
    assert codes == {"acme": None}


def test_the_policy_of_a_hold_is_a_stop_of_the_pane_alone() -> None:
    assert (POLICY.scope.value, POLICY.grace, POLICY.holds_pane) == ("pane", 5.0, True)
    assert replace(POLICY, reason="x").in_set is None
    assert Status.RUNNING.value == "running"
