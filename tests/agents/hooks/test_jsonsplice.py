"""One member or item is added or removed, and every other byte stays."""

from __future__ import annotations

import pytest

from tmuxreap.agents.hooks.settings_file import NotJson, parse, with_item, with_member, without


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "k": 1\n}'),
        ('{"a": 0}', '{"a": 0, "k": 1}'),
        ('{\n\t"a": 0\n}\n', '{\n\t"a": 0,\n\t"k": 1\n}\n'),
        ('{\r\n  "a": 0\r\n}', '{\r\n  "a": 0,\r\n  "k": 1\r\n}'),
        ('{"k":  2}', '{"k":  2}'),
    ],
)
def test_a_member_goes_in_as_the_others_stand(before: str, after: str) -> None:
    assert with_member(before, (), "k", 1) == after


def test_an_item_goes_in_below() -> None:
    assert with_item('{"a": {"b": [1]}}', ("a", "b"), 2) == '{"a": {"b": [1, 2]}}'


def test_a_child_goes_out_with_its_comma() -> None:
    text = '{"a": [1, 2 , 3]}'
    array = parse(text).child("a")
    assert array is not None
    assert [without(text, array, index) for index in range(3)] == [
        '{"a": [2 , 3]}',
        '{"a": [1 , 3]}',
        '{"a": [1, 2]}',
    ]


def test_the_last_of_two_equal_keys_counts() -> None:
    text = '{"a": 1, "a": [2]}'
    assert with_item(text, ("a",), 3) == '{"a": 1, "a": [2, 3]}'


@pytest.mark.parametrize("text", ["", "[]", "{,}", '{"a": 1} x', "[" * 100_000])
def test_text_that_is_no_json_object_is_rejected(text: str) -> None:
    with pytest.raises(NotJson):
        parse(text)


def test_a_path_that_is_not_there_is_reported() -> None:
    with pytest.raises(NotJson, match="there is no b in it"):
        with_member("{}", ("b",), "k", 1)
    with pytest.raises(NotJson, match="a is no list"):
        with_item('{"a": {}}', ("a",), 1)
