"""The turns of real rows on fake panes: which get a key, and what is reported and recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import OWN_PID, FakeAgent, Story
from tmuxreap.commands.endings import ender_of
from tmuxreap.ending.interrupt import interrupt_rows
from tmuxreap.ledger.records import Heartbeat


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    new = Story(tmp_path)
    yield new
    new.close()


def told(story: Story, *, pid: int = OWN_PID, dry_run: bool = False) -> dict[str, Any]:
    app = story.app(pid)
    rows = [row for row in app.registry.look().usable if row.name == "acme"]
    (item,) = interrupt_rows(ender_of(app), rows, dry_run=dry_run)
    return item.as_json()


def refused(
    story: Story, agent: FakeAgent, code: str = "not_interruptible", outcome: str = "refused"
) -> None:
    """Check that it is refused without a key, also in the plan."""
    for dry_run in (True, False):
        one = told(story, dry_run=dry_run)
        assert (one["outcome"], one["error"]["code"]) == (outcome, code)
    assert agent.heard == []


def test_an_interrupt_ends_the_turn_and_records_an_event(story: Story) -> None:
    agent = story.agent(state="busy")
    one = told(story)
    assert (one["outcome"], one["state"], one["keys"]) == ("interrupted", "idle", ["Escape"])
    assert (agent.heard, agent.state) == (["Escape"], "idle")
    (event,) = [each for each in story.ledger().events() if each.kind == "interrupted"]
    assert event.data["keys"] == ["Escape"]


def test_an_interrupt_leaves_a_draft_where_it_is(story: Story) -> None:
    agent = story.agent(state="busy", draft="half a thought")
    assert told(story)["outcome"] == "interrupted"
    assert (agent.draft, agent.submitted) == ("half a thought", [])


def test_an_idle_agent_gets_no_key(story: Story) -> None:
    agent = story.agent(draft="half a thought")
    one = told(story)
    assert (one["outcome"], one["error"], agent.heard) == ("already_idle", None, [])


def test_a_dialog_is_closed_and_not_approved(story: Story) -> None:
    agent = story.agent(state="dialog")
    assert told(story)["outcome"] == "interrupted"
    assert (agent.heard, agent.approved) == (["Escape"], False)


def test_an_unknown_screen_gets_no_key(story: Story) -> None:
    agent = story.agent()
    agent.pane.screen = "Do you trust this folder? (y/n)"
    refused(story, agent)


def test_an_agent_without_a_profile_gets_no_key(story: Story) -> None:
    agent = story.agent(state="busy")
    text = story.path.read_text()
    story.path.write_text(text.replace('"agent": "demo"', '"agent": "stranger"'))
    refused(story, agent)


def test_a_shell_gets_no_key(story: Story) -> None:
    agent = story.agent(state="busy", shell=True)
    assert agent.shell is not None
    story.processes.put_in_front(agent.shell)
    refused(story, agent)
    story.processes.die(agent.process)
    refused(story, agent)


def test_synchronised_panes_get_no_key(story: Story) -> None:
    agent = story.agent(state="busy")
    story.tmux.change(agent.pane, synchronized=True)
    refused(story, agent)


def test_synchronised_panes_do_not_hide_another_reason(story: Story) -> None:
    agent = story.agent(state="busy")
    story.tmux.change(agent.pane, synchronized=True, input_off=True)
    assert "synchronize" not in told(story)["error"]["message"]


def test_the_callers_own_session_gets_no_key(story: Story) -> None:
    agent = story.agent(state="busy")
    inside = story.processes.add("sh", parent=agent.process)
    one = told(story, pid=inside.pid)
    assert (one["outcome"], one["error"]["code"], agent.heard) == ("refused", "own_session", [])


def test_interrupt_of_an_ended_session_is_gone(story: Story) -> None:
    agent = story.agent(state="busy")
    story.stop()
    agent.heard.clear()
    refused(story, agent, "gone", "failed")


def test_a_mode_is_left_for_an_interrupt_key_alone(story: Story) -> None:
    agent = story.agent(state="busy")
    story.tmux.change(agent.pane, in_mode=True)
    assert told(story)["outcome"] == "interrupted"
    story.tmux.change(agent.pane, in_mode=True)
    assert told(story)["outcome"] == "already_idle"
    assert agent.pane.now.in_mode


def test_an_interrupt_corrects_the_last_reported_state(story: Story) -> None:
    story.agent(state="busy")
    app = story.app()
    app.books.beat(Heartbeat("acme", app.clock.now(), "working", "prompt", None, {}))
    assert told(story)["outcome"] == "interrupted"
    assert story.app().books.pulses()["acme"].state == "idle"
