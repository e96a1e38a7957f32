"""The inside of one row: its keys and values with their positions."""

from __future__ import annotations

import pytest

from tmuxreap.registry.yaml.scalars import find_colon
from tmuxreap.registry.yaml.splice import Leaf, MappingNode, SequenceNode, read_row

pytestmark = pytest.mark.usefixtures("loader")


def row(text: str) -> MappingNode:
    found = read_row(text)
    assert isinstance(found, MappingNode)
    return found


def test_keys_and_values_have_their_places_in_the_text() -> None:
    text = "name: acme  # ours\ntags: [a, b]\npane:\n  id: '%1'\n"
    found = row(text)
    said = [
        (text[one.key.start : one.key.end], text[one.value.start : one.value.end])
        for one in found.entries
    ]
    assert said[:2] == [("name", "acme"), ("tags", "[a, b]")]
    assert [type(one.value) for one in found.entries] == [Leaf, SequenceNode, MappingNode]
    inner = found.entries[2].value
    assert isinstance(inner, MappingNode)
    assert (inner.column, inner.flow) == (2, False)
    assert inner.entries[0].value == Leaf(text.index("'%1'"), text.index("'%1'") + 4, "'")


def test_an_empty_value_comes_after_its_colon() -> None:
    text = "name:   # nothing\nnext: 1\n"
    first = row(text).entries[0]
    assert (first.empty, first.value.start, first.colon) == (True, 5, 4)


def test_a_key_alone_in_braces_has_no_colon() -> None:
    (only,) = row("{key}").entries
    assert (only.colon, only.empty) == (None, True)
    assert row("{key}").flow


def test_a_colon_is_looked_for_behind_blanks_only() -> None:
    assert find_colon("a \t: 1", 1) == 3
    assert find_colon("a\n: 1", 1) is None
