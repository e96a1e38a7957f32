"""From how a ladder ended to what is written and answered."""

from __future__ import annotations

import pytest

from tests.ending.test_plan import AGENT, KILL, OTHER, STOP, TROUBLE
from tests.ending.test_prepare import case
from tests.fakes import Story
from tmuxreap.agents.conversations.find import NONE
from tmuxreap.agents.conversations.purge import Purged
from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Outcome, Status, StoppedBy
from tmuxreap.core.values import replace
from tmuxreap.ending.ladder.requests import Draft, Ended
from tmuxreap.ending.outcome import (
    changes_of,
    event_of,
    event_record,
    failure_of,
    renewed,
    result_of,
    stopped_by_of,
    taken_over,
    unrecorded,
    vanished,
)
from tmuxreap.ending.plan import Policy
from tmuxreap.ending.results import EndResult
from tmuxreap.registry.transitions import Event
from tmuxreap.sessions.ownership import Belonging

LEFT = Ended(
    Outcome.STOPPED, StoppedBy.EXIT_KEYS, StoppedBy.HANGUP, (), NONE, None, (), (), False, None
)
STAYED = replace(
    LEFT, outcome=Outcome.SURVIVED, stopped_by=None, survivors=(Belonging(AGENT, "pane"),)
)
DONE = EndResult("acme", Outcome.STOPPED, Status.STOPPED, stopped_by=StoppedBy.EXIT_KEYS)


def test_what_an_ending_does_to_the_row(story: Story) -> None:
    story.agent()
    found = case(story)
    found.last_screen = "line one\nline two"
    changes = changes_of(story.app(), found, LEFT, found.row, replace(STOP, reason="done"), 0.0)
    assert changes[("status",)] == "stopped"
    assert changes[("stop_reason",)] == "done"
    assert changes[("stopped_by",)] == "exit_keys"
    assert changes[("last_visible_status",)] == "line one\nline two"
    assert ("agent",) not in changes
    unsaid = replace(found.row, agent=None, name="x", start_command=None)
    unsaid = replace(unsaid, pane=replace(unsaid.pane, cmd=None))
    assert changes_of(story.app(), found, LEFT, unsaid, STOP, 0.0)[("agent",)] == "demo"


def test_of_an_ended_row_only_the_sweeping_is_told(story: Story) -> None:
    story.agent()
    found = case(story)
    assert event_of(found, STOP) is Event.STOPPED
    assert stopped_by_of(found, LEFT) is StoppedBy.EXIT_KEYS
    found.row = replace(found.row, status=Status.STOPPED)
    assert event_of(found, STOP) is Event.SWEPT
    assert stopped_by_of(found, LEFT) is StoppedBy.HANGUP
    found.purged = Purged()
    assert event_of(found, STOP) is Event.PURGED
    assert stopped_by_of(found, LEFT) is None


@pytest.mark.parametrize(
    ("policy", "denied", "code", "hint"),
    [
        (STOP, False, "still_running", "see what holds them: tmuxreap show acme"),
        (replace(STOP, force=False), False, "still_running", "try again without --no-force"),
        (KILL, False, "kill_failed", "see what holds them: tmuxreap show acme"),
        (
            KILL,
            True,
            "permission_denied",
            "end them as the user that they belong to, then stop again",
        ),
    ],
)
def test_a_survivor_is_named_with_what_to_do(
    story: Story, policy: Policy, denied: bool, code: str, hint: str
) -> None:
    story.agent()
    failure = failure_of(case(story), replace(STAYED, denied=denied), policy)
    assert failure is not None
    assert (failure.code.text, failure.hint) == (code, hint)
    assert failure.message.endswith("still alive: python3 (100)")


def test_trouble_goes_before_everything_and_an_end_is_no_failure(story: Story) -> None:
    story.agent()
    found = case(story)
    assert failure_of(found, replace(STAYED, trouble=TROUBLE), STOP) is TROUBLE
    assert failure_of(found, LEFT, STOP) is None
    refused = failure_of(found, replace(STAYED, outcome=Outcome.REFUSED, foreign=(OTHER,)), STOP)
    assert refused is not None
    assert refused.code.text == "foreign_panes"


def test_the_answer_tells_what_was_lost_left_and_not_finished(story: Story) -> None:
    story.agent()
    ended = replace(LEFT, turn_cut=True, draft=Draft("x", 1), draft_lost="cut", foreign=(OTHER,))
    told = result_of(story.app(), case(story), ended, replace(STOP, after_turn_s=2.0), 1.5)
    assert [warning.partition(":")[0] for warning in told.warnings] == [
        "turn_not_finished",
        "draft_lost",
        "foreign_panes",
    ]
    assert (told.duration_ms, told.freed_mb, told.termination_mode) == (1500, 1.0, "graceful")
    assert result_of(story.app(), case(story), STAYED, STOP, 1.5).freed_mb == 0.0


def test_an_event_notes_a_dialog_that_no_key_closed(story: Story) -> None:
    story.agent()
    found = case(story)
    assert found.plan is not None
    found.plan = replace(found.plan, screen=Screen(State.DIALOG))
    hung_up = replace(DONE, stopped_by=StoppedBy.HANGUP)
    told = event_record(found, hung_up, LEFT, "before", {"pid": 7})
    assert (told.data["state"], told.data["ended_by"], told.before) == (
        "dialog",
        {"pid": 7},
        "before",
    )
    assert "state" not in event_record(found, DONE, LEFT, "before", {}).data
    found.plan = replace(found.plan, screen=Screen(State.IDLE))
    assert "state" not in event_record(found, hung_up, LEFT, "before", {}).data


def test_what_came_between_the_end_and_its_record_is_a_warning() -> None:
    assert (vanished(DONE).status, vanished(DONE).warnings[0][:12]) == (None, "row_vanished")
    assert (renewed(DONE).status, renewed(DONE).warnings[0][:11]) == (Status.RUNNING, "row_renewed")
    over = taken_over(DONE)
    assert (over.outcome, over.stopped_by) == (Outcome.TAKEN_OVER, None)


@pytest.mark.parametrize(
    ("intended", "hint"),
    [(True, "tmuxreap reconcile"), (False, "tmuxreap stop acme --reason manual_stop")],
)
def test_what_could_not_be_written_says_who_will(intended: bool, hint: str) -> None:
    full = Failure(Code.REGISTRY_UNWRITABLE, "could not write: full")
    told = unrecorded(DONE, full, STOP, intended=intended)
    assert (told.outcome, told.status) == (Outcome.FAILED, Status.RUNNING)
    assert told.failure is not None
    assert told.failure.message.startswith("could not write: full (acme itself was ended)")
    assert told.failure.hint.endswith(hint)
