"""From rows to endings: each is answered at once or planned, and nothing is written."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ending.test_plan import KILL, STOP
from tests.fakes import CONVERSATION, Story
from tests.proof.test_carriers import DOCKER
from tmuxreap.agents.screens import State
from tmuxreap.commands.endings import ender_of
from tmuxreap.ending.ending_state import EndingState
from tmuxreap.ending.policy import Policy
from tmuxreap.sessions.conversation import Finder


def ending(story: Story, policy: Policy = STOP) -> EndingState:
    app = story.app()
    (prepared,) = ender_of(app).planning.prepare(app.registry.look().usable, policy)
    return prepared


def answer(prepared: EndingState) -> dict[str, Any]:
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


def test_an_ended_row_without_leftovers_is_answered_at_once(story: Story) -> None:
    story.agent(status="stopped")
    story.tmux.servers[story.SOCKET].sessions.clear()
    story.processes.die(story.agents["acme"].process)
    facts = answer(ending(story))
    assert (facts["outcome"], facts["status"], facts["resumable"]) == (
        "already_stopped",
        "stopped",
        True,
    )


def test_a_refused_ending_says_for_which_agent_and_process(story: Story) -> None:
    story.agent(status="stopped")
    facts = answer(ending(story))
    assert (facts["outcome"], facts["error"]["code"]) == ("refused", "session_alive")
    assert (facts["agent"], facts["pid"]) == ("demo", story.agents["acme"].process.pid)


@pytest.mark.parametrize(
    ("state", "carried", "shown"),
    [
        ("busy", False, State.BUSY),
        ("idle", False, State.IDLE),
        ("dialog", False, State.DIALOG),
        ("busy", True, None),
    ],
)
def test_only_the_screen_of_an_agent_here_is_compared_with_its_server(
    story: Story, monkeypatch: pytest.MonkeyPatch, state: str, carried: bool, shown: State | None
) -> None:
    """What is behind a carrier has its conversation there."""
    agent = story.agent(state=state)
    if carried:
        screen = agent.pane.screen
        agent.pane = story.tmux.open(story.SOCKET, "other", *DOCKER).panes[0]
        agent.pane.screen = screen
        row = {"name": "other", "status": "running", "agent": "demo"}
        story.add_row({**row, "pane": {"pid": agent.pane.now.pid, "cwd": "/"}})
    seen = []
    monkeypatch.setattr(Finder, "served", lambda *given: seen.append(given[-1]))
    app = story.app()
    rows = app.registry.look().usable[-1:]
    (prepared,) = ender_of(app).planning.prepare(rows, KILL)
    assert (prepared.sight.carrier is not None, seen) == (carried, [shown])


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
