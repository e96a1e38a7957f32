"""Whether a session belongs to another registry: by the mark on that very session, and a running
row there."""

from __future__ import annotations

import pytest

from tests.fakes import Story
from tmuxreap.core.model import Server
from tmuxreap.sessions.elsewhere import (
    RowElsewhere,
    registered_elsewhere,
    row_elsewhere,
    rows_elsewhere,
)


def marked(story: Story, status: str = "running") -> Story:
    """A session with a row in another registry."""
    folder = story.folder / "theirs"
    folder.mkdir()
    theirs = Story(folder)
    theirs.clock, theirs.processes, theirs.tmux = story.clock, story.processes, story.tmux
    theirs.agent("acme", status=status)
    session = story.tmux.servers[story.SOCKET].sessions[-1]
    session.environment = {"TMUXREAP_ID": "mark-of-acme", "TMUXREAP_REGISTRY": str(theirs.path)}
    return theirs


def elsewhere(story: Story) -> dict[str, RowElsewhere]:
    server = story.tmux.look(story.SOCKET)
    assert isinstance(server, Server)
    return rows_elsewhere(story.tmux, story.path, story.BOOT, server, server.sessions)


def test_a_running_row_of_another_registry_holds_the_session(story: Story) -> None:
    theirs = marked(story)
    assert list(elsewhere(story).values()) == [RowElsewhere(theirs.path, "acme")]
    assert elsewhere(theirs) == {}


@pytest.mark.parametrize("status", ["stopped", "terminated"])
def test_an_ended_row_holds_no_session(story: Story, status: str) -> None:
    marked(story, status)
    assert elsewhere(story) == {}


def test_without_both_marks_no_server_is_asked(story: Story) -> None:
    marked(story)
    server = story.tmux.look(story.SOCKET)
    assert isinstance(server, Server)
    for environment in (
        None,
        "",
        "TMUXREAP_ID=x",
        "TMUXREAP_REGISTRY=/r.yaml",
        "TMUXREAP_ID=x\nTMUXREAP_REGISTRY=/no",
    ):
        assert (
            row_elsewhere(story.path, story.BOOT, server, server.sessions[0], environment) is None
        )


def test_the_refusal_names_the_command_there(story: Story) -> None:
    other = RowElsewhere(story.path, "shop")
    failure = registered_elsewhere("stop", "acme", other)
    assert failure.code.text == "registered_elsewhere"
    assert failure.hint == f"tmuxreap stop shop --registry {story.path}"
    assert registered_elsewhere("adopt", "acme", other, "see: ").hint.startswith(
        "see: tmuxreap show shop"
    )
