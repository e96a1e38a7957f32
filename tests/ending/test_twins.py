"""Two rows of one pane: it is ended once, and both say so."""

from __future__ import annotations

from tests.fakes import FakeAgent, Story
from tmuxreap.commands.reconcile import reconcile


def twins(story: Story, **more: object) -> FakeAgent:
    agent = story.agent("acme")
    row = {key: value for key, value in story.row("acme").items() if key != "name"}
    story.add_row({"name": "twin", **row, **more})
    return agent


def test_two_rows_of_one_pane_are_ended_once(story: Story) -> None:
    agent = twins(story)
    first, second = [item.as_json() for item in story.stop("acme", "twin").results]
    assert (first["outcome"], second["outcome"]) == ("stopped", "already_stopped")
    assert agent.heard == ["/exit", "Enter"]
    assert [story.row(name)["status"] for name in ("acme", "twin")] == ["stopped", "stopped"]


def test_the_other_row_is_recorded_with_it_and_named(story: Story) -> None:
    twins(story)
    story.agent("quiet")
    (answer,) = [item.as_json() for item in story.stop("acme", reason="night").results]
    assert answer["warnings"] == [
        "same_pane: twin had the same pane, and is recorded as stopped with it"
    ]
    twin = story.row("twin")
    assert (twin["status"], twin["stop_reason"], twin["stopped_by"]) == (
        "stopped",
        "night",
        "exit_keys",
    )
    assert twin["resumable"] is True
    assert story.row("quiet")["status"] == "running"
    assert reconcile.run(story.app()).as_json()["drifts"] == []


def test_a_row_of_another_tool_with_that_pid_is_one_too(story: Story) -> None:
    twins(story, tmux=None, tmux_server=story.SOCKET)
    story.kill("acme")
    assert (story.row("twin")["status"], story.row("twin")["termination_mode"]) == (
        "stopped",
        "kill",
    )


def test_a_row_of_an_older_session_is_none(story: Story) -> None:
    twins(story)
    text = story.path.read_text()
    head, tail = text.rsplit('"session_created": ', 1)
    story.path.write_text(f'{head}"session_created": 1{tail[tail.index("}") :]}')
    assert story.stop("acme").results[0].as_json()["warnings"] == []
    assert story.row("twin")["status"] == "running"
