"""How a conversation goes on, and who may be in it. What cannot: tests/commands/test_resume.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import CONVERSATION, Story, row_of
from tmuxreap.commands.starting.comeback import take_up
from tmuxreap.core.errors import Code, Failure


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    new = Story(tmp_path)
    yield new
    new.close()


def test_a_living_agent_is_in_its_conversation(story: Story) -> None:
    story.agent()
    with pytest.raises(Failure) as refused:
        take_up(story.app(), row_of(story))
    assert refused.value.code is Code.CONVERSATION_IN_USE


def test_the_agent_that_makes_way_is_no_obstacle(story: Story) -> None:
    agent = story.agent()
    spec = take_up(story.app(), row_of(story), frozenset({agent.process.pid}))
    assert spec.words[-2:] == ("--resume", CONVERSATION)
    assert spec.environment == {"TMUXREAP_DEMO_HOME": str(story.store)}


def test_a_stopped_agent_continues_in_its_folder(story: Story) -> None:
    story.agent()
    story.stop()
    assert take_up(story.app(), row_of(story)).cwd == "/"
