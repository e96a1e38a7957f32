"""Rows of other tools identify their session by a name and a pid: what lives of it is never called
gone, and a session that only has the name is never ended for it."""

from __future__ import annotations

from collections.abc import Callable
from signal import SIGHUP, SIGTERM
from typing import Any

import pytest

from tests.fakes import DEMO, FakeAgent, FakeSession, Story
from tmuxreap.commands import list as listing
from tmuxreap.commands import show, start
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import ProcessId
from tmuxreap.core.results import Result

DEAF = {SIGHUP, SIGTERM}


@pytest.fixture
def agent(story: Story) -> FakeAgent:
    """Return an agent below a shell, without a mark, beside a neighbour."""
    one = story.agent(shell=True, ignores=DEAF)
    for process in story.processes.table.values():
        process.environ.pop("TMUXREAP_ID", None)
    story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    records(story, leader_of(one).pid)
    return one


def leader_of(agent: FakeAgent) -> ProcessId:
    return agent.pane.process


def records(story: Story, pid: int, **pane: object) -> None:
    """Leave one row, as another tool writes it."""
    recorded = {"pid": pid, "cmd": "python3", "cwd": "/", **pane}
    row = {"name": "acme", "status": "running", "agent": "demo", "pane": recorded}
    story.path.write_text("tmux_sessions: []\n")
    story.add_row(row)


def session(story: Story, name: str = "acme") -> FakeSession:
    sessions = story.tmux.servers[story.SOCKET].sessions
    return next(one for one in sessions if one.name == name)


def only(result: Result) -> dict[str, Any]:
    (item,) = result.results
    return item.as_json()


def look(story: Story) -> None:
    listing.run(story.app(), listing.ListRequest())


def renames(story: Story, agent: FakeAgent) -> None:
    session(story).name = "mine"


def moves(story: Story, agent: FakeAgent) -> None:
    story.tmux.join(agent.pane, session(story, "quiet"))


def assert_refused(story: Story) -> None:
    """Assert that every door says that the session is another one, and that nothing is written."""
    before = story.path.read_bytes()
    lives = {
        "list": only(listing.run(story.app(), listing.ListRequest()))["live"],
        "show": only(show.run(story.app(), ["acme"]))["live"],
    }
    assert lives == dict.fromkeys(lives, "replaced")
    for told in (only(story.stop()), only(story.kill())):
        assert told["outcome"] == "refused"
        assert told["error"]["code"] == "session_replaced"
    answer: Any = reconcile.run(story.app()).as_json()
    assert [one["drift"] for one in answer["drifts"] if one["name"] == "acme"] == ["replaced"]
    assert story.path.read_bytes() == before


@pytest.mark.parametrize("looked", [False, True], ids=["never-seen", "seen"])
@pytest.mark.parametrize("happens", [renames, moves])
def test_a_pane_under_another_name_that_runs_more_than_shells_is_not_gone(
    story: Story, agent: FakeAgent, happens: Callable[[Story, FakeAgent], None], looked: bool
) -> None:
    child = story.processes.add("node", parent=agent.process, ignores=DEAF)
    if looked:
        look(story)
    happens(story, agent)
    story.processes.die(agent.process)
    assert_refused(story)
    assert story.processes.alive(child)
    assert story.signals_to(child) == []


@pytest.mark.parametrize("happens", [renames, moves])
def test_a_pane_under_another_name_with_its_shell_alone_is_gone(
    story: Story, agent: FakeAgent, happens: Callable[[Story, FakeAgent], None]
) -> None:
    look(story)
    happens(story, agent)
    story.processes.die(agent.process)
    reconcile.run(story.app())
    assert story.row()["status"] == "terminated"
    assert story.processes.alive(leader_of(agent))


def test_the_number_of_a_seen_leader_in_another_pane_is_reused(
    story: Story, agent: FakeAgent
) -> None:
    look(story)
    old = leader_of(agent)
    story.processes.die(agent.process)
    story.tmux._kill_session(story.SOCKET, session(story).id)
    story.processes.die(old)
    story.clock.move_to(story.clock.monotonic() + 5.0)
    theirs = story.tmux.open(story.SOCKET, "work", "bash", pid=old.pid).panes[0].process
    story.processes.add("vim", parent=theirs, foreground=True)
    reconcile.run(story.app())
    assert story.row()["status"] == "terminated"
    assert story.signals_to(theirs) == []


@pytest.mark.parametrize("looked", [False, True], ids=["never-seen", "seen"])
@pytest.mark.parametrize("whole_server", [False, True])
def test_a_session_made_later_is_not_ended_while_the_recorded_agent_lives(
    story: Story, agent: FakeAgent, whole_server: bool, looked: bool
) -> None:
    if looked:
        look(story)
    close(story, whole_server=whole_server)
    assert story.processes.alive(agent.process)
    later = story.tmux.open(story.SOCKET, "acme", *DEMO).panes[0].process
    assert_refused(story)
    assert story.processes.alive(later)
    assert story.signals_to(later) == []
    shown = only(show.run(story.app(), ["acme"]))["processes"]
    assert agent.process.pid in [one["pid"] for one in shown]
    request = start.StartRequest("acme", "demo", replace=True)
    with pytest.raises(Failure) as refused:
        start.run(story.app(), request)
    assert refused.value.code in (Code.STILL_RUNNING, Code.SESSION_REPLACED)
    assert story.processes.alive(later)


