"""`interrupt`: the turn ends, the session does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes import OWN_PID, Story
from tests.schemas import checked
from tmuxreap.commands import interrupt
from tmuxreap.commands.interrupt import InterruptRequest
from tmuxreap.core.errors import Failure
from tmuxreap.core.results import Result


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    told = Story(tmp_path)
    yield told
    told.close()


def interrupted(
    story: Story,
    *targets: str,
    pid: int = OWN_PID,
    ask: Callable[[Result], bool] | None = None,
    dry_run: bool = False,
    yes: bool = False,
) -> Result:
    request = InterruptRequest(targets or ("acme",), dry_run, yes, ask)
    return checked(interrupt.run(story.app(pid), request))


def outcomes(result: Result) -> dict[str, object]:
    return {str(one["name"]): one["outcome"] for one in (item.as_json() for item in result.results)}


def test_the_busy_are_interrupted_and_the_idle_are_left_alone(story: Story) -> None:
    busy, idle = story.agent("acme", state="busy"), story.agent("base")
    result = interrupted(story, "acme", "base")
    assert outcomes(result) == {"acme": "interrupted", "base": "already_idle"}
    assert (busy.heard, idle.heard, int(result.exit)) == (["Escape"], [], 0)
    assert story.row()["status"] == "running"


def test_a_person_is_asked_before_a_pattern_is_interrupted(story: Story) -> None:
    agent = story.agent(state="busy")
    asked: list[dict[str, object]] = []

    def no(plan: Result) -> bool:
        asked.append(outcomes(plan))
        return False

    result = interrupted(story, "all", ask=no)
    assert (asked, result.results, agent.heard) == ([{"acme": "planned"}], [], [])
    assert outcomes(interrupted(story, "acme", ask=no)) == {"acme": "interrupted"}


def test_an_agent_must_say_yes_before_a_pattern_is_interrupted(story: Story) -> None:
    agent, other = story.agent(), story.agent("base", state="busy")
    inside = story.processes.add("sh", parent=agent.process)
    with pytest.raises(Failure) as refused:
        interrupted(story, "all", pid=inside.pid)
    assert (refused.value.code.text, other.heard) == ("usage", [])
    result = interrupted(story, "all", pid=inside.pid, yes=True)
    assert outcomes(result) == {"acme": "refused", "base": "interrupted"}
    codes = [item.error.code for item in result.results if item.error]
    assert (codes, agent.heard) == (["own_session"], [])


def test_a_plan_sends_nothing(story: Story) -> None:
    agent = story.agent(state="busy")
    (item,) = interrupted(story, dry_run=True).results
    told = item.as_json()
    assert (told["outcome"], told["state"], told["keys"]) == ("planned", "working", ["Escape"])
    assert agent.heard == []


def test_a_name_that_is_not_there_is_reported(story: Story) -> None:
    story.agent()
    result = interrupted(story, "nobody")
    assert int(result.exit) == 3
