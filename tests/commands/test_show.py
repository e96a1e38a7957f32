"""`show`: one session with its processes, and why each belongs to it."""

from __future__ import annotations

from typing import Any

from tests.fakes import CONVERSATION, Story
from tmuxreap.commands import show


def test_processes_conversation_and_screen(story: Story) -> None:
    agent = story.agent(state="busy")
    helper = story.processes.add("npm", parent=agent.process, new_session=True)
    (told,) = show.run(story.app(), ["acme"]).results
    facts: Any = told.as_json()
    assert [(one["pid"], one["why"]) for one in facts["processes"]] == [
        (agent.process.pid, "pane"),
        (helper.pid, "tree"),
    ]
    assert (facts["pane_state"], facts["locators"][0]["id"]) == ("busy", CONVERSATION)
    assert "esc to interrupt" in facts["screen"]


def test_of_an_ended_one_the_last_screen_that_was_recorded(story: Story) -> None:
    story.agent()
    story.stop()
    (told,) = show.run(story.app(), ["acme"]).results
    facts: Any = told.as_json()
    assert (facts["processes"], facts["pane_state"]) == ([], "gone")
    assert facts["screen"] == story.row()["last_visible_status"]


def test_a_name_without_a_row_is_an_answer_too(story: Story) -> None:
    story.agent()
    result = show.run(story.app(), ["acme", "nobody"])
    assert [item.error.code for item in result.results if item.error] == ["session_not_registered"]
    assert len(result.results) == 2
