"""The tools that end: what they require before something is lost."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tests.fakes import Story
from tmuxreap.commands.reap import reap
from tmuxreap.commands.reap.verdicts import Kind, Limits
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.mcp.arguments import with_host
from tmuxreap.interfaces.mcp.tools import InterruptSession, Reap, RemoveSession, StopSession
from tmuxreap.sessions.context import Context


def test_a_purge_over_hosts_takes_one_name_on_one_host() -> None:
    model = with_host(StopSession)

    def given(**words: Any) -> dict[str, object]:
        asked = {"reason": "r", "purge_conversation": True, **words}
        return model.model_validate(asked).words()

    said = given(targets=["web@gpu"], confirm_purge="web@gpu")
    assert (said["purge"], said["yes"]) == (True, True)
    assert given(targets=["web"], confirm_purge="web", host=["gpu"])["purge"]
    for wrong in (
        {"targets": ["web"], "confirm_purge": "web", "host": ["gpu", "dev"]},
        {"targets": ["web@gpu"], "confirm_purge": "web"},
        {"targets": ["*@gpu"], "confirm_purge": "*@gpu"},
        {"targets": ["web@gpu"]},
    ):
        with pytest.raises(Failure) as caught:
            given(**wrong)
        assert caught.value.code is Code.USAGE


def test_the_callers_own_session_is_selected_by_name() -> None:
    def also(**words: Any) -> bool:
        return StopSession.model_validate({"reason": "r", **words}).also_self

    assert also(targets=["acme"])
    assert not also(targets=["all"])
    assert also(targets=["all"], self=True)


def test_removing_a_row_needs_a_reason_and_records_it(story: Story) -> None:
    with pytest.raises(ValidationError, match="reason"):
        RemoveSession.model_validate({"targets": ["acme"], "history": True})
    story.agent()
    story.stop()
    RemoveSession(targets=["acme"], reason="old", history=True).run(story.app())
    with story.ledger() as ledger:
        assert [(one.kind, one.data) for one in ledger.events()] == [
            ("forgotten", {"reason": "old"})
        ]


def test_a_reap_has_the_users_defaults_where_nothing_was_given(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[reap.ReapRequest] = []

    def run(_: Context, request: reap.ReapRequest) -> Result:
        asked.append(request)
        return Result("reap", None, 0.0)

    monkeypatch.setattr(reap, "run", run)
    for given in ({}, {"idle": True, "idle_after": 90, "grace": 2.5, "cleanup": False}):
        context = story.app()
        context.defaults = {"cleanup": True, "reap.idle_after": 60.0, "reap.grace": 9.0}
        Reap.model_validate({"reason": "night", **given}).run(context)
    plain, chosen = asked
    assert (plain.kinds, plain.limits.idle_after_s, plain.policy.grace) == ((), 60.0, 9.0)
    assert (plain.policy.cleanup, plain.why, plain.yes) == (True, "night", False)
    assert (chosen.kinds, chosen.limits) == ((Kind.IDLE,), Limits(idle_after_s=90.0))
    assert (chosen.policy.grace, chosen.policy.cleanup) == (2.5, False)


def test_an_agent_that_interrupts_more_than_names_must_say_so(story: Story) -> None:
    caller, other = story.agent("caller"), story.agent("other", state="busy")
    with pytest.raises(Failure) as caught:
        InterruptSession(targets=["all"]).run(story.app(caller.process.pid))
    assert (caught.value.code, other.heard) == (Code.USAGE, [])
    InterruptSession(targets=["all"], yes=True).run(story.app(caller.process.pid))
    assert other.heard == ["Escape"]
