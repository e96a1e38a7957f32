"""Orphans: what an ended session left is ended, unrelated processes are not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes import FakeAgent, Story
from tests.reaping import passes, reaped, told
from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.core.model import ProcessId, Server, ServerLook, UnreadSession
from tmuxreap.core.values import replace
from tmuxreap.ledger.records import NewEvent, Survivor


def left_behind(story: Story, name: str = "acme") -> tuple[FakeAgent, ProcessId]:
    """Return an ended row's agent, and its helper that survived."""
    agent = story.agent(name, status="stopped")
    marks = {"TMUXREAP_ID": f"mark-of-{name}", "TMUXREAP_REGISTRY": str(story.path)}
    helper = story.processes.add(
        "node", parent=agent.process, new_session=True, environ=marks, memory=5 * 1024 * 1024
    )
    sessions = story.tmux.servers[story.SOCKET].sessions
    sessions[:] = [session for session in sessions if session.name != name]
    story.processes.die(agent.process)
    with story.ledger() as ledger:
        ledger.remember_mark(name, f"mark-of-{name}", 1.0)
    return agent, helper


def test_an_orphan_of_an_ended_row_is_ended_and_reported_with_its_memory_and_age(
    story: Story,
) -> None:
    _, helper = left_behind(story)
    passes(story, 60)
    result = reaped(story, Kind.ORPHAN)
    assert told(result) == {"acme": ("orphan", "stopped")}
    evidence: Any = result.results[0].as_json()["evidence"]
    (process,) = evidence["processes"]
    assert (process["pid"], process["name"], process["age_s"], process["memory_mb"]) == (
        helper.pid,
        "node",
        60,
        5.0,
    )
    assert (evidence["memory_mb"], evidence["age_s"], evidence["registered"]) == (5.0, 60, True)
    assert not story.processes.alive(helper)


def test_an_orphan_without_a_row_is_reported_by_the_name_that_it_had(story: Story) -> None:
    _, helper = left_behind(story)
    story.path.write_text("tmux_sessions: []\n")
    neighbour = story.agent("neighbour")
    result = reaped(story, Kind.ORPHAN)
    assert told(result) == {"acme": ("orphan", "stopped")}
    assert not story.processes.alive(helper)
    assert story.processes.alive(neighbour.process)
    with story.ledger() as ledger:
        (event,) = [event for event in ledger.events() if event.kind == "reaped"]
    assert (event.name, event.data["verdict"]) == ("acme", "orphan")


def test_processes_of_an_earlier_life_are_ended_and_the_new_one_lives(story: Story) -> None:
    _, helper = left_behind(story)
    story.path.write_text("tmux_sessions: []\n")
    agent = story.agent()
    with story.ledger() as ledger:
        ledger.remember_mark("acme", "mark-of-acme", 1.0)
    old = story.processes.table[helper.pid]
    old.environ = {**(old.environ or {}), "TMUXREAP_ID": "older-mark"}
    with story.ledger() as ledger:
        ledger.remember_mark("acme", "older-mark", 0.5)
    assert told(reaped(story, Kind.ORPHAN)) == {"acme": ("orphan", "stopped")}
    assert not story.processes.alive(helper)
    assert story.processes.alive(agent.process)
    assert story.row()["status"] == "running"


def test_a_process_known_by_ledger_and_mark_is_reported_once(story: Story) -> None:
    _, helper = left_behind(story)
    story.path.write_text("tmux_sessions: []\n")
    with story.ledger() as ledger:
        ledger.remember_survivors("acme", [Survivor(helper, story.BOOT, "node")], now=1.0)
    assert [item.as_json()["outcome"] for item in reaped(story, Kind.ORPHAN).results] == ["stopped"]


def test_a_survivor_that_only_the_ledger_remembers_is_an_orphan(story: Story) -> None:
    stray = story.processes.add("node", new_session=True, ignores=())
    again = story.processes.add("node", new_session=True)
    with story.ledger() as ledger:
        ledger.remember_survivors("gone", [Survivor(stray, story.BOOT, "node")], now=1.0)
        ledger.remember_survivors(
            "gone", [Survivor(ProcessId(again.pid, 1), story.BOOT, "node")], now=1.0
        )
        ledger.remember_survivors("gone", [Survivor(again, "an-older-boot", "node")], now=1.0)
    assert told(reaped(story, Kind.ORPHAN)) == {"gone": ("orphan", "stopped")}
    assert not story.processes.alive(stray)
    assert story.processes.alive(again)  # an unrelated process with a reused pid


@pytest.mark.parametrize("spared", ["ssh-agent", "tmux: server"])
def test_a_shared_process_is_no_orphan(story: Story, spared: str) -> None:
    _, helper = left_behind(story)
    marks = {"TMUXREAP_ID": "lost", "TMUXREAP_REGISTRY": str(story.path)}
    shared = story.processes.add(spared, new_session=True, environ=marks)
    below = story.processes.add("bash", parent=shared, new_session=True)
    assert told(reaped(story, Kind.ORPHAN)) == {"acme": ("orphan", "stopped")}
    assert story.processes.alive(shared)
    assert story.processes.alive(below)
    assert not story.processes.alive(helper)


