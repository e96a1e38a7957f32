"""`report`: what was ended and freed, and how long each session was in which state."""

from __future__ import annotations

from typing import Any

from tests.ending.test_plan import STOP
from tests.fakes import Story
from tests.reaping import passes
from tmuxreap.commands.report import ReportRequest, run
from tmuxreap.commands.stop import EndRequest
from tmuxreap.commands.stop import run as stop
from tmuxreap.core.answers import Freed, Reported
from tmuxreap.ledger.records import Heartbeat, NewEvent


def begin(story: Story, name: str) -> None:
    with story.ledger() as ledger:
        ledger.record_event(NewEvent(name, "started", {"agent": "demo"}), story.clock.now())


def beat(story: Story, name: str, state: str) -> None:
    books = story.app().books
    books.beat(Heartbeat(name, story.clock.now(), state, "prompt", None, {}))


def report(story: Story, since_s: float = 3600.0) -> tuple[dict[str, Reported], Freed]:
    result = run(story.app(), ReportRequest(since_s))
    freed: Any = result.more["freed"]
    return {item.name: item for item in result.results}, freed  # type: ignore[misc]


def test_times_are_summed_by_state_and_unknown_without_a_look(story: Story) -> None:
    story.agent("acme")
    begin(story, "acme")
    passes(story, 60)
    beat(story, "acme", "working")
    passes(story, 120)
    beat(story, "acme", "idle")
    passes(story, 30)
    one = report(story)[0]["acme"]
    assert (one.unknown_s, one.working_s, one.idle_s, one.waiting_s) == (60, 120, 30, 0)
    assert [span.state for span in one.spans] == ["unknown", "working", "idle"]
    assert one.ended_at is None


def test_an_ending_is_reported_with_what_it_freed(story: Story) -> None:
    story.agent("acme")
    begin(story, "acme")
    passes(story, 10)
    stop(story.app(), EndRequest(("acme",), STOP))
    sessions, freed = report(story)
    one = sessions["acme"]
    assert (one.stopped_by, one.stop_reason, one.processes) == ("exit_keys", "manual_stop", 1)
    assert one.freed_mb > 0
    assert one.ended_at is not None
    assert (freed.sessions, freed.processes, freed.survivors) == (1, 1, 0)
    assert freed.freed_mb == one.freed_mb


def test_a_session_that_ended_before_the_time_is_not_reported(story: Story) -> None:
    story.agent("acme")
    begin(story, "acme")
    stop(story.app(), EndRequest(("acme",), STOP))
    passes(story, 7200)
    sessions, freed = report(story)
    assert (sessions, freed.sessions) == ({}, 0)


def test_a_report_after_the_end_of_a_session_counts_no_time(story: Story) -> None:
    story.agent("acme")
    begin(story, "acme")
    passes(story, 10)
    stop(story.app(), EndRequest(("acme",), STOP))
    passes(story, 60)
    beat(story, "acme", "working")
    passes(story, 60)
    assert report(story)[0]["acme"].working_s == 0


def test_a_restart_is_no_ending(story: Story) -> None:
    story.comes_back()
    story.agent("acme")
    begin(story, "acme")
    passes(story, 10)
    story.restart("acme")
    sessions, freed = report(story)
    assert (sessions["acme"].ended_at, freed.sessions) == (None, 0)


def test_a_row_that_was_ended_with_another_is_over_too_and_its_end_counts_once(
    story: Story,
) -> None:
    story.agent("acme")
    row = {key: value for key, value in story.row("acme").items() if key != "name"}
    story.add_row({"name": "twin", **row})
    for name in ("acme", "twin"):
        begin(story, name)
    passes(story, 10)
    stop(story.app(), EndRequest(("acme",), STOP))
    passes(story, 60)
    sessions, freed = report(story)
    assert (sessions["twin"].unknown_s, freed.sessions) == (10, 1)
    first, second = sessions["acme"], sessions["twin"]
    assert first.ended_at == second.ended_at is not None
    assert first.ended_by == second.ended_by is not None
    assert first.stopped_by == second.stopped_by == "exit_keys"


def test_a_state_that_a_watch_saw_counts_until_the_next(story: Story) -> None:
    story.agent("acme")
    begin(story, "acme")
    for state in ("working", "unheard", "waiting"):
        story.app().books.note_all([NewEvent("acme", "state", {"state": state})])
        passes(story, 60)
    one = report(story)[0]["acme"]
    assert (one.working_s, one.waiting_s) == (120, 60)
    assert [span.state for span in one.spans] == ["working", "waiting"]
