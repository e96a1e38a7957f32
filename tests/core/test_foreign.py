"""JSON of others: what comes out is finite, has few levels, and its words are known."""

from __future__ import annotations

import json
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import pytest

from tmuxreap.core.answers import Change, Session
from tmuxreap.core.foreign import DEEPEST, TooDeep, known, parse, parse_object, read
from tmuxreap.core.model import EndVerb, Scope
from tmuxreap.core.results import Answer, fields_of
from tmuxreap.core.verbs import ALL
from tmuxreap.ending.policy import Policy


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 21, "9" * 5000]
)
def test_a_number_that_cannot_be_used_is_null(number: str) -> None:
    value = parse(f'{{"a": [{number}, 1, -2.5]}}')
    assert value == {"a": [None, 1, -2.5]}
    json.dumps(value, allow_nan=False)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}")])
def test_more_levels_than_any_answer_has_are_refused(opening: str, closing: str) -> None:
    fits = f"{opening * DEEPEST}1{closing * DEEPEST}"
    assert json.loads(fits) == parse(fits)
    for levels in (DEEPEST + 1, 480, 950):
        with pytest.raises(TooDeep):
            parse(f"{opening * levels}1{closing * levels}")
    with pytest.raises(ValueError, match="levels deep"):
        parse(opening * 100_000 + "1" + closing * 100_000)


def test_invalid_json_is_refused() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        parse("{")


def test_a_word_of_a_newer_version_is_unknown() -> None:
    words = {"idle", "working"}
    assert [known(word, words) for word in ("idle", "dreaming", None, 3, ["idle"])] == [
        "idle",
        "unknown",
        None,
        "unknown",
        "unknown",
    ]


def sample(form: Any, name: str) -> Any:
    """Return a value of this type, other than its default."""
    origin = get_origin(form)
    if origin in (Union, UnionType):
        return sample(next(one for one in get_args(form) if one is not NoneType), name)
    if origin is tuple:
        return (sample(get_args(form)[0], name),)
    if hasattr(form, "__fields__"):
        return form(**{name: sample(its, name) for name, its in fields_of(form).items()})
    values: dict[object, object] = {str: name, int: 7, float: 7.5, bool: True}
    return values.get(form, {"key": [1]})


# Of a change, JSON has only the fields of its event.
KINDS = {verb.result for verb in ALL} - {None, Change}


@pytest.mark.parametrize("kind", sorted(KINDS, key=str))
def test_every_field_of_an_answer_arrives_from_another_host(kind: type[Answer]) -> None:
    one = sample(kind, "")
    sent = parse(json.dumps(one.as_json()))
    assert isinstance(sent, dict)
    assert read(kind, {**sent, "of_a_newer_version": [1]}) == one
    assert {name for name in fields_of(kind) if name in sent} == set(fields_of(kind))


def test_a_field_of_another_form_counts_as_absent() -> None:
    facts = {"name": "a", "pid": True, "idle_s": "long", "tags": ["x", 7], "memory_mb": 3}
    assert read(Session, facts) == Session("a", tags=("x",), memory_mb=3.0)
    assert read(Session, {"name": "a", "error": {"code": "gone"}}) == Session("a")
    assert read(Session, {"name": ["a"]}) is None
    assert read(Session, {}) is None


def test_a_word_of_an_enum_becomes_its_member() -> None:
    given = {"verb": "kill", "reason": "old", "scope": "pane", "grace_s": 2}
    assert read(Policy, given) == Policy(EndVerb.KILL, "old", scope=Scope.PANE, grace_s=2.0)
    assert read(Policy, {**given, "verb": "hug"}) is None


def test_only_a_json_object_is_an_answer() -> None:
    assert parse_object('{"a": [1]}') == {"a": [1]}
    with pytest.raises(ValueError, match="no JSON object"):
        parse_object("[1]")
