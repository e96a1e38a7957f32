"""Rows that cannot be read or edited: found before the first key where they are so already, told when they become so
during a stop, and in nobody else's way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes import Story
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.errors import Code, Exit, Failure
from tmuxreap.core.results import Result


def failures(result: Result) -> list[Code]:
    return [item.failure.code for item in result.results if item.failure]


def doubled(text: str) -> str:
    return text + "  - {name: acme, status: running}\n"


def anchored(text: str) -> str:
    return text.replace('"name": "acme"', '"name": &here "acme"')


@pytest.mark.parametrize("spoilt", [doubled, anchored])
def test_a_row_that_goes_bad_during_the_stop_is_not_called_gone(story: Story, spoilt: Callable[[str], str]) -> None:
    story.agent(exit_delay_s=0.5)
    good = story.path.read_text()
    story.processes.after(0.3, lambda: story.path.write_text(spoilt(story.path.read_text())) and None)
    result = story.stop(reason="night")
    assert (failures(result), result.exit) == ([Code.ROW_INVALID], Exit.REGISTRY)
    assert result.results[0].as_json()["outcome"] == "failed"
    assert "was ended" in str(result.results[0].as_json()["error"])
    bad = story.path.read_text()
    reconcile.run(story.app())
    assert story.path.read_text() == bad
    story.path.write_text(good)
    reconcile.run(story.app())
    row: Any = story.row()
    assert (row["status"], row["stop_reason"], row["termination_mode"]) == ("stopped", "night", "graceful")


def explicit(story: Story) -> None:
    """A row that can be read, and not edited."""
    text = story.path.read_text().replace('"status": "running", ', "", 1)
    story.path.write_text(text.replace('- {"name": "acme",', '- {? "status"\n    : "running", "name": "acme",', 1))


def test_a_row_that_cannot_be_edited_is_found_before_the_first_key(story: Story) -> None:
    agent = story.agent()
    explicit(story)
    before = story.path.read_bytes()
    result = story.stop()
    assert (failures(result), result.exit) == ([Code.ROW_INVALID], Exit.REGISTRY)
    assert (agent.heard, story.processes.again(agent.process) is not None) == ([], True)
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
    (told,) = [item.as_json() for item in result.results]
    assert (failures(result), result.exit, told["status"]) == ([Code.ROW_INVALID], Exit.REGISTRY, "running")
    assert "was ended" in str(told["error"])
    assert story.processes.again(agent.process) is None


def test_a_reason_that_cannot_be_written_ends_nothing(story: Story) -> None:
    agent = story.agent()
    with pytest.raises(Failure, match="is not UTF-8") as refused:
        story.stop(reason="night \udcff")
    assert refused.value.code is Code.REGISTRY_UNWRITABLE
    assert agent.heard == []
    result = story.kill(reason="night \udcff")
    assert (failures(result), story.row()["status"]) == ([Code.REGISTRY_UNWRITABLE], "running")
    assert story.processes.again(agent.process) is None
    reconcile.run(story.app())
    assert (story.row()["status"], story.row()["stop_reason"]) == ("stopped", "night \\udcff")


def test_reconcile_goes_past_a_row_that_cannot_be_edited(story: Story) -> None:
    for name in ("acme", "other"):
        agent = story.agent(name)
        story.processes.die(agent.process)
    explicit(story)
    result = reconcile.run(story.app())
    drifts: Any = {one["name"]: one for one in result.more["drifts"] if one["name"]}  # type: ignore[attr-defined]
    assert (drifts["other"]["settled"], drifts["acme"]["settled"]) == (True, False)
    assert "line" in drifts["acme"]["evidence"]
    assert story.row("other")["status"] == "terminated"
    assert story.row("acme")["status"] == "running"
