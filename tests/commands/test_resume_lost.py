"""`resume --lost`: what a crash or a reboot ended, and nothing that a user ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import Story
from tmuxreap.commands import resume
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.commands.resume import Lost, ResumeRequest

DAY_S = 86400.0


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    told = Story(tmp_path)
    yield told
    told.close()


def taken(story: Story, **lost: Any) -> list[dict[str, Any]]:
    request = ResumeRequest((), print_only=True, lost=Lost(**lost))
    return [item.as_json() for item in resume.run(story.app(), request).results]


def test_only_lost_sessions_are_resumed(story: Story) -> None:
    agents = {name: story.agent(name) for name in ("lost", "old", "base")}
    story.processes.die(agents["old"].process)
    reconcile.run(story.app())
    story.clock.sleep(2 * DAY_S)
    story.stop("base")
    story.processes.die(agents["lost"].process)
    assert [one["name"] for one in taken(story)] == ["lost", "old"]
    assert [one["name"] for one in taken(story, since_s=DAY_S)] == ["lost"]


def test_lost_sessions_are_resumed_at_a_pace_and_failures_named(story: Story) -> None:
    for name in ("a", "b", "c"):
        story.processes.die(story.agent(name, message=False).process)
    before = story.clock.monotonic()
    result = resume.run(story.app(), ResumeRequest((), lost=Lost(at_once=1, pace_s=5.0)))
    codes = [item.error.code for item in result.results if item.error]
    assert codes == ["not_resumable"] * 3
    assert story.clock.monotonic() - before >= 10.0


@pytest.mark.parametrize("how", [{"dry_run": True}, {"print_only": True}])
def test_a_plan_for_lost_sessions_waits_for_none(story: Story, how: dict[str, bool]) -> None:
    for name in ("a", "b", "c"):
        story.processes.die(story.agent(name).process)
    reconcile.run(story.app())
    before = story.clock.monotonic()
    request = ResumeRequest((), lost=Lost(at_once=1, pace_s=5.0), **how)  # type: ignore[arg-type]
    assert len(resume.run(story.app(), request).results) == 3
    assert story.clock.monotonic() - before < 5.0
