"""`events`: what happened, by name and time, even without a row."""

from __future__ import annotations

from itertools import islice

from tests.fakes import Story
from tmuxreap.commands.events import EventsRequest, follow, run
from tmuxreap.commands.forget import ForgetRequest
from tmuxreap.commands.forget import run as forget


def told(story: Story, *targets: str, since_s: float | None = None) -> list[tuple[object, object]]:
    items = run(story.app(), EventsRequest(targets, since_s)).results
    return [(item.as_json()["name"], item.as_json().get("kind")) for item in items]


def test_events_of_all_or_of_one_name_are_listed(story: Story) -> None:
    story.agent("a")
    story.agent("b")
    story.stop("a")
    story.kill("b")
    assert told(story) == told(story, "all") == [("a", "stopped"), ("b", "killed")]
    assert told(story, "b") == [("b", "killed")]


def test_events_of_a_forgotten_session_are_still_there(story: Story) -> None:
    story.agent("a")
    story.stop("a")
    forget(story.app(), ForgetRequest(("a",)))
    assert told(story, "a") == [("a", "stopped"), ("a", "forgotten")]


def test_a_name_without_any_events_is_reported(story: Story) -> None:
    result = run(story.app(), EventsRequest(("nobody",)))
    assert [item.error.code for item in result.results if item.error] == ["session_not_registered"]


def test_events_older_than_the_limit_are_left_out(story: Story) -> None:
    story.agent("a")
    story.agent("b")
    story.stop("a")
    story.processes.wait((), 600)
    story.stop("b")
    assert told(story, since_s=60.0) == [("b", "stopped")]


def test_new_events_are_printed_once_and_in_order(story: Story) -> None:
    story.agent("a")
    story.agent("b")
    story.stop("a")
    events = follow(story.app(), EventsRequest())
    assert next(events).name == "a"
    story.processes.after(1.0, lambda: story.stop("b"))
    assert [event.name for event in islice(events, 1)] == ["b"]
