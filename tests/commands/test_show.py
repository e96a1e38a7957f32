"""`show`: one session with its processes, and why each belongs to it."""

from __future__ import annotations

from typing import Any

from tests.fakes import CONVERSATION, Story
from tmuxreap.commands import show
from tmuxreap.core.model import Usage
from tmuxreap.core.text import Style
from tmuxreap.interfaces.text.formatters import item_lines


def test_show_reports_processes_conversation_and_screen(story: Story) -> None:
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


def test_show_prints_the_last_recorded_screen_of_an_ended_session(story: Story) -> None:
    story.agent()
    story.stop()
    (told,) = show.run(story.app(), ["acme"]).results
    facts: Any = told.as_json()
    assert (facts["processes"], facts["pane_state"]) == ([], "gone")
    assert facts["screen"] == story.row()["last_visible_status"]


def test_show_answers_for_a_name_without_a_row(story: Story) -> None:
    story.agent()
    result = show.run(story.app(), ["acme", "nobody"])
    assert [item.error.code for item in result.results if item.error] == ["session_not_registered"]
    assert len(result.results) == 2


def test_cpu_and_ports_of_its_processes_are_shown(story: Story) -> None:
    agent = story.agent()
    server = story.processes.add("node", parent=agent.process)
    story.processes.used = {
        agent.process.pid: Usage(1.5, 10.0),
        server.pid: Usage(2.25, 40.5, (8080, 3000)),
    }
    (told,) = show.run(story.app(), ["acme"]).results
    facts: Any = told.as_json()
    assert (facts["cpu_s"], facts["cpu_percent"], facts["ports"]) == (3.75, 50.5, [3000, 8080])
    assert facts["processes"][1]["cpu_s"] == 2.25
    assert facts["processes"][1]["ports"] == [8080, 3000]
    told_lines = list(item_lines(told, Style()))
    assert "  cpu           50 % of a processor now, 3.75 s so far" in told_lines
    assert "  listens on    3000 8080" in told_lines
    assert any(line.endswith(", 40 % CPU, listens on 8080 3000") for line in told_lines)


def test_cpu_and_ports_of_an_ended_session_are_unknown(story: Story) -> None:
    story.agent()
    story.stop()
    (told,) = show.run(story.app(), ["acme"]).results
    facts: Any = told.as_json()
    assert (facts["cpu_s"], facts["cpu_percent"], facts["ports"]) == (None, None, [])
