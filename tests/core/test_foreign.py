"""JSON of others: what comes out is finite, has few levels, and its words are known."""

from __future__ import annotations

import json

import pytest

from tmuxreap.core.foreign import DEEPEST, TooDeep, known, parse


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


def test_what_is_no_json_is_refused() -> None:
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