def test_a_helper_that_was_seen_keeps_a_later_session_from_being_taken(
    story: Story, agent: FakeAgent
) -> None:
    helper = story.processes.add("node", parent=agent.process, new_session=True, ignores=DEAF)
    look(story)
    close(story, whole_server=True)
    story.processes.die(agent.process)
    later = story.tmux.open(story.SOCKET, "acme", *DEMO).panes[0].process
    assert_refused(story)
    assert story.processes.alive(helper)
    assert story.processes.alive(later)


def test_a_program_that_was_respawned_in_its_pane_is_still_the_rows(
    story: Story, agent: FakeAgent
) -> None:
    """A helper of the one before lives on; the pane is the one that was seen."""
    helper = story.processes.add("node", parent=agent.process, new_session=True, ignores=DEAF)
    look(story)
    story.processes.die(agent.process)
    story.tmux.respawn(agent.pane, *DEMO)
    assert only(show.run(story.app(), ["acme"]))["live"] == "alive"
    assert only(story.stop(grace_s=0.1))["outcome"] == "stopped"
    assert not story.processes.alive(helper)


def test_a_later_session_is_taken_once_nothing_of_the_recorded_one_lives(
    story: Story, agent: FakeAgent
) -> None:
    look(story)
    close(story, whole_server=True)
    story.processes.die(agent.process)
    later = story.tmux.open(story.SOCKET, "acme", *DEMO).panes[0].process
    assert only(show.run(story.app(), ["acme"]))["live"] == "alive"
    assert only(story.stop(grace_s=0.1))["outcome"] == "stopped"
    assert not story.processes.alive(later)


def test_an_agent_in_a_pane_that_was_moved_here_is_not_the_rows(
    story: Story, agent: FakeAgent
) -> None:
    story.tmux.split(story.SOCKET, session(story), "vim")
    other = story.tmux.open(story.SOCKET, "other", *DEMO).panes[0]
    story.processes.die(agent.process)
    story.processes.die(leader_of(agent))
    story.tmux.join(other, session(story))
    assert_refused(story)
    assert story.signals_to(other.process) == []


def close(story: Story, *, whole_server: bool) -> None:
    """Close the session, or the whole server, by another hand."""
    server = story.tmux.servers[story.SOCKET]
    if whole_server:
        story.processes.die(server.process)
    else:
        story.tmux._kill_session(story.SOCKET, session(story).id)


def put_back_after_an_end(story: Story, agent: FakeAgent) -> bytes:
    """Stop the session, and return the registry from before."""
    old = story.path.read_bytes()
    assert only(story.stop(reason="done for good"))["outcome"] == "stopped"
    story.clock.move_to(story.clock.monotonic() + 60.0)
    return old


def test_an_agent_with_the_number_of_an_ended_one_is_recorded_as_lost_when_it_dies(
    story: Story, agent: FakeAgent
) -> None:
    old = put_back_after_an_end(story, agent)
    again = story.tmux.open(story.SOCKET, "acme", *DEMO, pid=leader_of(agent).pid)
    story.path.write_bytes(old)  # another tool records the same name and number
    look(story)
    story.processes.die(again.panes[0].process)
    (drift,) = drifts(story)
    assert (drift["drift"], drift["settled"]) == ("dead", True)
    assert story.row()["status"] == "terminated"
    assert story.row()["termination_mode"] == "lost"


def test_an_old_copy_of_the_row_is_still_ended_while_another_has_its_number(
    story: Story, agent: FakeAgent
) -> None:
    old = put_back_after_an_end(story, agent)
    theirs = story.tmux.open(story.SOCKET, "work", "bash", pid=leader_of(agent).pid)
    job = story.processes.add("vim", parent=theirs.panes[0].process, foreground=True)
    story.path.write_bytes(old)
    (drift,) = drifts(story)
    assert (drift["drift"], drift["settled"]) == ("reverted", True)
    assert story.row()["stop_reason"] == "done for good"
    assert only(story.stop())["outcome"] == "already_stopped"
    assert story.processes.alive(job)


def test_a_survivor_of_another_session_with_a_seen_pid_is_not_the_rows(
    story: Story, agent: FakeAgent
) -> None:
    look(story)
    old = leader_of(agent)
    close(story, whole_server=False)
    story.processes.die(agent.process)
    story.processes.die(old)
    story.clock.move_to(story.clock.monotonic() + 5.0)
    theirs = story.tmux.open(story.SOCKET, "work", "vim", pid=old.pid, ignores=DEAF)
    survivor = theirs.panes[0].process
    story.tmux._kill_session(story.SOCKET, theirs.id)
    assert story.processes.alive(survivor)
    assert [one["drift"] for one in drifts(story)] == ["dead"]


def drifts(story: Story) -> list[dict[str, Any]]:
    answer: Any = reconcile.run(story.app()).as_json()
    return [one for one in answer["drifts"] if one["name"] == "acme"]
