"""Values are written so that they round-trip."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.registry_text import set_one
from tmuxreap.registry.edits import Unsafe

pytestmark = pytest.mark.usefixtures("loader")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain words", "plain words"),
        ("2026-11-18T09:12:33Z", '"2026-11-18T09:12:33Z"'),
        ("12:30:45", '"12:30:45"'),
        ("0123456", '"0123456"'),
        ("no", '"no"'),
        ("y", '"y"'),
        ("1e3", '"1e3"'),
        ("0o17", '"0o17"'),
        ("null", '"null"'),
        ("", '""'),
        ("%1", '"%1"'),
        ("a: b", '"a: b"'),
        ("a #b", '"a #b"'),
        ("=", '"="'),
        ("<<", '"<<"'),
        ("...", '"..."'),
        ('say "x" \\', '"say \\"x\\" \\\\"'),
        ("tab\tbell\x07nel\x85ls\u2028bom\ufeff", '"tab\\tbell\\x07nel\\x85ls\\u2028bom\\ufeff"'),
        ("é😀", '"é😀"'),
        ("ключ", "ключ"),
        (7, "7"),
        (1e20, "1.0e+20"),
        (1731923553.25, "1731923553.25"),
        (float("inf"), ".inf"),
        (True, "true"),
        (None, "null"),
        (["a", "no", 1], '[a, "no", 1]'),
        ([], "[]"),
        ({}, "{}"),
        ({"on": 1, "b": [None]}, '\n    "on": 1\n    b: [null]'),
    ],
)
def test_a_value_is_written_so_that_it_is_read_back(value: Any, written: str) -> None:
    after = set_one("tmux_sessions:\n- a: 1\n", {("k",): value})
    assert after == f"tmux_sessions:\n- a: 1\n  k: {written}\n".replace(": \n", ":\n")
    for each in (yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        assert yaml.load(after, Loader=each)["tmux_sessions"][0]["k"] == value


def test_nan_is_written_and_read_as_itself() -> None:
    assert (
        set_one("tmux_sessions:\n- a: 1\n", {("k",): float("nan")})
        == "tmux_sessions:\n- a: 1\n  k: .nan\n"
    )


def test_quotes_are_kept_where_the_text_allows_it() -> None:
    text = "tmux_sessions:\n- a: 'x'\n"
    assert set_one(text, {("a",): "it's"}) == "tmux_sessions:\n- a: 'it''s'\n"
    assert set_one(text, {("a",): "one\ntwo"}) == 'tmux_sessions:\n- a: "one\\ntwo"\n'


def test_a_value_that_cannot_be_written_is_refused_or_raised() -> None:
    with pytest.raises(Unsafe):
        set_one("tmux_sessions:\n- a: 1\n", {("k",): "\ud800"})
    with pytest.raises(TypeError):
        set_one("tmux_sessions:\n- a: 1\n", {("k",): b"x"})
