"""All drift by one look: what several rows share, and what has no row."""

from __future__ import annotations

from tests.fakes import DEMO, Story
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.commands.reconcile.drift import DriftKind
from tmuxreap.commands.reconcile.reconcile import FoundDrift, find_drifts


def looked(story: Story) -> FoundDrift:
    app = story.app()
    return find_drifts(app, app.registry.look())


def test_rows_that_agree_with_the_world_have_no_drift(story: Story) -> None:
    story.agent()
    found = looked(story)
    assert (found.drifts, found.confirmed, found.again) == ([], True, False)


def test_sessions_that_died_with_their_server_name_it_as_the_cause(story: Story) -> None:
    """Each exited cleanly when its terminal closed, and was reported first."""
    for name in ("a", "b"):
        story.agent(name)
    server = story.tmux.servers[story.SOCKET].process
    heard = dict.fromkeys(("a", "b"), "exit status 0")
    story.processes.die(server)
    for agent in story.agents.values():
        story.processes.die(agent.process)
    told = reconcile.settle(story.app(), cause_of=heard.get).result.results
    assert [one.as_json()["cause"] for one in told] == ["its tmux server ended"] * 2


def test_the_first_session_heard_of_also_died_with_its_server(story: Story) -> None:
    for name in ("a", "b"):
        story.agent(name)
    story.processes.die(story.tmux.servers[story.SOCKET].process)
    story.processes.die(story.agents["a"].process)
    only, heard = frozenset({"a"}), {"a": "exit status 0"}
    (told,) = reconcile.settle(story.app(), only=only, cause_of=heard.get).result.results
    assert told.as_json()["cause"] == "its tmux server ended"


def test_the_last_agent_that_exited_keeps_its_own_cause(story: Story) -> None:
    agent = story.agent()
    story.processes.die(agent.process)
    (told,) = reconcile.settle(story.app(), cause_of={"acme": "exit status 0"}.get).result.results
    assert told.as_json()["cause"] == "exit status 0"


def test_an_agent_without_a_row_is_reported_where_other_rows_live(story: Story) -> None:
    story.agent()
    story.tmux.open(story.SOCKET, "stray", *DEMO)
    story.tmux.open(story.SOCKET, "plain", "vim")
    (found,) = looked(story).drifts
    assert (found.name, found.kind) == ("stray", DriftKind.UNREGISTERED)
    assert found.hint == "tmuxreap adopt stray --agent demo"


def test_a_server_that_does_not_answer_is_no_drift(story: Story) -> None:
    story.agent()
    story.tmux.hung.add(story.SOCKET)
    found = looked(story)
    assert (found.drifts, found.confirmed) == ([], False)
