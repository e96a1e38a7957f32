"""From words to rows, with the questions that need a look."""

from __future__ import annotations

import pytest

from tests.fakes import Story
from tmuxreap.commands.targets import choose_rows, not_chosen
from tmuxreap.core.errors import Failure
from tmuxreap.registry.targets import Wanted


def chosen(
    story: Story, *targets: str, wanted: Wanted = Wanted.ALL, leftovers: bool = False
) -> list[str]:
    app = story.app()
    found = choose_rows(app, app.registry.look(), targets, wanted, leftovers=leftovers)
    return [row.name for row in found.rows]


def test_a_pid_means_the_row_whose_process_it_is(story: Story) -> None:
    agent = story.agent()
    story.agent("other")
    helper = story.processes.add("npm", parent=agent.process, new_session=True)
    assert chosen(story, f"pid:{helper.pid}") == ["acme"]


def test_an_agent_kind_selects_its_sessions(story: Story) -> None:
    story.agent()
    assert chosen(story, "agent:demo") == ["acme"]
    assert chosen(story, "agent:claude") == []


def test_a_pattern_means_an_ended_row_only_with_what_it_left(story: Story) -> None:
    agent = story.agent(status="stopped")
    story.processes.add("npm", parent=agent.process, new_session=True)
    story.tmux.servers[story.SOCKET].sessions.clear()
    story.processes.die(agent.process)
    assert chosen(story, "ac*", wanted=Wanted.RUNNING) == []
    assert chosen(story, "ac*", wanted=Wanted.RUNNING, leftovers=True) == ["acme"]


def test_unusable_and_unknown_rows_are_answered(story: Story) -> None:
    story.agent()
    story.add_row({"name": "bad", "status": "odd"})
    app = story.app()
    look = app.registry.look()
    found = choose_rows(app, look, ("acme", "bad", "nobody"), Wanted.ALL)
    told = [
        (item.as_json()["name"], item.error and item.error.code) for item in not_chosen(look, found)
    ]
    assert told == [("nobody", "session_not_registered"), ("bad", "row_invalid")]
    (warning,) = look.warnings
    assert "bad" in warning


def test_nothing_is_no_target(story: Story) -> None:
    with pytest.raises(Failure, match="none was named"):
        chosen(story)
