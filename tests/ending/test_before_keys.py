"""Checks before the first key: rows, words and disks that could not record the end."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

import pytest

from tests.fakes import Story
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.errors import Code, Exit, Failure
from tmuxreap.core.results import Result
from tmuxreap.system import files


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


def test_the_other_targets_of_a_stop_continue(story: Story) -> None:
    story.agent()
    explicit(story)
    story.agent("other")
    result = story.stop("acme", "other")
    assert [item.as_json()["outcome"] for item in result.results] == ["failed", "stopped"]
    assert story.row("other")["status"] == "stopped"


def test_a_kill_ends_an_unwritable_row_all_the_same_and_says_so(story: Story) -> None:
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


def test_a_plan_tries_the_same_edit(story: Story) -> None:
    story.agent()
    explicit(story)
    story.agent("other")
    before = sorted(path.name for path in story.path.parent.iterdir())
    result = story.stop("acme", "other", dry_run=True)
    assert [item.as_json()["outcome"] for item in result.results] == ["failed", "planned"]
    assert (failures(result), result.exit) == ([Code.ROW_INVALID], Exit.REGISTRY)
    assert sorted(path.name for path in story.path.parent.iterdir()) == before
    assert story.kill("acme", dry_run=True).results[0].as_json()["outcome"] == "planned"


@pytest.mark.parametrize("dry_run", [True, False])
def test_where_nothing_can_be_written_nothing_is_ended(
    story: Story, monkeypatch: pytest.MonkeyPatch, dry_run: bool
) -> None:
    """A quota shows in no figure of the disk."""
    agent = story.agent()
    over = OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
    with monkeypatch.context() as patch:
        patch.setattr(files.os, "posix_fallocate", raising(over))
        with pytest.raises(Failure, match="quota exceeded") as refused:
            story.stop(dry_run=dry_run)
        assert refused.value.code is Code.REGISTRY_UNWRITABLE
        assert agent.heard == []
        assert not list(story.path.parent.glob(".*.tmp"))
        assert story.kill(dry_run=True).results[0].as_json()["outcome"] == "planned"
    assert story.stop().results[0].as_json()["outcome"] == "stopped"


def raising(error: OSError) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise error

    return fail
