"""The segment for the status line: its text for each server, and when it is set."""

from __future__ import annotations

import pytest

from tests.fakes import Story
from tmuxreap.commands.watch.watch import Segment, texts
from tmuxreap.core.model import ProcessId, Row
from tmuxreap.ledger.records import NewIntent
from tmuxreap.proof.sight import Sight

PID = 99_000  # of another tmuxreap


def seen(story: Story) -> list[tuple[Row, Sight]]:
    app = story.app()
    rows = app.registry.look().usable
    return [(row, sight) for row, (sight, _) in zip(rows, app.sights.with_pasts(rows), strict=True)]


def told(story: Story) -> dict[str, str]:
    rows, sights = zip(*seen(story), strict=True)
    return texts(sights, story.app().states.of(list(rows), list(sights)))


def test_running_sessions_are_counted_by_state_and_missing_ones_too(story: Story) -> None:
    story.agent("a")
    story.agent("b")
    story.agent("c", state="busy")
    assert told(story) == {story.SOCKET: "1 working, 2 idle"}
    story.processes.die(story.agents["b"].process)
    assert told(story) == {story.SOCKET: "1 working, 1 idle !1"}
    assert texts([], []) == {}


@pytest.mark.parametrize(("owner", "text"), [(PID, "1 idle"), (None, "1 idle !1")])
def test_an_agent_that_is_being_restarted_is_not_missed(
    story: Story, owner: int | None, text: str
) -> None:
    agent = story.agent()
    story.agent("b")
    restarting(story, owner)
    story.processes.die(agent.process)
    Segment(story.app()).show(seen(story), again=True)
    assert story.tmux.told_status == [(story.SOCKET, text)]


def restarting(story: Story, owner: int | None) -> None:
    """Record a restart by this process, or by one that is dead."""
    by = ProcessId(4242, 1)
    if owner is not None:
        by = story.processes.add("tmuxreap", pid=owner)
    now = story.clock.now()
    new = NewIntent("acme", "restart", "restarted", "pane", by, story.BOOT, now + 60, (), "{}")
    with story.ledger() as ledger:
        ledger.begin_intents([new], owner_alive=lambda _: True, take_over=False, now=now)


def test_tmux_is_sent_changes_and_repeats_on_request(story: Story) -> None:
    story.agent()
    segment, now = Segment(story.app()), seen(story)
    segment.show(now, again=False)
    segment.show(now, again=False)
    assert story.tmux.told_status == [(story.SOCKET, "1 idle")]
    segment.show(now, again=True)
    segment.show([], again=False)
    segment.unset()
    assert [text for _, text in story.tmux.told_status] == ["1 idle", "1 idle", "", None]
