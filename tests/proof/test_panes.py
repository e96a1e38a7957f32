"""The content of a pane: the agent, an idle shell, something else."""

from __future__ import annotations

import pytest

from tests.fakes import FakePane, Story
from tmuxreap.core.model import Live, Pane, Process, ProcessId
from tmuxreap.core.values import replace
from tmuxreap.proof.ownership import World
from tmuxreap.proof.panes import (
    agent_in,
    agents_in,
    began_work,
    describe_panes,
    in_foreground,
    is_busy,
    is_idle_shell,
    leader_of,
    process_tree,
    with_names,
)

PANE = Pane("%3", 100, "/dev/pts/0", False, False, False, False, "@0", False, "off")


def world(story: Story) -> World:
    return story.app().observer.look([story.SOCKET], 0)


def shell(story: Story) -> FakePane:
    return story.tmux.open(story.SOCKET, "plain", "bash").panes[0]


def test_the_agent_is_found_below_its_shell_too(story: Story) -> None:
    agent = story.agent(shell=True)
    demo = story.app().profiles.agents["demo"]
    assert [one.id for one in agent_in(agent.pane.now, demo, world(story))] == [agent.process]
    session = world(story).servers[story.SOCKET].sessions[0]  # type: ignore[union-attr]
    assert agents_in(session.panes, story.app().profiles, world(story)) == ["demo"]


def test_a_dead_pane_holds_no_process(story: Story) -> None:
    agent = story.agent()
    dead = replace(agent.pane.now, dead=True)
    assert agent_in(dead, story.app().profiles.agents["demo"], world(story)) == ()
    assert leader_of(dead, world(story)) is None
    assert not is_busy(dead, world(story))


def test_a_shell_that_waits_for_a_command_is_idle_and_one_with_a_child_is_not(story: Story) -> None:
    pane = shell(story)
    assert is_idle_shell(pane.now, world(story))
    assert agent_in(pane.now, None, world(story)) == ()
    story.processes.add("make", parent=pane.process, foreground=True)
    assert not is_idle_shell(pane.now, world(story))
    assert is_busy(pane.now, world(story))
    assert began_work(pane.now, world(story))
    assert len(agent_in(pane.now, None, world(story))) == 2


def test_below_a_nested_server_no_process_is_followed(story: Story) -> None:
    pane = shell(story)
    server = story.processes.add("tmux: server", parent=pane.process)
    story.processes.add("vim", parent=server)
    below = [one.comm for one in process_tree(world(story).index, pane.process.pid)]
    assert below == ["bash", "tmux: server"]


@pytest.mark.parametrize(
    ("pgrp", "tpgid", "front"), [(9, 9, True), (9, 8, False), (9, -1, False), (0, 0, False)]
)
def test_the_process_that_has_the_terminal_is_in_front(pgrp: int, tpgid: int, front: bool) -> None:
    assert in_foreground(Process(ProcessId(9, 1), 1, pgrp, 9, 34816, tpgid, "S", "x")) is front


def test_panes_are_listed_with_what_is_known_of_them() -> None:
    assert describe_panes([PANE, replace(PANE, id="%4", pid=None)]) == "%3 (pid 100), %4 (dead)"


def test_an_agent_that_is_gone_leaves_a_shell_that_is_not_alive(story: Story) -> None:
    agent = story.agent(shell=True)
    story.processes.die(agent.process)
    row = story.app().registry.look().named("acme")
    assert row is not None

    assert story.app().sights.with_pasts([row])[0][0].live is Live.AGENT_GONE


def test_a_pane_is_reported_with_what_is_in_front_of_it(story: Story) -> None:
    pane = shell(story)
    number, pid = pane.now.id, pane.process.pid
    assert describe_panes(with_names([pane.now], world(story))) == f"bash in {number} (pid {pid})"
    story.processes.add("vim", parent=pane.process, foreground=True)
    assert describe_panes(with_names([pane.now], world(story))) == f"vim in {number} (pid {pid})"
    gone = replace(pane.now, pid=None)
    assert describe_panes(with_names([gone], world(story))) == f"{number} (dead)"


def test_a_script_that_runs_more_than_its_last_shell_is_at_work(story: Story) -> None:
    """`sh -c 'agent; bash'`: idle while that bash alone is left; a job beside it is work."""
    pane = story.tmux.open(story.SOCKET, "plain", "sh", "-c", "agent; bash").panes[0]
    story.processes.add("bash", parent=pane.process, foreground=True)
    assert agent_in(pane.now, None, world(story)) == ()
    story.processes.add("make", parent=pane.process)
    assert len(agent_in(pane.now, None, world(story))) == 3
