"""Who ended a session, as recorded and shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import Story
from tmuxreap.commands import show


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    new = Story(tmp_path)
    yield new
    new.close()


def test_ended_by_is_in_the_event_and_in_show(story: Story) -> None:
    story.agent()
    app = story.app(tool="mcp")
    from tmuxreap.commands import stop
    from tmuxreap.core.model import EndVerb
    from tmuxreap.ending.plan import Policy

    stop.run(app, stop.EndRequest(("acme",), Policy(EndVerb.STOP, "why")))
    (answer,) = (item.as_json() for item in show.run(story.app(), ["acme"]).results)
    by = answer["ended_by"]
    assert isinstance(by, dict)
    assert (by["host"], by["tool"], by["session"]) == (story.HOST, "mcp", None)
    assert by["user"]
    assert "ended_by" not in story.row()
