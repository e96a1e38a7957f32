"""`heartbeat`: which session it is for, and what is refused."""

from __future__ import annotations

import pytest

from tests.fakes import OWN_PID, Story
from tmuxreap.commands import heartbeat
from tmuxreap.core.errors import Failure
from tmuxreap.core.values import replace


def beat(
    story: Story, name: str | None = None, state: str | None = None, pid: int = OWN_PID
) -> object:
    (item,) = heartbeat.run(story.app(pid), name, state).results
    return item.as_json()["name"]


def test_a_heartbeat_is_recorded_with_its_state_and_both_monotonic_clocks(story: Story) -> None:
    story.agent()
    assert beat(story, "acme", "waiting") == "acme"
    with story.ledger() as ledger:
        (noted,) = ledger.heartbeats("acme")
    assert (noted.state, noted.kind, noted.at) == ("waiting", "heartbeat", story.clock.now())
    clock = story.clock
    assert noted.data == {"moment": [story.BOOT, clock.uptime(), clock.monotonic()]}


def test_a_heartbeat_without_a_name_belongs_to_the_callers_session(story: Story) -> None:
    story.agent("other")
    agent = story.agent()
    inside = story.processes.add("sh", parent=agent.process)
    assert beat(story, pid=inside.pid) == "acme"


def test_a_mark_says_whose_heartbeat_it_is_wherever_it_runs(story: Story) -> None:
    story.agent("other")
    story.agent()
    with story.ledger() as ledger:
        ledger.remember_mark("acme", "mark-of-acme", 1.0)
    app = story.app()
    app.settings = replace(app.settings, environ={"TMUXREAP_ID": "mark-of-acme"})
    (item,) = heartbeat.run(app, None, None).results
    assert item.as_json()["name"] == "acme"


@pytest.mark.parametrize(
    ("name", "state", "code"),
    [
        ("acme", "ended", "usage"),
        ("nobody", None, "session_not_registered"),
        (None, None, "session_not_registered"),
    ],
)
def test_a_heartbeat_with_an_unknown_name_or_state_is_refused(
    story: Story, name: str | None, state: str | None, code: str
) -> None:
    story.agent()
    with pytest.raises(Failure) as caught:
        beat(story, name, state)
    assert caught.value.code.text == code
    with story.ledger() as ledger:
        assert ledger.heartbeats("acme") == []
