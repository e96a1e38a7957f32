"""What goes to tmux for the requests of a ladder."""

from __future__ import annotations

import pytest

from tests.ending.ladder.test_climb import an_ending
from tests.ending.test_prepare import ending
from tests.fakes import Story
from tmuxreap.agents.profiles import Key, Text
from tmuxreap.core import model
from tmuxreap.core.values import replace
from tmuxreap.ending.ladder.execute import deeds_of, ready, restore
from tmuxreap.ending.ladder.requests import Close, Press
from tmuxreap.ledger.records import PaneOption

OPTION = PaneOption("/tmp/s", "%0", "remain-on-exit", "off")


def test_an_option_is_set_for_the_keys_and_given_back() -> None:
    one = an_ending()
    one.plan = replace(one.plan, options=(OPTION,))
    assert ready(one) == [model.LeaveMode("%0"), model.SetOption("%0", "remain-on-exit", "on")]
    assert restore(one.plan.options) == [model.SetOption("%0", "remain-on-exit", "off")]


@pytest.mark.parametrize("in_front", [True, False])
def test_a_key_is_sent_only_to_an_agent_that_is_in_front_now(story: Story, in_front: bool) -> None:
    agent = story.agent(shell=True)
    assert agent.shell is not None
    one = ending(story)
    if not in_front:  # since the look
        story.processes.put_in_front(agent.shell)
    server, pane = one.plan.server, one.sight.pane
    assert server is not None
    assert pane is not None
    for step, sent in (
        (Key("Escape"), model.SendKeys(server, pane, ("Escape",))),
        (Text("/exit"), model.SendKeys(server, pane, (), "/exit")),
    ):
        assert deeds_of(one, Press(step), story.processes) == ([sent] if in_front else [])


def test_closing_takes_the_session_or_only_the_pane(story: Story) -> None:
    story.agent()
    one = ending(story)
    server, session = one.plan.server, one.sight.session
    assert server is not None
    assert session is not None
    assert deeds_of(one, Close(), story.processes) == [
        model.CloseSession(server, session, list(session.panes))
    ]
    assert one.past.struck == {pane.id for pane in session.panes}
    one.past = replace(one.past, pane_only=True)
    panes = [model.ClosePane(server, session, pane) for pane in session.panes]
    assert deeds_of(one, Close(), story.processes) == panes


def test_a_linked_window_is_closed_pane_by_pane_and_not_with_the_session(
    story: Story,
) -> None:
    """Its window is linked into another session, and a window beside it is its session's alone."""
    agent = story.agent()
    story.tmux.split(
        story.SOCKET, story.tmux.servers[story.SOCKET].sessions[0], "bash", window=True
    )
    story.tmux.change(agent.pane, linked=True)
    one = ending(story)
    server, whole = one.plan.server, one.sight.whole
    assert server is not None
    assert whole is not None
    linked, own = whole.panes
    assert deeds_of(one, Close(), story.processes) == [
        model.ClosePane(server, whole, linked),
        model.CloseSession(server, replace(whole, panes=(own,)), [own]),
    ]
