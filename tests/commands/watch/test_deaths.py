"""What the ends of processes tell of a row."""

from __future__ import annotations

import pytest

from tests.fakes import Story
from tmuxreap.commands.watch.deaths import Deaths
from tmuxreap.core.model import ProcessId


class Kernel:
    """A waiter that knows how processes ended."""

    def __init__(self, ends: dict[ProcessId, str]) -> None:
        self.how_ended = ends.get

    def remember_memory(self) -> None:
        pass


def deaths(story: Story, ends: dict[ProcessId, str]) -> Deaths:
    app = story.app()
    (row,) = app.registry.look().usable
    following = Deaths(app, Kernel(ends))  # type: ignore[arg-type]
    assert following.follow({"acme": app.sights.of_row(row)}, ()) is False
    return following


@pytest.mark.parametrize(
    ("others", "agent", "server", "cause"),
    [
        (0, "exit status 0", "exit status 0", "exit status 0"),
        (0, "exit status 0", "SIGKILL", "its tmux server ended (SIGKILL)"),
        (0, "SIGHUP", "exit status 0", "its tmux server ended (exit status 0)"),
        (1, "exit status 0", "exit status 0", "its tmux server ended (exit status 0)"),
    ],
)
def test_a_server_that_exits_after_its_last_agent_is_no_cause(
    story: Story, others: int, agent: str, server: str, cause: str
) -> None:
    one = story.agent()
    for number in range(others):
        story.tmux.open(story.SOCKET, f"n{number}", "bash")
    ends = {one.process: agent, story.tmux.servers[story.SOCKET].process: server}
    following = deaths(story, ends)
    for process in ends:
        story.processes.die(process)
    assert following.hear(frozenset(ends)) == {"acme"}
    assert following.cause_of("acme") == cause


def test_a_cause_is_known_before_the_death_is_heard_and_forgotten_when_reported(
    story: Story,
) -> None:
    agent = story.agent()
    story.tmux.open(story.SOCKET, "other", "bash")  # else the server ends with its last session
    following = deaths(story, {agent.process: "SIGKILL"})
    assert agent.process in following.awaited
    assert following.cause_of("acme") is None
    story.processes.die(agent.process)
    assert following.cause_of("acme") == "SIGKILL"
    following.follow({}, ["acme"])
    assert following.awaited == frozenset()
    assert following.cause_of("acme") is None
