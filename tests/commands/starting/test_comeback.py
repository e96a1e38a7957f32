"""The second half of a restart: the agent comes back into its pane, or the pane is closed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from signal import Signals
from typing import Any

import pytest

from tests.fakes import FakePane, Story
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.errors import Code, Failure
from tmuxreap.registry.file import RegistryFile


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    new = Story(tmp_path)
    new.comes_back()
    yield new
    new.close()


def check_stopped(story: Story, one: dict[str, Any]) -> None:
    """Check that the row is stopped and resumable, and that nothing is held any more."""
    assert (one["outcome"], one["error"]["code"]) == ("failed", "start_failed")
    assert (one["status"], one["resumable"]) == ("stopped", True)
    assert "tmuxreap resume acme" in one["error"]["hint"]
    row = story.row()
    assert (row["status"], row["resumable"], row["stop_reason"]) == ("stopped", True, "restarted")
    assert story.SOCKET not in story.tmux.servers
    assert story.ledger().open_intents() == []


def test_an_agent_that_dies_at_once_leaves_a_stopped_row(story: Story) -> None:
    story.agent()

    def dies(pane: FakePane) -> None:
        pane.screen = "no such model"
        story.processes.die(pane.process)

    story.tmux.on_respawn = dies
    (one,) = story.restart()
    check_stopped(story, one)
    assert "no such model" in one["error"]["message"]


def test_an_agent_that_dies_before_its_confirmation_leaves_a_stopped_row_too(story: Story) -> None:
    story.agent()
    began = story.tmux.on_respawn
    assert began is not None

    def dies(pane: FakePane) -> None:
        began(pane)
        story.processes.after(0.5, lambda: story.processes.die(pane.process))

    story.tmux.on_respawn = dies
    (one,) = story.restart()
    check_stopped(story, one)


def test_a_pane_that_vanished_is_no_place_to_come_back(story: Story) -> None:
    agent = story.agent()

    def closed() -> None:
        """Act like a hook of the user's that closes dead panes."""
        story.tmux._remove(agent.pane)

    leave = agent.leave

    def leaves() -> None:
        leave()
        story.processes.after(0.01, closed)

    agent.leave = leaves  # type: ignore[method-assign]
    (one,) = story.restart()
    check_stopped(story, one)


def test_the_other_panes_live_on(story: Story) -> None:
    agent = story.agent()
    session = story.tmux.servers[story.SOCKET].sessions[0]
    other = story.tmux.split(story.SOCKET, session, "vim", "vim", "notes")
    story.tmux.on_respawn = lambda pane: story.processes.die(pane.process)
    (one,) = story.restart()
    assert one["error"]["code"] == "start_failed"
    assert [pane.now.id for pane in session.panes] == [other.now.id]
    assert story.processes.refresh(other.process) is not None
    assert story.processes.refresh(agent.process) is None


def test_an_end_that_could_not_be_written_leaves_the_rest_to_reconcile(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.agent()
    plain = RegistryFile.change

    def full(self: RegistryFile, edit: Any) -> Any:
        raise Failure(Code.REGISTRY_UNWRITABLE, "could not write: no space left", "")

    monkeypatch.setattr(RegistryFile, "change", full)
    (one,) = story.restart()
    assert (one["outcome"], one["error"]["code"]) == ("failed", "registry_unwritable")
    assert story.row()["status"] == "running"
    monkeypatch.setattr(RegistryFile, "change", plain)
    reconcile.run(story.app())
    assert story.row()["status"] == "stopped"
    assert story.SOCKET not in story.tmux.servers


def test_a_survivor_keeps_the_row_running_and_the_pane_its_option(story: Story) -> None:
    agent = story.agent(leaves=False, unkillable=True, ignores={Signals.SIGHUP, Signals.SIGTERM})
    (one,) = story.restart()
    assert (one["outcome"], one["status"], one["error"]["code"]) == (
        "survived",
        "running",
        "still_running",
    )
    assert agent.pane.options == {}
    assert story.ledger().open_intents() == []
