"""Agents' sessions without a row, and the command that registers them."""

from __future__ import annotations

from tests.fakes import DEMO, Story
from tmuxreap.sessions.elsewhere import Newcomer


def found(story: Story) -> list[Newcomer]:
    app = story.app()
    rows = app.registry.look().usable
    return app.newcomers.of(rows, [sight for sight, _ in app.sights.with_pasts(rows)])


def test_an_agent_without_a_row_is_reported_with_what_registers_it(story: Story) -> None:
    story.agent()
    assert found(story) == []
    story.tmux.open(story.SOCKET, "stray", *DEMO)
    story.tmux.open(story.SOCKET, "plain", "vim")
    (one,) = found(story)
    assert one.as_json() == {
        "name": "stray",
        "agent": "demo",
        "command": "tmuxreap adopt stray --agent demo",
    }
