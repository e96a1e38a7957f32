"""An agent whose pane is gone, while its conversation is in its own daemon: what ends it ends both,
and what the daemon brings back meanwhile is told."""

from __future__ import annotations

import json
from signal import Signals
from types import SimpleNamespace
from typing import Any

import pytest

from tests.commands.test_seats import Daemon, ending, the_one
from tests.fakes import FakeAgent, Story
from tmuxreap.commands import stop
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.model import EndVerb, ProcessId, Scope
from tmuxreap.ending import own_ends
from tmuxreap.ending.policy import Policy

STUBBORN = {Signals.SIGHUP, Signals.SIGTERM}


@pytest.fixture
def daemon(story: Story) -> Daemon:
    return Daemon(story)


@pytest.fixture
def agent(story: Story, daemon: Daemon) -> FakeAgent:
    """It went on when its session was closed, and says that w1 has its conversation."""
    agent = story.agent(ignores=STUBBORN)
    story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    parks(story, agent)
    (session, _) = story.tmux.servers[story.SOCKET].sessions
    story.tmux._kill_session(story.SOCKET, session.id)
    assert story.processes.alive(agent.process)
    return agent


def parks(story: Story, agent: FakeAgent) -> None:
    """Let it say that w1 has its conversation."""
    file = story.store / "sessions" / f"{agent.process.pid}.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "parked": "w1"}))


def ends(
    story: Story, daemon: Daemon, worker: ProcessId, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Let the daemon end it as it is told to; return what it is told."""
    told: list[str] = []

    def ended(_: object, line: str) -> object:
        told.append(line)
        story.processes.die(worker)
        daemon.workers.clear()
        daemon.write()
        return SimpleNamespace(is_done=True, reason=None, line=line)

    monkeypatch.setattr(own_ends, "OwnEnd", ended)
    return told


def keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the daemon end nothing."""
    deaf = SimpleNamespace(is_done=True, reason=None, line="demo stop w1")
    monkeypatch.setattr(own_ends, "OwnEnd", lambda *_: deaf)


@pytest.mark.parametrize("reconciled", [False, True], ids=["", "reconciled"])
def test_an_agent_that_outlived_its_pane_is_ended_with_its_daemons_session(
    story: Story,
    daemon: Daemon,
    agent: FakeAgent,
    monkeypatch: pytest.MonkeyPatch,
    reconciled: bool,
) -> None:
    worker = daemon.begin(own=agent.conversation)
    told = ends(story, daemon, worker, monkeypatch)
    one = the_one(story)
    assert (one["live"], one["drift"], one["seat"]) == ("alive", "moved", "demo:w1")
    if reconciled:
        reconcile.run(story.app())
        assert story.row()["terminal"] == "background"
    (ended,) = ending(story, "acme")
    assert (ended["outcome"], ended["stopped_by"], len(told)) == ("stopped", "sigkill", 1)
    assert not story.processes.alive(agent.process)
    assert story.row()["status"] == "stopped"


def test_a_session_that_its_daemon_keeps_survives(
    story: Story, daemon: Daemon, agent: FakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = daemon.begin(own=agent.conversation)
    keeps(monkeypatch)
    (ended,) = ending(story, "acme")
    assert (ended["outcome"], ended["error"]["code"]) == ("survived", "still_running")
    assert (story.processes.alive(worker), story.row()["status"]) == (True, "running")


def test_a_session_that_comes_back_while_its_agent_is_ended_is_not_signalled(
    story: Story, daemon: Daemon, agent: FakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends(story, daemon, daemon.begin(own=agent.conversation), monkeypatch)
    back: list[ProcessId] = []
    # While the agent, which ignores SIGTERM, has its grace.
    story.processes.after(3.0, lambda: back.append(daemon.begin(own=agent.conversation)))
    (ended,) = ending(story, "acme")
    error: Any = ended["error"]
    assert (ended["outcome"], error["code"]) == ("survived", "respawned")
    assert error["message"].endswith("demo's own daemon brought demo:w1 back")
    assert error["hint"] == "tmuxreap stop acme"
    assert story.processes.alive(back[0])
    assert back[0].pid not in [pid for pid, _ in story.processes.signals]
    assert story.row()["status"] == "running"


def test_an_agent_without_a_session_in_its_daemon_is_ended_alone(
    story: Story, daemon: Daemon, agent: FakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = daemon.begin("w2", own="another")
    told = ends(story, daemon, worker, monkeypatch)
    (ended,) = ending(story, "acme")
    assert (ended["outcome"], told, story.processes.alive(worker)) == ("stopped", [], True)


@pytest.mark.parametrize("lives", [True, False], ids=["outlived", "left"])
@pytest.mark.parametrize("deaf", [True, False], ids=["deaf", ""])
def test_a_session_without_its_agents_pane_is_ended_with_its_daemons_session(
    story: Story, daemon: Daemon, monkeypatch: pytest.MonkeyPatch, deaf: bool, lives: bool
) -> None:
    agent = story.agent(ignores=STUBBORN if lives else set())
    parks(story, agent)
    (session,) = story.tmux.servers[story.SOCKET].sessions
    story.tmux.split(story.SOCKET, session, "vim")
    worker = daemon.begin(own=agent.conversation)
    ends(story, daemon, worker, monkeypatch)
    if deaf:
        keeps(monkeypatch)
    session.panes.remove(agent.pane)
    story.processes.hang_up(agent.process)
    assert story.processes.alive(agent.process) is lives
    assert (the_one(story)["live"], the_one(story)["seat"]) == ("alive", "demo:w1")
    assert ending(story, "acme")[0]["error"]["code"] == "foreign_panes"
    policy = Policy(EndVerb.STOP, "manual_stop", scope=Scope.SESSION)
    (item,) = stop.run(story.app(), stop.EndRequest(("acme",), policy)).results
    left = story.processes.alive(worker)
    told = item.as_json()["outcome"], story.row()["status"], left
    assert told == (("survived", "running", True) if deaf else ("stopped", "stopped", False))
    assert deaf or not story.processes.alive(agent.process)
