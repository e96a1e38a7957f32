"""Changes to the fields of one row: nested, in order, and refused with their position."""

from __future__ import annotations

import re

import pytest

from tests.registry_text import set_one, swapped
from tmuxreap.registry.edits import Unsafe
from tmuxreap.registry.yaml.splice import REMOVE

pytestmark = pytest.mark.usefixtures("loader")


def test_an_equal_value_leaves_the_bytes() -> None:
    text = "tmux_sessions:\n- {a: 'x', b: 0x10, c: [ 1,2 ], d: {e: ~}}\n"
    assert set_one(text + "- n: .nan\n", {("n",): float("nan")}, 1) == text + "- n: .nan\n"
    same = {("a",): "x", ("b",): 16, ("c",): [1, 2], ("d",): {"e": None}}
    assert set_one(text, same) == text
    assert set_one(text, {("b",): 16.0}) == swapped("0x10", "16.0", text)
    assert set_one(text, {("c",): [1, True]}) == swapped("[ 1,2 ]", "[1, true]", text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- a: 1\n", '- a: 1\n  pane:\n    id: "%1"\n    pid: 7\n'),
        ("- pane:\n  a: 1\n", '- pane:\n    id: "%1"\n    pid: 7\n  a: 1\n'),
        ("- pane: null # c\n  a: 1\n", '- pane: # c\n    id: "%1"\n    pid: 7\n  a: 1\n'),
        ("- pane: {}\n", '- pane: {id: "%1", pid: 7}\n'),
        ("- pane:\n      pid: 6\n  a: 1\n", '- pane:\n      pid: 7\n      id: "%1"\n  a: 1\n'),
        ("- {a: 1}\n", '- {a: 1, pane: {id: "%1", pid: 7}}\n'),
        ("- {a: 1, pane: }\n", '- {a: 1, pane: {id: "%1", pid: 7} }\n'),
        ("- {a: 1, pane}\n", '- {a: 1, pane: {id: "%1", pid: 7}}\n'),
    ],
)
def test_keys_of_a_nested_mapping_are_changed_in_place(before: str, after: str) -> None:
    changes = {("pane", "id"): "%1", ("pane", "pid"): 7, ("tmux", "gone"): REMOVE}
    assert set_one("tmux_sessions:\n" + before, changes) == "tmux_sessions:\n" + after


def test_a_path_through_a_text_is_refused_with_its_place() -> None:
    with pytest.raises(Unsafe, match=re.escape("`pane` is not a mapping (line 3, column 3)")):
        set_one("tmux_sessions:\n- a: 1\n  pane: x\n", {("pane", "id"): "%1"})


def test_an_explicit_key_is_refused_when_its_value_is_selected() -> None:
    text = "tmux_sessions:\n- ? a\n  : 1\n  b: 2\n"
    with pytest.raises(Unsafe, match=re.escape("(line 2, column 5)")):
        set_one(text, {("a",): 2})
    assert set_one(text, {("b",): 3}) == text.replace("2", "3")


def test_a_change_below_another_change_is_made_in_turn() -> None:
    changes = {("pane",): {"id": "x"}, ("pane", "pid"): 1, ("pane", "id"): REMOVE}
    assert (
        set_one("tmux_sessions:\n- a: 1\n", changes)
        == "tmux_sessions:\n- a: 1\n  pane:\n    pid: 1\n"
    )


def test_the_last_nested_key_leaves_an_empty_mapping() -> None:
    text = "tmux_sessions:\n- pane: # c\n    id: 1\n    pid: 2\n  a: 1\n"
    after = set_one(text, {("pane", "id"): REMOVE, ("pane", "pid"): REMOVE})
    assert after == "tmux_sessions:\n- pane: {} # c\n  a: 1\n"
