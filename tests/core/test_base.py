"""Answers survive a round trip through JSON, whatever they contain."""

from __future__ import annotations

import json

import pytest

from tmuxreap.commands.schema import ANSWERING, answer_schema
from tmuxreap.core.answers import Launched, Listed, Session, Shown
from tmuxreap.core.model import Outcome, Status
from tmuxreap.core.results import (
    Answer,
    Counts,
    Draft,
    Ending,
    Problem,
    Process,
    Rung,
    fields_of,
    read,
)
from tmuxreap.core.values import as_dict
from tmuxreap.core.verbs import VERBS

WHOLE = Ending(
    "a",
    Outcome.STOPPED,
    Status.STOPPED,
    rungs=(Rung("keys", 120, enough=True),),
    spared=(Process(7, "ssh-agent", "spared"),),
    draft=Draft(4, 1),
    error=Problem("still_running", "could not", "try"),
    evidence={"idle_s": 60, "children": [{"pid": 7}]},
)


def test_a_value_comes_back_from_its_json() -> None:
    assert read(Ending, json.loads(json.dumps(WHOLE.as_json()))) == WHOLE


def test_enums_are_written_as_text() -> None:
    told = WHOLE.as_json()
    assert (type(told["outcome"]), told["status"]) == (str, "stopped")
    assert f"{Outcome.STOPPED} {Status.STOPPED!s}" == "stopped stopped"
    assert {Outcome.STOPPED: 1}["stopped"] == 1  # type: ignore[index]


def test_a_rare_field_without_a_value_is_left_out() -> None:
    assert {"plan", "verdict"} & set(WHOLE.as_json()) == set()
    assert "evidence" in WHOLE.as_json()
    assert Process(7, "sh").as_json() == {"pid": 7, "name": "sh"}
    assert "error" not in Session("a").as_json()
    assert Launched("a").as_json()["error"] is None


def test_the_text_of_a_draft_is_in_no_answer() -> None:
    assert Draft(6, 1, "secret").as_json() == {"chars": 6, "event": 1}
    assert "text" not in fields_of(Draft)


@pytest.mark.parametrize("kind", [Listed, Shown, Launched])
def test_session_fields_come_first_in_derived_answers(kind: type[Session]) -> None:
    one = Session("a", "demo", status="running")
    more = kind(**as_dict(one))
    assert list(fields_of(kind))[: len(fields_of(Session))] == list(fields_of(Session))
    assert (more.name, more.agent, isinstance(more, Session)) == ("a", "demo", True)
    assert more != one
    with pytest.raises(AttributeError):
        more.name = "b"  # type: ignore[misc]


@pytest.mark.parametrize("verb", ANSWERING)
def test_json_fields_are_those_of_the_schema(verb: str) -> None:
    kind = VERBS[verb].result
    schema = answer_schema(verb)
    properties = schema["properties"]
    assert isinstance(properties, dict)
    described = (
        properties if VERBS[verb].is_endless else properties["results"]["items"]["properties"]
    )
    assert list(described) == list(fields_of(kind))
    assert issubclass(kind, Answer)


def test_an_answer_of_a_later_version_may_have_more_fields() -> None:
    assert read(Counts, {"ended": 2, "by_magic": 1}) == Counts(ended=2)
