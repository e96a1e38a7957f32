"""The number of a terminal is free as soon as its pane is closed, and the next terminal gets it:
the number of a pane that was listed a moment ago proves nothing of who came since."""

from __future__ import annotations

import pytest

from tests.fakes import FakeAgent, Story
from tmuxreap.commands import list as listing
from tmuxreap.core.model import ProcessId, ServerLook


class Closing:
    """After a server's answer the agent exits, and somebody opens a terminal of that number."""

    def __init__(self, story: Story, agent: FakeAgent) -> None:
        self.story, self.agent = story, agent
        self.look = story.tmux.look
        self.stranger: ProcessId | None = None

    def __call__(self, socket: str) -> ServerLook:
        seen = self.look(socket)
        if self.stranger is None:
            tty = self.story.processes.table[self.agent.process.pid].now.tty
            self.story.processes.die(self.agent.process)
            self.stranger = self.story.processes.add("bash", tty=tty, new_session=True)
        return seen


@pytest.fixture
def closing(story: Story, monkeypatch: pytest.MonkeyPatch) -> Closing:
    closing = Closing(story, story.agent())
    story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    monkeypatch.setattr(story.tmux, "look", closing)
    return closing


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_a_program_that_got_the_terminal_of_a_closed_pane_lives(
    story: Story, closing: Closing, verb: str
) -> None:
    (item,) = getattr(story, verb)().results
    assert closing.stranger is not None
    assert story.signals_to(closing.stranger) == []
    assert (item.as_json()["status"], item.as_json()["swept"]) == ("stopped", [])


def test_a_look_does_not_remember_the_program_that_got_the_terminal(
    story: Story, closing: Closing
) -> None:
    listing.run(story.app(), listing.ListRequest())
    assert closing.stranger is not None
    with story.ledger() as ledger:
        assert closing.stranger.pid not in {row[0] for row in ledger.rows("SELECT pid FROM seen")}
    story.kill()
    assert story.signals_to(closing.stranger) == []
