"""The kinds of drift between registry, ledger and tmux, and which are certain."""

from __future__ import annotations

from tests.fakes import DEMO, Story
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.commands.reconcile.drift import Drift, DriftKind, Found, find_drifts


def looked(story: Story) -> Found:
    app = story.app()
    return find_drifts(app, app.registry.look())


def the_only(story: Story) -> Drift:
    (found,) = looked(story).drifts
    return found


def test_where_all_agree_there_is_none(story: Story) -> None:
    story.agent()
    found = looked(story)
    assert (found.drifts, found.confirmed, found.again) == ([], True, False)


def test_a_dead_one_is_settled_with_its_conversation(story: Story) -> None:
    agent = story.agent()
    story.processes.die(agent.process)
    found = the_only(story)
    assert (found.kind, found.answer.settled) == (DriftKind.DEAD, True)
    assert found.changes is not None
    assert found.changes[("status",)] == "terminated"
    assert found.changes[("resumable",)] is True


def test_several_that_died_with_their_server_died_of_that(story: Story) -> None:
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


def test_the_first_that_is_heard_of_died_of_it_too(story: Story) -> None:
    for name in ("a", "b"):
        story.agent(name)
    story.processes.die(story.tmux.servers[story.SOCKET].process)
    story.processes.die(story.agents["a"].process)
    only, heard = frozenset({"a"}), {"a": "exit status 0"}
    (told,) = reconcile.settle(story.app(), only=only, cause_of=heard.get).result.results
    assert told.as_json()["cause"] == "its tmux server ended"


def test_the_last_one_that_left_did_so_itself(story: Story) -> None:
    agent = story.agent()
    story.processes.die(agent.process)
    (told,) = reconcile.settle(story.app(), cause_of={"acme": "exit status 0"}.get).result.results
    assert told.as_json()["cause"] == "exit status 0"


def test_a_shell_on_a_server_that_has_died_since_is_no_news(story: Story) -> None:
    agent = story.agent(shell=True)
    story.processes.die(agent.process)
    seen = story.tmux.look(story.SOCKET)
    story.processes.die(story.tmux.servers[story.SOCKET].process)
    app = story.app()
    story.tmux.answers[story.SOCKET] = seen  # type: ignore[assignment]
    assert find_drifts(app, app.registry.look()).drifts == []


def test_what_lives_on_keeps_the_row_as_it_is(story: Story) -> None:
    agent = story.agent()
    helper = story.processes.add("npm", parent=agent.process, new_session=True)
    story.processes.die(agent.process)
    found = the_only(story)
    assert (found.kind, found.changes) == (DriftKind.SURVIVORS, None)
    assert f"npm ({helper.pid}, " in found.evidence
    assert found.hint == "tmuxreap stop acme"


def test_a_shell_without_its_agent_and_another_session_of_the_name_are_a_persons_to_settle(
    story: Story,
) -> None:
    agent = story.agent(shell=True)
    story.processes.die(agent.process)
    found = the_only(story)
    assert (found.kind, found.hint) == (DriftKind.AGENT_GONE, "tmuxreap stop acme")
    (session,) = story.tmux.servers[story.SOCKET].sessions
    session.created += 1
    found = the_only(story)
    assert (found.kind, found.hint) == (DriftKind.REPLACED, "tmuxreap adopt acme")
    assert found.answer.settled is False


def test_an_ended_row_whose_session_lives_was_revived(story: Story) -> None:
    story.agent(status="stopped")
    assert the_only(story).kind is DriftKind.REVIVED


def test_an_agent_without_a_row_is_told_where_other_rows_live(story: Story) -> None:
    story.agent()
    story.tmux.open(story.SOCKET, "stray", *DEMO)
    story.tmux.open(story.SOCKET, "plain", "vim")
    found = the_only(story)
    assert (found.name, found.kind) == ("stray", DriftKind.UNREGISTERED)
    assert found.hint == "tmuxreap adopt stray --agent demo"


def test_what_tmux_does_not_say_is_no_drift(story: Story) -> None:
    story.agent()
    story.tmux.hung.add(story.SOCKET)
    found = looked(story)
    assert (found.drifts, found.confirmed) == ([], False)
