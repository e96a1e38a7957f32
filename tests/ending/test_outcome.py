"""From the result of a ladder to what is written and answered."""

from __future__ import annotations

import pytest

from tests.ending.test_plan import KILL, OTHER, STOP, TROUBLE
from tests.ending.test_prepare import ending
from tests.fakes import Story
from tmuxreap.agents.conversations.purge import Purged
from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.model import Outcome, Status, StoppedBy
from tmuxreap.core.results import Draft, Ending
from tmuxreap.core.values import replace
from tmuxreap.ending.ending_state import EndingState, RungReport
from tmuxreap.ending.outcome import (
    changes_of,
    event_of,
    event_record,
    failure_of,
    last_screen,
    result_of,
    stopped_by_of,
)
from tmuxreap.ending.plan import RungKind
from tmuxreap.ending.policy import Policy
from tmuxreap.registry.transitions import RowEvent
from tmuxreap.sessions.context import Context

DONE = Ending("acme", Outcome.STOPPED, Status.STOPPED, stopped_by=StoppedBy.EXIT_KEYS)


def left(story: Story, policy: Policy = STOP, **facts: object) -> EndingState:
    """Return the result of an agent that exited by its keys, changed by these facts."""
    finished = ending(story, policy)
    gone = {"outcome": Outcome.STOPPED, "stopped_by": StoppedBy.EXIT_KEYS}
    for name, value in {**gone, "swept_by": StoppedBy.HANGUP, **facts}.items():
        setattr(finished, name, value)
    return finished


def answer_of(app: Context, finished: EndingState) -> Ending:
    return result_of(finished, app.clock, app.processes, app.finder, app.finder.lists())


def stayed(story: Story, policy: Policy = STOP, **facts: object) -> EndingState:
    return left(story, policy, outcome=Outcome.SURVIVED, stopped_by=None, **facts)


def test_a_rung_is_reported_in_milliseconds(story: Story) -> None:
    story.agent()
    app = story.app()
    waited, skipped = (
        RungReport(RungKind.KEYS, 0.2504, enough=True),
        RungReport(RungKind.KILL, skipped="no"),
    )
    result = answer_of(app, left(story, rungs=[waited, skipped])).as_json()["rungs"]
    assert result == [
        {"name": "keys", "waited_ms": 250, "enough": True, "skipped": None},
        {"name": "kill", "waited_ms": 0, "enough": False, "skipped": "no"},
    ]


def test_an_ending_changes_these_fields_of_the_row(story: Story) -> None:
    story.agent()
    finished = left(story, replace(STOP, reason="done"), last_screen="line one\nline two")
    screen = last_screen(finished, None)
    changes = changes_of(finished, finished.row, 0.0, named_agent="demo", screen=screen)
    assert changes[("status",)] == "stopped"
    assert changes[("stop_reason",)] == "done"
    assert changes[("stopped_by",)] == "exit_keys"
    assert changes[("last_visible_status",)] == "line one\nline two"
    assert ("agent",) not in changes
    unsaid = replace(finished.row, agent=None, name="x", start_command=None)
    unsaid = replace(unsaid, pane=replace(unsaid.pane, cmd=None))
    assert changes_of(finished, unsaid, 0.0, named_agent=None, screen=None)[("agent",)] == "demo"


def test_an_ended_row_reports_only_what_was_swept(story: Story) -> None:
    story.agent()
    finished = left(story)
    assert event_of(finished) is RowEvent.STOPPED
    assert stopped_by_of(finished) is StoppedBy.EXIT_KEYS
    finished.row = replace(finished.row, status=Status.STOPPED)
    assert event_of(finished) is RowEvent.SWEPT
    assert stopped_by_of(finished) is StoppedBy.HANGUP
    finished.purged = Purged()
    assert event_of(finished) is RowEvent.PURGED
    assert stopped_by_of(finished) is None


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
    pid = story.agent().process.pid
    failure = failure_of(stayed(story, policy, denied=denied))
    assert failure is not None
    assert (failure.code.text, failure.hint) == (code, hint)
    assert failure.message.endswith(f"still alive: python3 ({pid})")


def test_trouble_comes_first_and_an_end_is_no_failure(story: Story) -> None:
    story.agent()
    assert failure_of(stayed(story, trouble=TROUBLE)) is TROUBLE
    finished = left(story)
    assert failure_of(finished) is None
    finished.outcome, finished.sight = Outcome.REFUSED, replace(finished.sight, foreign=(OTHER,))
    refused = failure_of(finished)
    assert refused is not None
    assert refused.code.text == "foreign_panes"


def test_the_answer_tells_what_was_lost_left_and_not_finished(story: Story) -> None:
    story.agent()
    app, policy = story.app(), replace(STOP, after_turn_s=2.0)
    ended = left(story, policy, turn_cut=True, draft=Draft(1, 1, "x"), draft_lost="cut")
    ended.sight = replace(ended.sight, foreign=(OTHER,))
    ended.started = app.clock.monotonic() - 1.5
    result = answer_of(app, ended)
    assert [warning.partition(":")[0] for warning in result.warnings] == [
        "turn_not_finished",
        "draft_lost",
        "foreign_panes",
    ]
    assert (result.duration_ms, result.freed_mb, result.termination_mode) == (1500, 1.0, "graceful")
    assert answer_of(app, stayed(story)).freed_mb == 0.0


def test_an_event_notes_a_dialog_that_no_key_closed(story: Story) -> None:
    story.agent()
    finished = left(story)
    finished.plan = replace(finished.plan, screen=Screen(State.DIALOG))
    hung_up = replace(DONE, stopped_by=StoppedBy.HANGUP)
    event = event_record(finished, hung_up, "before", {"pid": 7})
    assert (event.data["state"], event.data["ended_by"], event.before) == (
        "dialog",
        {"pid": 7},
        "before",
    )
    assert "state" not in event_record(finished, DONE, "before", {}).data
    finished.plan = replace(finished.plan, screen=Screen(State.IDLE))
    assert "state" not in event_record(finished, hung_up, "before", {}).data


def test_a_row_that_ended_before_keeps_its_reason_in_the_answer(story: Story) -> None:
    story.agent()
    app = story.app()
    for status, expected in [(Status.RUNNING, "now"), (Status.STOPPED, "before")]:
        finished = left(story, replace(STOP, reason="now"))
        finished.row = replace(finished.row, status=status, stop_reason="before")
        answer = answer_of(app, finished)
        assert answer.stop_reason == expected