def strangers(story: Story) -> dict[str, ProcessId]:
    """Return unrelated processes that resemble orphans in some way."""
    add, other = story.processes.add, f"/tmp/tmux-{story.UID}/other"
    ours = {"TMUXREAP_ID": "lost", "TMUXREAP_REGISTRY": str(story.path)}
    pane = story.tmux.open(other, "mine", "zsh", environ=ours).panes[0]
    inherited = story.tmux.open(f"/tmp/tmux-{story.UID}/marked", "x", "zsh").panes[0]
    server = story.tmux.servers[f"/tmp/tmux-{story.UID}/marked"].process
    story.processes.table[server.pid].environ = ours
    tmux = f"/tmp/tmux-{story.UID}/marked,{server.pid},0"
    return {
        "an agent in a plain terminal": add("claude", tty=99, new_session=True),
        "one in a terminal that an agent opened": add(
            "claude", tty=98, new_session=True, environ=ours
        ),
        "another registry's": add(
            "node", new_session=True, environ={**ours, "TMUXREAP_REGISTRY": "/else.yaml"}
        ),
        "a mark without a registry": add("node", new_session=True, environ={"TMUXREAP_ID": "lost"}),
        "a pane on another server": pane.process,
        "a daemon of that pane": add("node", parent=pane.process, new_session=True, environ=ours),
        "a pane of a marked server": inherited.process,
        "a daemon of a closed pane there": add(
            "node", new_session=True, environ={**ours, "TMUX": tmux, "TMUX_PANE": "%77"}
        ),
    }


def test_peoples_own_agents_and_other_servers_are_never_among_the_orphans(story: Story) -> None:
    _, helper = left_behind(story)
    theirs = strangers(story)
    result = reaped(story, Kind.ORPHAN)
    assert told(result) == {"acme": ("orphan", "stopped")}
    assert not story.processes.alive(helper)
    assert [name for name, process in theirs.items() if not story.processes.alive(process)] == []
    assert {pid for pid, _ in story.processes.signals} == {helper.pid}


@pytest.mark.parametrize("read", ["whole", "in part", "of another server"])
def test_a_server_that_could_not_be_read_whole_makes_no_orphan(
    story: Story, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    """The pane may be in the line that could not be parsed, or on the server that was there."""
    other = f"/tmp/tmux-{story.UID}/other"
    story.tmux.open(other, "mine", "zsh")
    server = story.tmux.servers[other].process
    ours = {"TMUXREAP_ID": "lost", "TMUXREAP_REGISTRY": str(story.path)}
    there = {**ours, "TMUX": f"{other},{server.pid},0", "TMUX_PANE": "%77"}
    helper = story.processes.add("node", new_session=True, environ=there)
    look = story.tmux.look

    def odd(socket: str) -> ServerLook:
        seen = look(socket)
        if socket != other or read == "whole":
            return seen
        assert isinstance(seen, Server)
        if read == "in part":
            return replace(seen, unread=(UnreadSession(None, None),))
        return replace(seen, pid=seen.pid + 1)

    monkeypatch.setattr(story.tmux, "look", odd)
    reaped(story, Kind.ORPHAN)
    assert story.processes.alive(helper) is (read != "whole")


def test_a_session_that_was_only_forgotten_is_no_orphan(story: Story) -> None:
    agent = story.agent()
    environ = story.processes.table[agent.process.pid].environ or {}
    story.processes.table[agent.process.pid].environ = {
        **environ,
        "TMUXREAP_REGISTRY": str(story.path),
    }
    story.path.write_text("tmux_sessions: []\n")
    assert not reaped(story).results
    assert story.processes.alive(agent.process)


def test_a_mark_that_came_from_another_server_than_its_session_is_no_orphan(story: Story) -> None:
    marks = {
        "TMUXREAP_ID": "m-1",
        "TMUXREAP_REGISTRY": str(story.path),
        "TMUX": "/tmp/gone,50,0",
        "TMUX_PANE": "%1",
    }
    stray = story.processes.add("node", new_session=True, environ=marks)
    with story.ledger() as ledger:
        ledger.remember_mark("old", "m-1", 1.0)
        ledger.record_event(
            NewEvent("old", "started", {"mark": "m-1", "tmux": "/tmp/elsewhere,51"}), 1.0
        )
    assert not reaped(story, Kind.ORPHAN).results
    assert story.processes.alive(stray)


def test_an_ended_row_whose_session_lives_has_no_orphans(story: Story) -> None:
    agent = story.agent(status="stopped")
    helper = story.processes.add("node", parent=agent.process, new_session=True)
    assert not reaped(story).results
    assert story.processes.alive(agent.process)
    assert story.processes.alive(helper)
