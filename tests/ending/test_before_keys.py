"""Checks before the first key: rows, words and disks that could not record the end."""

from __future__ import annotations

import pytest

from tests.fakes import Story
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.errors import Code, Exit, Failure
from tmuxreap.core.results import Result


def failures(result: Result) -> list[Code]:
    return [Code.of(item.error.code) for item in result.results if item.error]


def explicit(story: Story) -> None:
    """Return a row that can be read, but not edited."""
    text = story.path.read_text().replace('"status": "running", ', "", 1)
    story.path.write_text(
        text.replace('- {"name": "acme",', '- {? "status"\n    : "running", "name": "acme",', 1)
    )


def test_a_row_that_cannot_be_edited_is_found_before_the_first_key(story: Story) -> None:
    agent = story.agent()
    explicit(story)
    before = story.path.read_bytes()
    result = story.stop()
    assert (failures(result), result.exit) == ([Code.ROW_INVALID], Exit.REGISTRY)
    assert (agent.heard, story.processes.refresh(agent.process) is not None) == ([], True)
    assert story.path.read_bytes() == before
    assert story.recorded_plans() == []


def test_the_others_of_a_stop_go_on(story: Story) -> None:
    story.agent()
    explicit(story)
    story.agent("other")
    result = story.stop("acme", "other")
    assert [item.as_json()["outcome"] for item in result.results] == ["failed", "stopped"]
    assert story.row("other")["status"] == "stopped"


def test_a_kill_ends_it_all_the_same_and_says_so(story: Story) -> None:
    agent = story.agent()
    explicit(story)
    result = story.kill()
    (answer,) = [item.as_json() for item in result.results]
    assert (failures(result), result.exit, answer["status"]) == (
        [Code.ROW_INVALID],
        Exit.REGISTRY,
        "running",
    )
    assert "was ended" in str(answer["error"])
    assert story.processes.refresh(agent.process) is None


def test_a_reason_that_cannot_be_written_ends_nothing(story: Story) -> None:
    agent = story.agent()
    with pytest.raises(Failure, match="is not UTF-8") as refused:
        story.stop(reason="night \udcff")
    assert refused.value.code is Code.REGISTRY_UNWRITABLE
    assert agent.heard == []
    result = story.kill(reason="night \udcff")
    assert (failures(result), story.row()["status"]) == ([Code.REGISTRY_UNWRITABLE], "running")
    assert story.processes.refresh(agent.process) is None
    reconcile.run(story.app())
    assert (story.row()["status"], story.row()["stop_reason"]) == ("stopped", "night \\udcff")
