"""The tools that begin: no command comes from a model, and intentions must be explicit."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tests.fakes import Story
from tmuxreap.commands import adopt, start
from tmuxreap.commands.start import StartRequest
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.mcp.tools import AdoptSession, StartSession
from tmuxreap.sessions.context import Context


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
def test_adopt_session_takes_exactly_one_way_to_name_sessions(
    story: Story, given: dict[str, object]
) -> None:
    with pytest.raises(Failure) as caught:
        AdoptSession.model_validate(given).run(story.app())
    assert caught.value.code is Code.USAGE


def test_adopt_all_takes_every_agent_beside_other_flags(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[adopt.AdoptAllRequest] = []

    def run_all(_: Context, request: adopt.AdoptAllRequest) -> Result:
        asked.append(request)
        return Result("adopt", None, 0.0)

    monkeypatch.setattr(adopt, "run_all", run_all)
    given = {"all": True, "agent": "demo", "force": True, "tags": ["x"], "dry_run": True}
    AdoptSession.model_validate(given).run(story.app())
    assert asked == [adopt.AdoptAllRequest(None, ("x",), dry_run=True)]


def test_a_start_says_what_is_done_when_it_is_lost_and_where_it_runs(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[StartRequest] = []

    def run(_: Context, request: StartRequest) -> Result:
        asked.append(request)
        return Result("start", None, 0.0)

    monkeypatch.setattr(start, "run", run)
    words = {"restart": "on-failure", "restart_limit": "3/1h", "terminal": "none"}
    StartSession.model_validate({"name": "new", "agent": "demo", **words}).run(story.app())
    (one,) = asked
    assert (one.restart, one.restart_limit, one.terminal) == tuple(words.values())


@pytest.mark.parametrize(
    "words", [{"restart": "sometimes"}, {"restart_limit": "5/10m"}, {"terminal": "kitty"}]
)
def test_a_word_of_a_start_that_means_nothing_is_refused(
    story: Story, words: dict[str, str]
) -> None:
    told = StartSession.model_validate({"name": "new", "agent": "demo", "cwd": ".", **words})
    with pytest.raises(Failure) as caught:
        told.run(story.app())
    assert caught.value.code is Code.USAGE
