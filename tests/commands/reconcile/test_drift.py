"""The kinds of drift between a row and its session, and which are certain."""

from __future__ import annotations

from tests.fakes import Story
from tmuxreap.commands.reconcile.drift import DriftKind, RowDrift
from tmuxreap.commands.reconcile.reconcile import find_drifts


def the_only(story: Story) -> RowDrift:
    app = story.app()
    (found,) = find_drifts(app, app.registry.look()).drifts
    return found


def test_a_dead_session_is_settled_with_its_conversation(story: Story) -> None:
    agent = story.agent()
    story.processes.die(agent.process)
    found = the_only(story)
    assert (found.kind, found.answer.settled) == (DriftKind.DEAD, True)
    assert found.changes is not None
    assert found.changes[("status",)] == "terminated"
    assert found.changes[("resumable",)] is True


def test_a_shell_on_a_server_that_has_died_since_is_no_news(story: Story) -> None:
    agent = story.agent(shell=True)
    story.processes.die(agent.process)
    seen = story.tmux.look(story.SOCKET)
    story.processes.die(story.tmux.servers[story.SOCKET].process)
    app = story.app()
    story.tmux.answers[story.SOCKET] = seen  # type: ignore[assignment]
    assert find_drifts(app, app.registry.look()).drifts == []


def test_a_surviving_helper_keeps_the_row_unchanged(story: Story) -> None:
    agent = story.agent()
    helper = story.processes.add("npm", parent=agent.process, new_session=True)
    story.processes.die(agent.process)
    found = the_only(story)
    assert (found.kind, found.changes) == (DriftKind.SURVIVORS, None)
    assert f"npm ({helper.pid}, " in found.evidence
    assert found.hint == "tmuxreap stop acme"


def test_a_shell_left_behind_and_a_replaced_session_are_left_to_a_person(
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
