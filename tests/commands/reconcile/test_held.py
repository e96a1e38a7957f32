"""Restarts that were cut off: `reconcile` closes what they held, and makes the row true."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import OWN_PID, FakePane, Story
from tmuxreap.commands import resume, start
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.commands.reconcile.held import is_of_restart, place_of
from tmuxreap.commands.reconcile.reconcile import restarts_cut_off
from tmuxreap.core import faults
from tmuxreap.core.faults import Step
from tmuxreap.core.values import replace


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    new = Story(tmp_path)
    new.comes_back()
    yield new
    new.close()


class Died(BaseException):
    """The process that restarted was killed: nothing of it runs any more."""


@pytest.fixture
def killed_at(story: Story, monkeypatch: pytest.MonkeyPatch) -> Callable[[Step], None]:
    """Return what restarts the agent, and kills that process at the step."""

    def run(step: Step) -> None:
        mine = story.processes.add("tmuxreap")

        def at(now: Step) -> None:
            if now is step:
                raise Died

        monkeypatch.setattr(faults, "at", at)
        clear = "tmuxreap.commands.starting.comeback.Comeback.clear"
        monkeypatch.setattr(clear, lambda self: None)
        with pytest.raises(Died):
            story.restart(pid=mine.pid)
        monkeypatch.undo()
        story.processes.die(mine)

    return run


def settled(story: Story) -> dict[str, Any]:
    result = reconcile.run(story.app(OWN_PID))
    assert reconcile.run(story.app(OWN_PID)).as_json()["actions"] == []
    assert story.ledger().open_intents() == []
    return result.as_json()


@pytest.mark.parametrize("step", [Step.HELD, Step.CREATED, Step.CONFIRMED])
def test_a_pane_that_is_held_is_closed(
    story: Story, killed_at: Callable[[Step], None], step: Step
) -> None:
    story.agent(draft="half a thought")
    killed_at(step)
    assert story.row()["status"] == "stopped"
    (intent,) = story.ledger().open_intents()
    assert is_of_restart(intent)
    answer = settled(story)
    assert [one["drift"] for one in answer["drifts"]] == ["intent"]
    row = story.row()
    assert (row["status"], row["resumable"], row["stop_reason"]) == ("stopped", True, "restarted")
    assert story.SOCKET not in story.tmux.servers
    drafts = [event.data["text"] for event in story.ledger().events() if event.kind == "draft"]
    assert drafts == ["half a thought"]


def test_a_draft_typed_into_an_unrecorded_agent_is_kept(
    story: Story, killed_at: Callable[[Step], None]
) -> None:
    story.agent()
    killed_at(Step.CREATED)
    story.agents["acme"].press("a new thought")
    settled(story)
    drafts = [event.data["text"] for event in story.ledger().events() if event.kind == "draft"]
    assert drafts == ["a new thought"]
    assert "C-c" in story.agents["acme"].heard  # its own keys, and no signal


def test_a_program_that_a_person_began_in_the_pane_lives(
    story: Story, killed_at: Callable[[Step], None]
) -> None:
    agent = story.agent()
    killed_at(Step.HELD)
    agent.pane.process = story.processes.add("vim", new_session=True, tty=agent.pane.tty)
    story.tmux.change(agent.pane, pid=agent.pane.process.pid, dead=False)
    answer = settled(story)
    assert [one["drift"] for one in answer["drifts"]] == ["revived"]
    assert story.processes.refresh(agent.pane.process) is not None
    assert agent.pane.options == {}


def test_another_server_of_the_same_socket_is_left_alone(
    story: Story, killed_at: Callable[[Step], None]
) -> None:
    agent = story.agent()
    killed_at(Step.HELD)
    (intent,) = story.ledger().open_intents()
    place = place_of(intent)
    assert place is not None
    story.tmux._remove(agent.pane)
    session = story.tmux.open(story.SOCKET, "other", "vim")
    pane: FakePane = session.panes[0]
    assert (session.id, pane.now.id) == (place.session, place.pane)
    settled(story)
    assert story.processes.refresh(pane.process) is not None


def test_a_row_that_was_forgotten_meanwhile_holds_no_pane(
    story: Story, killed_at: Callable[[Step], None]
) -> None:
    story.agent()
    killed_at(Step.HELD)
    story.path.write_text("tmux_sessions: []\n")
    settled(story)
    assert story.SOCKET not in story.tmux.servers


@pytest.mark.parametrize("step", [Step.INTENT, Step.KEYS])
def test_a_hold_cut_off_before_the_keys_changes_nothing(
    story: Story, killed_at: Callable[[Step], None], step: Step
) -> None:
    agent = story.agent()
    killed_at(step)
    answer = settled(story)
    assert "tmuxreap restart acme" in str(answer["drifts"])
    assert (agent.heard, agent.pane.options) == ([], {})
    assert story.row()["status"] == "running"


@pytest.mark.parametrize("step", [Step.HANGUP, Step.PROVEN])
def test_a_hold_cut_off_before_the_record_ends_like_a_stop(
    story: Story, killed_at: Callable[[Step], None], step: Step
) -> None:
    story.agent()
    killed_at(step)
    settled(story)
    row = story.row()
    assert (row["status"], row["resumable"]) == ("stopped", True)
    assert story.SOCKET not in story.tmux.servers


AFTER_THE_END = [Step.HELD, Step.CREATED, Step.CONFIRMED]


@pytest.mark.parametrize("step", AFTER_THE_END)
def test_a_resume_closes_the_pane_first(
    story: Story, killed_at: Callable[[Step], None], step: Step
) -> None:
    story.agent(draft="half a thought")
    killed_at(step)
    request = resume.ResumeRequest(("acme",), print_only=True)
    (refused,) = resume.run(story.app(OWN_PID), request).results
    assert refused.error is not None
    assert refused.error.hint == "close its pane first: tmuxreap reconcile"
    (item,) = resume.run(story.app(OWN_PID), replace(request, print_only=False)).results
    assert item.error is None
    assert story.row()["status"] == "running"
    assert story.ledger().open_intents() == []
    (server,) = story.tmux.servers.values()
    assert [session.name for session in server.sessions] == ["acme"]


@pytest.mark.parametrize("step", AFTER_THE_END)
@pytest.mark.parametrize("target", ["acme", "all"])
def test_a_stop_closes_the_pane(
    story: Story, killed_at: Callable[[Step], None], step: Step, target: str
) -> None:
    agent = story.agent()
    killed_at(step)
    planned = story.stop(target, dry_run=True)
    assert [one.error.hint for one in planned.results if one.error] == [
        "close its pane first: tmuxreap reconcile"
    ]
    assert story.SOCKET in story.tmux.servers
    result = story.stop(target)
    assert int(result.exit) == 0
    assert story.SOCKET not in story.tmux.servers
    assert story.processes.refresh(agent.process) is None
    row = story.row()
    assert (row["status"], row["resumable"], row["stop_reason"]) == ("stopped", True, "restarted")
    assert story.ledger().open_intents() == []


@pytest.mark.parametrize("replaces", [False, True])
def test_a_start_closes_the_pane_first(
    story: Story, killed_at: Callable[[Step], None], replaces: bool
) -> None:
    story.agent()
    killed_at(Step.HELD)
    request = start.StartRequest(
        "acme", "demo", server=story.SOCKET, replace=replaces, confirm_s=1.0
    )
    (item,) = start.run(story.app(OWN_PID), request).results
    assert item.error is None
    assert story.row()["status"] == "running"
    assert story.ledger().open_intents() == []


def test_a_stop_leaves_what_a_person_began_in_the_pane(
    story: Story, killed_at: Callable[[Step], None]
) -> None:
    agent = story.agent()
    killed_at(Step.HELD)
    agent.pane.process = story.processes.add("vim", new_session=True, tty=agent.pane.tty)
    story.tmux.change(agent.pane, pid=agent.pane.process.pid, dead=False)
    (item,) = story.stop().results
    assert item.error is not None
    assert item.error.code == "session_alive"
    assert story.processes.refresh(agent.pane.process) is not None


def test_a_restart_in_progress_is_not_settled(
    story: Story, killed_at: Callable[[Step], None]
) -> None:
    story.agent()
    killed_at(Step.HELD)
    (intent,) = story.ledger().open_intents()
    story.processes.add("tmuxreap", pid=intent.owner.pid)
    owner = story.processes.table[intent.owner.pid]
    owner.now = replace(owner.now, id=intent.owner)
    assert restarts_cut_off(story.app(OWN_PID)) == frozenset()
