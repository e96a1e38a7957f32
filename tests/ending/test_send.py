"""Prompts to real rows on fake panes: what gets one, what is refused, and what is recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import OWN_PID, FakeAgent, Story
from tmuxreap.commands.endings import ender_of
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.errors import Failure
from tmuxreap.ending.send import send_prompt
from tmuxreap.ledger.records import SEND, Begun, Heartbeat, NewIntent
from tmuxreap.sessions.context import Context


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    new = Story(tmp_path)
    yield new
    new.close()


def told(
    story: Story, text: str = "go on", *, pid: int = OWN_PID, dry_run: bool = False
) -> dict[str, Any]:
    app = story.app(pid)
    row = app.registry.look().named("acme")
    assert row is not None
    return send_prompt(ender_of(app), app.states, row, text, 3.0, dry_run=dry_run).item.as_json()


def refused(story: Story, agent: FakeAgent, code: str = "not_idle") -> dict[str, Any]:
    """Check that it is refused without a key."""
    heard = list(agent.heard)
    one = told(story)
    assert (one["outcome"], one["error"]["code"]) == ("refused", code)
    assert agent.heard == heard
    assert [event for event in story.ledger().events() if event.kind == "sent"] == []
    return one


def test_a_prompt_is_pasted_and_submitted_once(story: Story) -> None:
    agent = story.agent()
    agent.works = True
    one = told(story, "go on\nand on")
    assert (one["outcome"], one["state"], one["submitted"]) == ("sent", "working", True)
    assert (agent.heard, agent.submitted) == (["go on\nand on", "Enter"], ["go on\nand on"])
    assert story.tmux.buffers == {}


def test_only_the_length_of_a_prompt_is_recorded(story: Story) -> None:
    story.agent().works = True
    told(story, "the secret plan")
    (event,) = [each for each in story.ledger().events() if each.kind == "sent"]
    assert (event.data["chars"], event.data["lines"], event.data["outcome"]) == (15, 1, "sent")
    for path in story.folder.iterdir():
        if path.is_file():
            assert b"secret plan" not in path.read_bytes(), path


def test_a_prompt_that_is_not_seen_to_start_is_unconfirmed(story: Story) -> None:
    agent = story.agent()
    one = told(story)
    assert (one["outcome"], one["error"]["code"]) == ("unknown", "unconfirmed")
    assert one["submitted"] is True
    assert agent.heard == ["go on", "Enter"]


def test_a_report_by_a_hook_confirms_a_prompt(story: Story) -> None:
    agent = story.agent()
    app = story.app()
    plain = agent.press

    def press(key: str) -> None:
        plain(key)
        if key == "Enter":
            app.books.beat(Heartbeat("acme", app.clock.now(), "working", "prompt", None, {}))

    agent.pane.on_key = press
    assert told(story)["outcome"] == "sent"


@pytest.mark.parametrize(
    ("state", "draft", "shown"),
    [("busy", "", "working"), ("dialog", "", "waiting"), ("idle", "half a thought", "idle")],
)
def test_an_input_that_is_not_idle_and_empty_gets_no_key(
    story: Story, state: str, draft: str, shown: str
) -> None:
    agent = story.agent(state=state, draft=draft)
    one = refused(story, agent)
    assert one["state"] == shown
    assert not draft or "draft" in one["error"]["message"]


def test_an_agent_that_says_that_it_works_gets_no_key(story: Story) -> None:
    agent, app = story.agent(), story.app()
    (story.store / "sessions" / f"{agent.process.pid}.json").unlink()  # its record would say idle
    app.books.beat(Heartbeat("acme", app.clock.now(), "working", "prompt", None, {}))
    assert refused(story, agent)["state"] == "working"


def test_a_shell_in_front_gets_no_key(story: Story) -> None:
    agent = story.agent(shell=True)
    assert agent.shell is not None
    story.processes.put_in_front(agent.shell)
    refused(story, agent)


def test_synchronised_panes_get_no_key(story: Story) -> None:
    agent = story.agent()
    story.tmux.change(agent.pane, synchronized=True)
    refused(story, agent)


def test_the_callers_own_session_gets_no_key(story: Story) -> None:
    agent = story.agent()
    inside = story.processes.add("sh", parent=agent.process)
    one = told(story, pid=inside.pid)
    assert (one["outcome"], one["error"]["code"], agent.heard) == ("refused", "own_session", [])
    assert one["error"]["message"].startswith("could not send to acme: ")


def test_send_to_an_ended_session_is_gone(story: Story) -> None:
    agent = story.agent()
    story.stop()
    agent.heard.clear()
    one = told(story)
    assert (one["outcome"], one["error"]["code"], agent.heard) == ("failed", "gone", [])


@pytest.mark.parametrize("text", ["/clear", " /exit", "/work 5\nmore"])
def test_a_command_to_the_agent_is_a_mistake(story: Story, text: str) -> None:
    agent = story.agent()
    with pytest.raises(Failure) as mistake:
        told(story, text)
    assert (mistake.value.code.text, agent.heard) == ("usage", [])


def test_text_typed_meanwhile_is_not_submitted(story: Story) -> None:
    """Between the paste and the second look a person types."""
    agent = story.agent()
    plain = agent.press

    def press(heard: str) -> None:
        plain(heard)
        if heard == "go on":
            agent.draft += " but carefully"
            agent.draw()

    agent.pane.on_key = press
    one = told(story)
    assert (one["outcome"], one["error"]["code"]) == ("unknown", "unconfirmed")
    assert (one["submitted"], agent.heard, agent.submitted) == (False, ["go on"], [])
    assert "Enter was not pressed" in one["error"]["message"]


def test_a_dialog_that_opens_after_the_paste_is_not_answered(story: Story) -> None:
    agent = story.agent()
    plain = agent.press

    def press(heard: str) -> None:
        plain(heard)
        agent.state = "dialog"
        agent.draw()

    agent.pane.on_key = press
    assert told(story)["error"]["code"] == "unconfirmed"
    assert (agent.heard, agent.approved) == (["go on"], False)


def intent_of(story: Story, app: Context, verb: str, owner: int) -> None:
    process = story.processes.add("tmuxreap", pid=owner)
    place, deadline = (process, story.BOOT), app.clock.now() + 30
    new = NewIntent("acme", verb, "", "agent", *place, deadline, (), json.dumps({}))
    (begun,) = app.books.begin([new], lambda _: True, take_over=False)
    assert isinstance(begun, Begun)


@pytest.mark.parametrize("verb", ["send", "stop", "kill", "start"])
def test_a_second_send_at_the_same_time_is_refused(story: Story, verb: str) -> None:
    agent = story.agent()
    intent_of(story, story.app(), verb, 4242)
    one = refused(story, agent)
    assert f"another {verb} of it is in progress, by process 4242" in one["error"]["message"]


def test_an_ending_that_was_cut_off_is_not_overwritten(story: Story) -> None:
    agent = story.agent()
    intent_of(story, story.app(), "stop", 4242)
    story.processes.die(story.processes.identify(4242))  # type: ignore[arg-type]
    one = refused(story, agent)
    assert "reconcile" in one["error"]["hint"]
    assert [intent.verb for intent in story.ledger().open_intents()] == ["stop"]


def test_a_send_that_was_cut_off_ends_nothing_and_blocks_nothing(story: Story) -> None:
    agent = story.agent()
    agent.works = True
    intent_of(story, story.app(), SEND, 4242)
    story.processes.die(story.processes.identify(4242))  # type: ignore[arg-type]
    assert told(story)["outcome"] == "sent"
    assert story.ledger().open_intents() == []


def test_reconcile_closes_a_send_that_was_cut_off(story: Story) -> None:
    agent = story.agent()
    intent_of(story, story.app(), SEND, 4242)
    story.processes.die(story.processes.identify(4242))  # type: ignore[arg-type]
    (drift,) = reconcile.run(story.app()).results
    assert (drift.drift, drift.hint) == ("intent", "tmuxreap show acme")
    assert story.ledger().open_intents() == []
    assert reconcile.run(story.app()).results == []
    assert (story.row()["status"], agent.heard) == ("running", [])


def test_a_stop_after_a_send_is_an_ordinary_stop(story: Story) -> None:
    story.agent()
    told(story)
    (item,) = story.stop().results
    assert item.as_json()["outcome"] == "stopped"


def test_a_plan_types_nothing(story: Story) -> None:
    agent = story.agent()
    one = told(story, dry_run=True)
    assert (one["outcome"], one["submitted"], agent.heard) == ("planned", False, [])


@pytest.mark.parametrize(
    ("terminal", "instead"), [("none", "start acme --terminal none"), ("kitty", "resume acme")]
)
def test_without_a_tmux_pane_another_way_is_suggested(
    story: Story, terminal: str, instead: str
) -> None:
    program = story.processes.add("python3", "-m", "tmuxreap.demo_agent")
    pane = {"pid": program.pid, "start_ticks": program.start, "id": "7"}
    row = {"name": "acme", "status": "running", "agent": "demo", "terminal": terminal, "pane": pane}
    story.add_row(row)
    one = told(story)
    assert (one["outcome"], one["error"]["code"]) == ("refused", "not_idle"), one
    assert instead in one["error"]["hint"]


def test_the_screen_has_the_last_word_where_an_agent_says_that_it_is_idle(story: Story) -> None:
    agent, app = story.agent(state="busy"), story.app()
    (story.store / "sessions" / f"{agent.process.pid}.json").unlink()  # its own record
    app.books.beat(Heartbeat("acme", app.clock.now(), "idle", "turn_end", None, {}))
    assert refused(story, agent)["state"] == "working"
