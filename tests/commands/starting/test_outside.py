"""Sessions outside tmux, as their rows describe them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes import DEMO, Story
from tmuxreap.commands import adopt
from tmuxreap.commands.starting.outside import with_process
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import RecordedPane, Row, Terminal


def test_a_process_is_distinguished_from_a_stranger_with_its_pid(story: Story) -> None:
    leader, app = story.processes.add("claude", new_session=True), story.app()
    unseen = Row("acme", agent="claude", terminal=Terminal.KITTY, pane=RecordedPane(id="7"))
    row = with_process(app, unseen, leader)
    assert (row.pane.id, row.pane.pid, row.pane.start_ticks) == ("7", leader.pid, leader.start)
    assert row.pane.created_epoch == round(story.processes.started_epoch(leader), 2)
    assert (row.terminal, row.tmux.host, row.tmux.boot_id) == (
        Terminal.KITTY,
        story.HOST,
        story.BOOT,
    )
    assert not row.tmux.known


def adopted(story: Story, name: str = "acme", **words: object) -> Any:
    wish = adopt.AdoptRequest(name, **words)  # type: ignore[arg-type]
    return adopt.run(story.app(), wish).results[0]


@pytest.mark.parametrize("pane", ["xterm:7", "kitty", "kitty:", "kitty:x", "kitty:\u0667", ":7"])
def test_a_pane_that_no_terminal_has_is_refused(story: Story, pane: str) -> None:
    with pytest.raises(Failure, match="is no pane of another terminal") as refused:
        adopted(story, pane=pane)
    assert refused.value.hint == "write --pane kitty:ID or --pane wezterm:ID"


@pytest.mark.parametrize("pid", [0, -1, 4711])
def test_a_process_that_does_not_exist_is_refused(story: Story, pid: int) -> None:
    with pytest.raises(Failure, match=f"there is no process {pid}") as refused:
        adopted(story, pid=pid)
    assert refused.value.code is Code.PROCESS_NOT_FOUND


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (None, "no agent is recognised there"),
        ("demo", "no demo is recognised there"),
        ("nosuch", "nothing is known of the agent nosuch"),
    ],
)
def test_a_process_without_an_agent_is_refused(
    story: Story, agent: str | None, message: str
) -> None:
    leader = story.processes.add("make", new_session=True)
    with pytest.raises(Failure, match=message):
        adopted(story, pid=leader.pid, agent=agent)
    assert "acme" not in story.path.read_text()


def test_a_process_with_two_agents_needs_the_name_of_one(story: Story) -> None:
    leader = story.processes.add("bash", new_session=True)
    story.processes.add(*DEMO, parent=leader)
    story.processes.add("codex", parent=leader)
    with pytest.raises(Failure, match="several agents run there: demo, codex"):
        adopted(story, pid=leader.pid)
    adopted(story, pid=leader.pid, agent="codex")
    assert story.row()["agent"] == "codex"


def test_an_agent_without_a_terminal_is_adopted_by_its_process(story: Story) -> None:
    leader = story.processes.add(*DEMO, new_session=True)
    adopted(story, pid=leader.pid)
    row: Any = story.row()
    assert (row["agent"], row["terminal"], row["pane"]["pid"]) == ("demo", "none", leader.pid)
    with pytest.raises(Failure, match=f"the process {leader.pid} belongs to acme") as refused:
        adopted(story, "other", pid=leader.pid)
    assert refused.value.code is Code.SESSION_EXISTS


def test_a_process_in_a_pane_of_tmux_is_adopted_by_its_session(story: Story) -> None:
    pane = story.tmux.open(story.SOCKET, "work", *DEMO).panes[0]
    with pytest.raises(Failure, match="lives in a pane of tmux"):
        adopted(story, pid=pane.process.pid)


@pytest.mark.parametrize("pid", [1, None])
def test_a_process_that_runs_more_than_the_agent_is_refused(story: Story, pid: int | None) -> None:
    """Of a container without an init, its first process is a shell; and a script may run tmux."""
    leader = story.processes.add("bash", new_session=True, pid=pid)
    agent = story.processes.add(*DEMO, parent=leader)
    if pid is None:
        story.processes.add("tmux: server", parent=leader, new_session=True)
    with pytest.raises(Failure, match=f"process {leader.pid} runs more than an agent") as refused:
        adopted(story, pid=leader.pid)
    assert refused.value.hint == f"name the agent's own process: --pid {agent.pid}"
