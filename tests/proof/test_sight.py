"""What one look says of a row, and what a later look needs of it."""

from __future__ import annotations

from tests.fakes import Story, row_of
from tmuxreap.core.model import ProcessId
from tmuxreap.proof.sight import Past, past_of, wanted_by


def test_the_control_group_of_a_pane_is_known_when_its_leader_is_gone(story: Story) -> None:
    agent = story.agent(shell=True)
    assert agent.shell is not None
    story.processes.scopes = {"acme's": [agent.shell]}
    app, row = story.app(), row_of(story)
    past = app.sights.with_pasts([row])[0][1]
    late = story.processes.add("sleep", new_session=True)
    story.processes.scopes["acme's"].append(late)
    story.processes.die(agent.process)
    story.processes.die(agent.shell)
    seen = app.sights.with_pasts([row], known={"acme": past})[0][0]
    assert [(one.process.id, one.why) for one in seen.owned.own] == [(late, "scope")]


def test_a_process_that_belonged_once_is_remembered_and_the_first_look_kept(story: Story) -> None:
    agent = story.agent()
    app, row = story.app(), row_of(story)
    first, past = app.sights.with_pasts([row])[0]
    story.processes.die(agent.process)
    later = app.sights.with_pasts([row])[0][0]
    after = past_of(later, past)
    assert (after.first, after.remembered) == (first, {agent.process})
    assert (after.mark, after.foreign_seen) == (past.mark, False)


def test_a_look_asks_for_all_names_and_for_pids_that_a_row_could_mean(story: Story) -> None:
    agent = story.agent("ac.me")
    wanted = wanted_by([(row_of(story, "ac.me"), Past(remembered=frozenset({ProcessId(7, 1)})))])
    assert {"ac.me", "ac_me"} <= wanted.sessions
    assert wanted.pids == {agent.process.pid, 7}
    assert (wanted.unregistered, wanted.any_process) == (False, False)
