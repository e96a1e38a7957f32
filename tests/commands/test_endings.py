"""`finish`: ends what was handed over, from outside the session, and nothing else."""

from __future__ import annotations

from tests.fakes import OWN_PID, Story
from tmuxreap.commands.endings import finish
from tmuxreap.core.model import EndVerb, ProcessId
from tmuxreap.ending.end import to_text
from tmuxreap.ending.policy import Policy
from tmuxreap.ledger.records import Begun, NewIntent

STOP = Policy(EndVerb.STOP, "done")


def handed(story: Story, name: str, owner: ProcessId) -> int:
    new = NewIntent(name, "stop", "done", "agent", owner, story.BOOT, 9e12, (), "{}")
    with story.ledger() as ledger:
        answer = ledger.begin_intent(new, owner_alive=lambda _: False, take_over=True, now=1.0)
    assert isinstance(answer, Begun)
    return answer.intent.id


def own(story: Story) -> ProcessId:
    found = story.processes.identify(OWN_PID)
    assert found is not None
    return found


def test_the_ending_is_carried_out_and_closed(story: Story) -> None:
    story.agent()
    number = handed(story, "acme", own(story))
    (told,) = finish(story.app(), number, to_text(STOP)).results
    assert told.as_json()["outcome"] == "stopped"
    with story.ledger() as ledger:
        assert not ledger.still_open(number)
    assert story.row()["stop_reason"] == "done"


def test_nothing_is_ended_for_a_row_that_is_gone(story: Story) -> None:
    agent = story.agent()
    number = handed(story, "other", own(story))
    assert finish(story.app(), number, to_text(STOP)).results == []
    assert story.processes.alive(agent.process)
