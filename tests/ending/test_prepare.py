"""From rows to endings: each is answered at once or planned, and nothing is written."""

from __future__ import annotations

from typing import Any

from tests.ending.test_plan import KILL, STOP
from tests.fakes import CONVERSATION, Story
from tmuxreap.ending.ending import Ending
from tmuxreap.ending.plan import Policy
from tmuxreap.ending.prepare import prepare


def ending(story: Story, policy: Policy = STOP) -> Ending:
    app = story.app()
    (prepared,) = prepare(app, app.registry.look().usable, policy)
    return prepared


def answer(prepared: Ending) -> dict[str, Any]:
    assert prepared.answer is not None
    return prepared.answer.as_json()


def test_a_living_agent_is_planned_with_its_conversation(story: Story) -> None:
    story.agent()
    before = story.written()
    prepared = ending(story)
    assert prepared.answer is None
    assert (prepared.agent, prepared.conversation.id) == ("demo", CONVERSATION)
    assert prepared.memory == 1_000_000
    assert story.written() == before


def test_who_has_ended_and_left_nothing_is_answered(story: Story) -> None:
    story.agent(status="stopped")
    story.tmux.servers[story.SOCKET].sessions.clear()
    story.processes.die(story.agents["acme"].process)
    facts = answer(ending(story))
    assert (facts["outcome"], facts["status"], facts["resumable"]) == (
        "already_stopped",
        "stopped",
        True,
    )


def test_what_is_refused_says_of_whom(story: Story) -> None:
    story.agent(status="stopped")
    facts = answer(ending(story))
    assert (facts["outcome"], facts["error"]["code"]) == ("refused", "session_alive")
    assert (facts["agent"], facts["pid"]) == ("demo", story.agents["acme"].process.pid)


def test_options_are_read_for_keys_and_not_for_a_kill(story: Story) -> None:
    agent = story.agent()
    story.tmux.change(agent.pane, synchronized=True)
    plan = ending(story).plan
    assert [(one.option, one.during) for one in plan.recorded().options] == [
        ("remain-on-exit", "on"),
        ("synchronize-panes", "off"),
    ]
    killed = ending(story, KILL).plan
    assert killed.options == ()
