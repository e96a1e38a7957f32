"""Children that keep an agent from being reaped, and helpers that do not."""

from __future__ import annotations

import pytest

from tests.fakes import DEMO, Story
from tests.reaping import kept, passes, reaped, says, told
from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.core.values import replace

HOUR_S = 3600.0


def test_the_child_of_a_running_tool_keeps_its_agent(story: Story) -> None:
    agent = story.agent(state="busy")
    says(story, "tool_before", "working")
    tool = story.processes.add("bash", parent=agent.process)
    passes(story, 1200)
    assert "a child of it is working: bash" in kept(reaped(story, Kind.STALLED))
    assert story.processes.alive(agent.process)
    story.processes.die(tool)
    assert told(reaped(story, Kind.STALLED)) == {"acme": ("stalled", "stopped")}


def test_servers_started_with_an_agent_do_not_keep_it(story: Story) -> None:
    agent = story.agent()
    story.processes.add(
        "node", "mcp-server", parent=agent.process, open_files=["socket:[7]", "/dev/null"]
    )
    passes(story, 3 * HOUR_S)
    result = reaped(story, Kind.IDLE)
    assert told(result) == {"acme": ("idle", "stopped")}
    assert "'what': 'helper'" in str(result.results[0].as_json()["evidence"])


@pytest.mark.parametrize(
    ("words", "told_of"),
    [
        (("bash", "-c", "make"), "(tool)"),
        (DEMO, "agent"),
        (("claude",), "agent"),
        (("cargo",), "started later"),
    ],
)
def test_working_children_keep_an_idle_agent(
    story: Story, words: tuple[str, ...], told_of: str
) -> None:
    agent = story.agent()
    passes(story, 100)
    story.processes.add(*words, parent=agent.process)
    passes(story, 3 * HOUR_S)
    assert told_of.strip("()") in kept(reaped(story, Kind.IDLE))
    assert story.processes.alive(agent.process)


def test_a_child_that_talks_to_nobody_keeps_the_agent(story: Story) -> None:
    agent = story.agent()
    story.processes.add("sleep", parent=agent.process, open_files=["/dev/pts/0"])
    passes(story, 3 * HOUR_S)
    assert "background" in kept(reaped(story, Kind.IDLE))


@pytest.mark.parametrize(("launcher", "told_of"), [("node", "idle"), ("python3", "agent")])
def test_a_child_that_a_launcher_starts_at_once_is_the_agent_itself(
    story: Story, launcher: str, told_of: str
) -> None:
    agent = story.agent()
    table = story.processes.table[agent.process.pid]
    table.now = replace(table.now, comm=launcher)
    story.processes.add(*DEMO, parent=agent.process)
    passes(story, 3 * HOUR_S)
    result = reaped(story, Kind.IDLE, yes=False)
    assert told_of in (kept(result) or str(told(result)))


def test_a_working_child_is_named_with_what_it_began_as_one(story: Story) -> None:
    agent = story.agent(state="busy")
    says(story, "tool_before", "working")
    tool = story.processes.add("bash", parent=agent.process)
    story.processes.add("cc1", parent=story.processes.add("make", parent=tool))
    passes(story, 1200)
    said = kept(reaped(story, Kind.STALLED))
    assert "a child of it is working: bash" in said
    assert "make" not in said
    assert "cc1" not in said
