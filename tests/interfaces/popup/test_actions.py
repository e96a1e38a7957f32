"""The popup's requests to the program: always an answer, never an exception."""

from __future__ import annotations

from tests.fakes import Story
from tmuxreap.core.model import EndVerb
from tmuxreap.core.results import Result
from tmuxreap.interfaces.popup.actions import Client, Desk, silent_progress


def code(result: Result) -> str | None:
    return result.failure.code.text if result.failure else None


def test_a_look_shows_the_chosen_screen(story: Story) -> None:
    story.agent("gone", status="stopped")
    story.tmux.servers[story.SOCKET].sessions.clear()
    story.agent("acme").pane.screen = "what it shows"
    seen = Desk(story.app).look("acme")
    assert [one.name for one in seen.sessions] == ["gone", "acme"]
    assert (seen.screen, seen.failure) == ("what it shows", None)
    assert Desk(story.app).look("nobody").screen == ""
    story.path.write_text("no registry")
    failure = Desk(story.app).look(None).failure
    assert failure is not None
    assert failure.code.text == "registry_invalid"


def test_the_popup_ends_the_sessions_that_were_agreed_to(story: Story) -> None:
    story.agent()
    result = Desk(story.app).end("", EndVerb.STOP, ["acme"], silent_progress())
    assert [item.as_json()["outcome"] for item in result.results] == ["stopped"]


def test_the_popup_restarts_agents_in_their_panes(story: Story) -> None:
    story.comes_back()
    old = story.agent().process
    result = Desk(story.app).end("", EndVerb.RESTART, ["acme"], silent_progress())
    assert [item.as_json()["outcome"] for item in result.results] == ["restarted"]
    assert not story.processes.alive(old)
    far = Desk(story.app).end("gpu", EndVerb.RESTART, ["acme@gpu"], silent_progress())
    assert code(far) == "usage"


def test_a_row_that_is_called_like_a_word_of_tmuxreap_ends_nothing(story: Story) -> None:
    story.agent()
    result = Desk(story.app).end("", EndVerb.KILL, ["all"], silent_progress())
    assert code(result) == "row_invalid"
    assert story.processes.alive(story.agents["acme"].process)


def test_a_jump_goes_to_the_session_that_was_seen_and_says_why_not(story: Story) -> None:
    story.agent()
    assert code(Desk(story.app, Client(story.SOCKET, "/dev/pts/1")).jump("acme")) is None
    assert any("switch-client" in word for command in story.told() for word in command)
    assert code(Desk(story.app).jump("acme")) == "usage"
    elsewhere = Desk(story.app, Client("/tmp/other", None)).jump("acme")
    assert elsewhere.failure is not None
    assert "attach -t '$0'" in elsewhere.failure.hint
    assert code(Desk(story.app).jump("nobody")) == "session_not_registered"
