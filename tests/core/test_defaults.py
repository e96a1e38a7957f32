"""The user's defaults: each key can be read, and the page says what holds without it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tmuxreap.core.defaults import BUILT_IN, SECRETS, VARIABLES
from tmuxreap.core.times import parse_duration
from tmuxreap.sessions.configuration import READERS

PAGE = Path(__file__).parent.parent.parent / "docs" / "configuration.md"


@pytest.mark.parametrize("key", VARIABLES)
def test_a_value_is_read_with_the_type_of_its_default(key: str) -> None:
    given = {str: "night", float: "90", bool: "yes"}[type(BUILT_IN[key])]
    assert type(READERS[type(BUILT_IN[key])](given)) is type(BUILT_IN[key])


def test_patterns_are_set_in_the_file_only() -> None:
    assert set(BUILT_IN) - set(VARIABLES) == {SECRETS}


def test_the_page_tells_what_holds_without_a_key() -> None:
    rows = re.findall(
        r"^\| `([a-z_.]+)` \|[^|]*\| ([^|]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    told = {key: text.partition(";")[0].strip("`") for key, text in rows if key in BUILT_IN}
    for key, value in BUILT_IN.items():
        if isinstance(value, float):
            assert parse_duration(told[key].replace(" ", "")) == value
    assert told["reason"] == BUILT_IN["reason"]
    assert told["cleanup"] == str(BUILT_IN["cleanup"]).lower()
