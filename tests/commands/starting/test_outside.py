"""Sessions outside tmux, as their rows describe them."""

from __future__ import annotations

from tests.fakes import Story
from tmuxreap.commands.starting.outside import with_process
from tmuxreap.core.model import RecordedPane, Row, Terminal


def test_a_process_is_distinguished_from_a_stranger_with_its_pid(story: Story) -> None:
    leader, app = story.processes.add("claude", new_session=True), story.app()
    unseen = Row("acme", agent="claude", terminal=Terminal.KITTY, pane=RecordedPane(id="7"))
    row = with_process(app, unseen, leader)
    assert (row.pane.id, row.pane.pid, row.pane.start_ticks) == ("7", leader.pid, leader.start)
    assert row.pane.created_epoch == round(story.processes.started_epoch(leader), 2)
    assert (row.terminal, row.tmux.host, row.tmux.boot_id) == (
        Terminal.KITTY,
        story.HOST,
        story.BOOT,
    )
    assert not row.tmux.known
