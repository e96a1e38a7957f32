"""The number of a terminal is free as soon as its pane is closed, and the next terminal gets it:
the number of a pane that was listed a moment ago proves nothing of who has it now."""

from __future__ import annotations

import pytest

from tests.fakes import FakeAgent, Story
from tmuxreap.commands import list as listing
from tmuxreap.core.model import ProcessId, ServerLook


class Closing:
    """After a server's answer the agent exits, and a program opens a terminal of that number: it
    leads it, or only has it open, as what will start others in it."""

    def __init__(self, story: Story, agent: FakeAgent, has_it_open: bool) -> None:
        self.story, self.agent = story, agent
        self.look = story.tmux.look
        self.opener = story.processes.add("xterm", new_session=True) if has_it_open else None
        self.stranger: ProcessId | None = None

    def __call__(self, socket: str) -> ServerLook:
        seen = self.look(socket)
        if self.stranger is None:
            tty, path = self.agent.pane.tty, self.agent.pane.now.tty
            processes = self.story.processes
            processes.die(self.agent.process)
            processes.terminals[path] = self.story.clock.now()
            if self.opener is not None:
                processes.table[self.opener.pid].open_files = (path,)
            self.stranger = self.opener or processes.add("bash", new_session=True, tty=tty)
        return seen


@pytest.fixture(params=[False, True], ids=["leads it", "has it open"])
def closing(
    story: Story, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Closing:
    closing = Closing(story, story.agent(), request.param)
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


@pytest.mark.parametrize("verb", ["stop", "kill"])
@pytest.mark.parametrize("path", ["{} (deleted)", "{}"], ids=["closed", "open"])
@pytest.mark.parametrize("by_hand", [False, True], ids=["our rows", "rows by hand"])
def test_a_program_that_is_older_than_the_pane_is_not_the_sessions_by_its_terminals_number(
    story: Story, verb: str, path: str, by_hand: bool
) -> None:
    """What was left in the background of a terminal that is closed has its number still."""
    story.agent("first")
    server = story.processes.add("node", new_session=True)
    story.clock.sleep(1)
    agent = story.agent("second")
    story.processes.table[server.pid].open_files = (path.format(agent.pane.now.tty),)
    if by_hand:
        rows = "".join(f"  - {{name: {name}, status: running}}\n" for name in story.agents)
        story.path.write_text(f"tmux_sessions:\n{rows}")
    for item in getattr(story, verb)("first", "second").results:
        told = item.as_json()
        assert (told["status"], told["swept"]) == ("stopped", [])
    assert story.signals_to(server) == []
