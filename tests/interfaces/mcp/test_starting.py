"""The tools that begin: no command comes from a model, and what is meant is said."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tests.fakes import Story
from tmuxreap.core.errors import Code, Failure
from tmuxreap.interfaces.mcp.starting import AdoptSession, StartSession


@pytest.mark.parametrize("word", ["command", "COMMAND", "start_command", "replace"])
def test_a_start_takes_no_command(word: str) -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        StartSession.model_validate({"name": "a", "agent": "claude", word: ["sh", "-c", "x"]})


def test_a_start_runs_what_the_profile_says(story: Story) -> None:
    result = StartSession(name="new", agent="claude", cwd=".", dry_run=True).run(story.app())
    plan = result.more["plan"]
    assert isinstance(plan, dict)
    assert plan["command"][0] == "claude"


@pytest.mark.parametrize("given", [{}, {"names": ["a"], "all": True}])
def test_what_is_adopted_is_said_in_one_way(story: Story, given: dict[str, object]) -> None:
    with pytest.raises(Failure) as caught:
        AdoptSession.model_validate(given).run(story.app())
    assert caught.value.code is Code.USAGE
