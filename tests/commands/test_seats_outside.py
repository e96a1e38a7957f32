"""Sessions in an agent's own daemon whose pane is gone, while what was in that lives on."""

from __future__ import annotations

from signal import Signals
from types import SimpleNamespace

import pytest

from tests.background import ONE
from tests.commands.test_seats import Daemon, ending, the_one
from tests.fakes import FakeAgent, Story
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.model import ProcessId
from tmuxreap.ending import own_ends


@pytest.fixture
def daemon(story: Story) -> Daemon:
    return Daemon(story)


def closed(story: Story, agent: FakeAgent) -> None:
    """Its session is closed by hand, and only hung up."""
    story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    session = next(
        one
        for one in story.tmux.servers[story.SOCKET].sessions
        if any(pane is agent.pane for pane in one.panes)
    )
    story.tmux._kill_session(story.SOCKET, session.id)


@pytest.fixture
def told(story: Story, daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that end the daemon's sessions, which do."""
    lines: list[str] = []

    def end(_: object, line: str) -> object:
        lines.append(line)
        for worker in daemon.workers.values():
            pid, start = worker["pid"], worker["start"]
            assert isinstance(pid, int)
            assert isinstance(start, int)
            story.processes.die(ProcessId(pid, start))
        daemon.workers.clear()
        daemon.write()
        return SimpleNamespace(is_done=True, reason=None, line=line)

    monkeypatch.setattr(own_ends, "OwnEnd", end)
    return lines


def test_the_rest_of_a_closed_pane_is_ended_with_what_its_daemon_runs(
    story: Story, daemon: Daemon, told: list[str]
) -> None:
    agent = story.agent()
    left = story.processes.add("node", parent=agent.process, ignores={Signals.SIGHUP})
    worker = daemon.begin(own=agent.conversation)
    closed(story, agent)
    assert story.processes.alive(left)
    (one,) = ending(story, "acme")
    assert (one["outcome"], one["swept"]) == ("stopped", [{"pid": left.pid, "name": "node"}])
    assert (len(told), story.row()["status"]) == (1, "stopped")
    assert not story.processes.alive(worker)
    assert not story.processes.alive(left)


def test_a_row_that_moved_ends_what_was_left_of_its_pane(
    story: Story, daemon: Daemon, told: list[str]
) -> None:
    agent = story.agent()
    left = story.processes.add("node", parent=agent.process, ignores={Signals.SIGHUP})
    daemon.begin(own=agent.conversation)
    closed(story, agent)
    reconcile.run(story.app())
    assert story.row()["terminal"] == "background"
    (one,) = ending(story, "acme")
    assert (one["outcome"], story.processes.alive(left)) == ("stopped", False)


def test_a_process_that_the_rest_of_a_closed_pane_leaves_is_ended_too(
    story: Story, daemon: Daemon, told: list[str]
) -> None:
    """Only the pane's kernel session ties it to the row: no look saw its parent with it."""
    agent = story.agent()
    ignored = {Signals.SIGHUP, Signals.SIGTERM}
    left = story.processes.add("node", parent=agent.process, ignores=ignored)
    daemon.begin(own=agent.conversation)
    closed(story, agent)
    born: list[ProcessId] = []

    def goes_on() -> None:
        born.append(story.processes.add("node", parent=left, ignores=ignored))
        story.processes.die(left)

    story.processes.after(2.0, goes_on)
    (one,) = ending(story, "acme")
    assert [story.processes.alive(process) for process in born] == [False]
    assert one["outcome"] == "stopped"


def test_a_row_that_alone_names_what_is_left_of_its_pane_does_not_move(
    story: Story, daemon: Daemon, told: list[str]
) -> None:
    """It is another tool's, and no look ever saw its session."""
    session = story.tmux.open(story.SOCKET, "acme", "sh", ignores={Signals.SIGHUP})
    story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    leader = session.panes[0].process
    row = {"name": "acme", "status": "running", "agent": "demo", "store": str(story.store)}
    story.add_row({**row, "demo_conversation_id_own": ONE, "pane": {"pid": leader.pid}})
    daemon.begin()
    story.tmux._kill_session(story.SOCKET, session.id)
    assert the_one(story)["drift"] == "survivors"
    before = story.row()
    (item,) = reconcile.run(story.app()).results
    drift = item.as_json()
    assert (drift["drift"], drift["settled"]) == ("survivors", False)
    assert (drift["hint"], story.row()) == (f"tmuxreap adopt acme --pid {leader.pid}", before)
    (one,) = ending(story, "acme")
    assert (one["outcome"], one["error"]["code"], len(told)) == ("survived", "still_running", 1)
    assert (story.row()["status"], story.processes.alive(leader)) == ("running", True)
