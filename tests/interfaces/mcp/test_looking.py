"""The tools that look: running sessions, up to a limit, with the requested fields."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes import Story
from tmuxreap.commands.wait import event_waiter
from tmuxreap.commands.watch.waiting import Waiter, Woken
from tmuxreap.core.errors import Failure
from tmuxreap.interfaces.mcp.tools import (
    LONGEST_S,
    Events,
    InterruptibleWaiter,
    ListSessions,
    WaitSession,
)
from tmuxreap.sessions.context import Context


def names(story: Story, **given: Any) -> list[str]:
    result = ListSessions.model_validate(given).run(story.app())
    return [str(one.as_json()["name"]) for one in result.results]


def test_a_list_has_running_sessions_only(story: Story) -> None:
    story.agent("acme")
    story.agent("gone")
    story.stop("gone")
    assert names(story) == ["acme"]
    assert names(story, status="all") == ["acme", "gone"]
    assert names(story, status="stopped") == ["gone"]
    assert names(story, targets=["gone"]) == ["gone"]  # a named session is shown even if it ended


ANSWER = {
    "warnings": ["before"],
    "results": [{"name": f"a{n}", "state": "idle", "cwd": "/", "error": None} for n in range(3)],
}


def test_a_list_is_as_long_and_as_wide_as_was_asked_for() -> None:
    told = ListSessions(limit=2, fields=["state"]).trimmed(dict(ANSWER))
    assert told["results"] == [{"name": f"a{n}", "state": "idle", "error": None} for n in range(2)]
    assert told["warnings"] == [
        "before",
        "2 of 3 sessions are shown: raise limit, or ask for fewer",
    ]
    assert ListSessions().trimmed(dict(ANSWER)) == ANSWER


def test_a_field_that_is_not_there_is_reported(story: Story) -> None:
    with pytest.raises(Failure, match="no field 'colour'") as caught:
        ListSessions(fields=["colour"]).run(story.app())
    assert "state" in caught.value.hint


def test_events_prints_the_newest() -> None:
    told = Events(limit=1).trimmed(dict(ANSWER))
    assert [one["name"] for one in told["results"]] == ["a2"]


def test_a_wait_is_shorter_than_a_clients_timeout(story: Story) -> None:
    story.agent()
    given = WaitSession.model_validate({"targets": ["acme"], "until": "gone", "timeout": 3600})
    assert given.words()["timeout"] == f"{LONGEST_S:g}"
    assert LONGEST_S < 30


def test_a_waiting_client_hears_that_the_server_exits(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    context: Context = story.app()
    waits: list[float] = []

    def hears_nothing(_: Waiter, processes: object, timeout_s: float) -> Woken:
        waits.append(timeout_s)
        return Woken(frozenset(), changed=False, ending=False)

    def leaving(_: object, timeout_s: float) -> set[Any]:
        if len(waits) == 3:
            raise KeyboardInterrupt
        return set()

    monkeypatch.setattr(Waiter, "wait", hears_nothing)
    context.processes.wait = leaving  # type: ignore[method-assign, assignment]
    with (
        event_waiter(context, InterruptibleWaiter) as waiter,
        pytest.raises(KeyboardInterrupt),
    ):
        waiter.wait((), 60.0)
    assert sum(waits) < 2
