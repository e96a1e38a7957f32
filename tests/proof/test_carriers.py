"""Whether a pane's program only carries the terminal of the agent, on simulated processes.
`tests/live/test_carriers.py` has real ones."""

from __future__ import annotations

import pytest

from tests.fakes import DEMO, Story, sight
from tmuxreap.proof.panes import Carried

DOCKER = ("docker", "exec", "-it", "dev", "tmuxreap-demo")


def carried(story: Story, *, agent: str = "demo", cmd: str | None = None) -> Carried | None:
    """Look at a session of this program, with a row as other tools write one."""
    pane = story.tmux.servers[story.SOCKET].sessions[0].panes[0]
    story.add_row(
        {
            "name": "acme",
            "status": "running",
            "agent": agent,
            "pane": {"pid": pane.now.pid, "cmd": cmd, "cwd": "/"},
        }
    )
    return sight(story).carrier


@pytest.mark.parametrize(
    ("words", "beyond", "nested"),
    [
        (DOCKER, True, None),
        (("ssh", "host", "tmuxreap-demo"), True, None),
        (("ssh", "host", "'/usr/bin/tmux'", "attach"), True, "tmux"),
        (("ssh", "host", "tmuxreap-demo", "tmux"), True, None),
        (("docker", "ps"), None, None),
        (("sudo", "-i"), None, None),
        (("vi", "notes"), None, None),
    ],
)
def test_the_carrier_of_an_agent_that_cannot_be_seen(
    story: Story, words: tuple[str, ...], beyond: bool | None, nested: str | None
) -> None:
    story.tmux.open(story.SOCKET, "acme", *words)
    found = carried(story)
    assert (found and found.beyond, found and found.nested) == (beyond, nested)
    if found is not None:
        assert (found.program, found.argv) == (words[0], words)


@pytest.mark.parametrize(
    ("tty", "front", "is_carried"), [(7, True, True), (7, False, False), (None, True, False)]
)
def test_an_agent_on_another_terminal_is_carried_while_it_is_in_front(
    story: Story, tty: int | None, front: bool, is_carried: bool
) -> None:
    session = story.tmux.open(story.SOCKET, "acme", "sudo", *DEMO)
    leader = session.panes[0].process
    own = {"tty": tty, "new_session": True} if tty else {"foreground": True}
    agent = story.processes.add(*DEMO, parent=leader, **own)  # type: ignore[arg-type]
    if not front:
        story.processes.add("vi", parent=agent, new_group=True, foreground=True)
    found = carried(story)
    assert (found is not None) is is_carried
    assert found is None or (found.program, found.beyond) == ("sudo", False)


@pytest.mark.parametrize(
    ("leader", "cmd", "is_carried"),
    [
        (("sh", "-c", "docker"), "sh", True),
        (("bash",), None, True),
        (("bash",), "docker", True),
        (("bash",), "claude", False),
        (("sudo", "bash"), "claude", True),
        (("make",), None, False),
    ],
)
def test_a_carrier_below_a_shell_is_the_agents_unless_a_person_may_have_started_it(
    story: Story, leader: tuple[str, ...], cmd: str | None, is_carried: bool
) -> None:
    session = story.tmux.open(story.SOCKET, "acme", *leader)
    story.processes.add(*DOCKER, parent=session.panes[0].process, new_group=True, foreground=True)
    assert (carried(story, cmd=cmd) is not None) is is_carried


def test_a_carrier_in_the_background_carries_nothing(story: Story) -> None:
    session = story.tmux.open(story.SOCKET, "acme", "bash")
    story.processes.add(*DOCKER, parent=session.panes[0].process, new_group=True)
    assert carried(story) is None


def test_an_agent_that_sudo_runs_in_a_container_is_beyond_reach(story: Story) -> None:
    session = story.tmux.open(story.SOCKET, "acme", "sudo", *DOCKER)
    story.processes.add(*DOCKER, parent=session.panes[0].process)
    found = carried(story)
    assert found is not None
    assert (found.program, found.beyond) == ("sudo", True)


def test_the_carrier_of_an_agent_without_a_profile_is_seen(story: Story) -> None:
    story.tmux.open(story.SOCKET, "acme", "docker", "exec", "-it", "dev", "mystery")
    found = carried(story, agent="mystery")
    assert found is not None
    assert (found.program, found.beyond) == ("docker", True)


def test_an_agent_that_shares_the_terminal_of_sudo_needs_no_carrier(story: Story) -> None:
    session = story.tmux.open(story.SOCKET, "acme", "sudo", *DEMO)
    story.processes.add(*DEMO, parent=session.panes[0].process)
    assert carried(story) is None


def test_a_container_that_the_agent_itself_uses_hides_nothing_of_it(story: Story) -> None:
    session = story.tmux.open(story.SOCKET, "acme", "sudo", *DEMO)
    leader = session.panes[0].process
    agent = story.processes.add(*DEMO, parent=leader, tty=7, new_session=True)
    story.processes.add(*DOCKER, parent=agent)
    found = carried(story)
    assert found is not None
    assert not found.beyond


def test_a_dead_pane_has_no_carrier(story: Story) -> None:
    session = story.tmux.open(story.SOCKET, "acme", *DOCKER)
    story.tmux.change(session.panes[0], dead=True)
    assert carried(story) is None
