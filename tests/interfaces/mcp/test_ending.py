"""The tools that end: what they require before something is lost."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tests.fakes import Story
from tmuxreap.core.errors import Code, Failure
from tmuxreap.interfaces.mcp.arguments import with_host
from tmuxreap.interfaces.mcp.ending import RemoveSession, StopSession


def test_a_purge_over_hosts_is_of_one_name_on_one_host() -> None:
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


def test_the_own_session_is_meant_where_names_are_given() -> None:
    def also(**words: Any) -> bool:
        return StopSession.model_validate({"reason": "r", **words}).also_self

    assert also(targets=["acme"])
    assert not also(targets=["all"])
    assert also(targets=["all"], self=True)


def test_what_is_dropped_needs_a_reason_and_keeps_it(story: Story) -> None:
    with pytest.raises(ValidationError, match="reason"):
        RemoveSession.model_validate({"targets": ["acme"], "history": True})
    story.agent()
    story.stop()
    RemoveSession(targets=["acme"], reason="old", history=True).run(story.app())
    with story.ledger() as ledger:
        assert [(one.kind, one.data) for one in ledger.events()] == [
            ("forgotten", {"reason": "old"})
        ]
