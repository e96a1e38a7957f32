"""Sessions in an agent's own daemon that are in a conversation which a row has only by a guess."""

from __future__ import annotations

import pytest

from tests.commands.test_seats import CHILD, Daemon, ending, listed, the_one
from tests.fakes import Story


@pytest.fixture
def daemon(story: Story) -> Daemon:
    return Daemon(story)


def test_a_guess_takes_no_row_along(story: Story, daemon: Daemon) -> None:
    """The session that is in that conversation may be another agent's: nothing of it is ended."""
    agent = story.agent()
    guess = story.path.read_text().replace('"launch"', '"sole-candidate"')
    story.path.write_text(guess)
    story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    process = daemon.begin(own=agent.conversation)
    story.processes.die(agent.process)
    told = listed(story)
    assert [it["name"] for it in told.as_json()["unregistered"]] == ["demo-w1"]  # type: ignore[index, union-attr, call-overload]
    assert the_one(story)["live"] == "gone"
    (item,) = ending(story, "acme")
    assert (item["error"], story.processes.alive(process)) == (None, True)
    (warning,) = item["warnings"]
    assert warning.startswith("goes_on: what may be its conversation continues in")


def test_a_row_launched_nothing_by_a_guess(story: Story, daemon: Daemon) -> None:
    """It is named with its agent's own commands, and the end of its tree leaves it alone."""
    agent = story.agent()
    (story.store / "sessions" / f"{agent.process.pid}.json").unlink()
    guess = story.path.read_text().replace('"launch"', '"sole-candidate"')
    story.path.write_text(guess)
    child = daemon.begin(own=CHILD, launched_by=agent.conversation)
    assert [item.as_json()["name"] for item in listed(story, tree=True).results] == ["acme"]
    (item,) = ending(story, "tree:acme", yes=True)
    (warning,) = item["warnings"]
    assert warning.startswith("children_running: it may have launched the background session w1")
    assert warning.endswith("end it with: true")
    assert (item["name"], story.processes.alive(child)) == ("acme", True)
