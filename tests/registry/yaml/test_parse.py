"""What is parsed of a registry: rows with their positions, and why one must not be edited."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.plain_yaml import load
from tests.registry_text import REGISTRY, set_fields, set_one
from tmuxreap.registry.edits import Unsafe, remove_rows
from tmuxreap.registry.yaml.parse import Malformed, parse

pytestmark = pytest.mark.usefixtures("loader")


def test_rows_have_data_and_places() -> None:
    alpha, beta = parse(REGISTRY).rows
    assert alpha.data == {
        "name": "alpha",
        "status": "running",
        "resumable": "no",
        "pane": {"pid": 12, "cwd": "/home/x"},
        "notes": "line one\n\n# still text\n",
    }
    assert (alpha.line, alpha.column, alpha.trouble) == (5, 5, None)
    assert REGISTRY[alpha.start : alpha.end].startswith("name: alpha")
    assert REGISTRY[alpha.start : alpha.end].endswith("# still text")
    assert REGISTRY[beta.start : beta.end] == "{name: beta, status: running, pane: {}}"


@pytest.mark.parametrize(
    "text",
    [
        "tmux_sessions:\n",
        "tmux_sessions: []\n",
        "tmux_sessions: ~",
        "a: 1\n'tmux_sessions': null\n",
    ],
)
def test_a_list_without_rows_is_read_as_empty(text: str) -> None:
    assert parse(text).rows == ()


@pytest.mark.parametrize(
    ("text", "reason", "line", "column"),
    [
        ("", "the file is empty", 1, 1),
        (" \n\n", "the file is empty", 1, 1),
        ("# only\n", "the file holds only comments", 1, 1),
        ("- a\n", "the top level is not a mapping", 1, 1),
        ("a: 1\n", "there is no `tmux_sessions` list", 1, 1),
        ("a: 1\ntmux_sessions: x\n", "`tmux_sessions` is not a list", 2, 16),
        ("tmux_sessions: ''\n", "`tmux_sessions` is not a list", 1, 16),
        ("tmux_sessions: {a: 1}\n", "`tmux_sessions` is not a list", 1, 16),
        (
            "tmux_sessions: []\nb: 1\ntmux_sessions: []\n",
            "`tmux_sessions` appears twice",
            3,
            1,
        ),
        (
            "tmux_sessions: &x\n- a: 1\n",
            "`tmux_sessions` must not be an alias, nor have an anchor or a tag",
            1,
            16,
        ),
        (
            "x: &x []\ntmux_sessions: *x\n",
            "`tmux_sessions` must not be an alias, nor have an anchor or a tag",
            2,
            16,
        ),
        (
            "tmux_sessions: !!seq []\n",
            "`tmux_sessions` must not be an alias, nor have an anchor or a tag",
            1,
            16,
        ),
        ("tmux_sessions: []\n---\na: 1\n", "more than one document", 2, 1),
        ("tmux_sessions:\n- é\x07\n", "the character #x0007 is not allowed", 2, 4),
        ("tmux_sessions: " + "[" * 3000, "nested too deeply", 1, 1),
    ],
)
def test_a_file_that_is_no_registry_is_refused(
    text: str, reason: str, line: int, column: int
) -> None:
    with pytest.raises(Malformed) as caught:
        parse(text)
    assert (caught.value.reason, caught.value.line, caught.value.column) == (reason, line, column)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("tmux_sessions:\n- name: x\n bad\n", 3, 2),
        ("\ufefftmux_sessions:\n- name: 'x\n", 3, 1),
        ("a: *nobody\ntmux_sessions: []\n", 1, 4),
        ("a: &x 1\nb: &x 2\ntmux_sessions: []\n", 2, 4),
        ("tmux_sessions:\n- a\udc80\n", 2, 4),
    ],
)
def test_invalid_yaml_is_reported_with_its_place(text: str, line: int, column: int) -> None:
    with pytest.raises(Malformed) as caught:
        parse(text)
    assert caught.value.line == line
    assert abs(caught.value.column - column) <= 1  # the loaders differ by the anchor's sign


@pytest.mark.parametrize(
    ("row", "data", "trouble", "line", "column"),
    [
        ("- plain\n", None, "it is not a mapping", 3, 3),
        ("- [a]\n", None, "it is not a mapping", 3, 3),
        ("-\n", None, "it is not a mapping", 3, 2),
        ("- *d\n", {"z": 1}, "it is an alias", 3, 3),
        ("- a: *t\n", {"a": "1"}, "there is a tag in it", 3, 6),
        ("- a: 1\n  <<: x\n", {"a": 1}, "there is a merge key in it without a mapping", 4, 3),
        ("- <<: *d\n  <<: *d\n", {"z": 1}, "the key '<<' appears twice", 4, 3),
        ("- a: !!str 1\n", {"a": "1"}, "there is a tag in it", 3, 6),
        ("- a: !foreign x\n", {"a": "x"}, "there is a tag in it", 3, 6),
        (
            "- a: 1\n  b:\n    a: 2\n    a: 3\n",
            {"a": 1, "b": {"a": 3}},
            "the key 'a' appears twice",
            6,
            5,
        ),
        ("- ? [a]\n  : 1\n  b: 2\n", {"b": 2}, "there is a key in it that is no plain text", 3, 5),
        (
            "- name: x\n  a: 2026-99-99\n",
            {"name": "x", "a": "2026-99-99"},
            "the value '2026-99-99' cannot be read",
            4,
            6,
        ),
    ],
)
def test_a_troubled_row_is_read_but_not_edited(
    row: str, data: Any, trouble: str, line: int, column: int
) -> None:
    above = "{d: &d {z: 1}, t: &t !!str 1}"
    document = parse(f"x: {above}\ntmux_sessions:\n{row}- name: healthy\n")
    assert document.rows[0].data == data
    with pytest.raises(Unsafe) as caught:
        set_fields(document, 0, {("status",): "stopped"})
    found = caught.value
    assert (found.reason, found.line, found.column, found.index) == (trouble, line, column, 0)
    assert set_fields(document, 1, {("name",): "well"}) == document.text.replace("healthy", "well")
    assert [each.data for each in parse(remove_rows(document, 1)).rows] == [data]


def test_a_pair_without_braces_is_not_edited() -> None:
    document = parse("tmux_sessions: [a: b, {c: 1}]\n")
    with pytest.raises(Unsafe, match=re.escape("it is a pair without braces (line 1, column 17)")):
        set_fields(document, 0, {("a",): "c"})
    assert set_fields(document, 1, {("c",): 2}) == "tmux_sessions: [a: b, {c: 2}]\n"


def test_quotes_are_part_of_the_meaning() -> None:
    quoted, plain = (parse(f"tmux_sessions: [{{a: {text}}}]").rows[0] for text in ("'1'", "1"))
    assert quoted.meaning != plain.meaning


@pytest.mark.parametrize("number", [3, 29, 200])
def test_aliases_that_multiply_cost_nothing(number: int) -> None:
    bomb = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 201))
    text = f"a0: &a0 x\n{bomb}tmux_sessions:\n- name: x\n- boom: *a{number}\n"
    assert set_one(text, {("name",): "z"}) == text.replace("name: x", "name: z")
    large = "its aliases expand to too many values" if number > 3 else None
    trouble = parse(text).rows[1].trouble  # named: a failure must not print its data
    assert trouble == large


def test_a_row_that_contains_itself_is_not_edited() -> None:
    document = parse("tmux_sessions:\n- name: x\n  a: &a [1, *a]\n- &b\n  b: *b\n- name: y\n")
    assert [row.trouble for row in document.rows] == ["it contains itself"] * 2 + [None]


SHARED = """\
defaults: &defaults {status: running, tags: &tags [x], pane: {cwd: /w}}
tmux_sessions:
- &first
  name: a
  tags: *tags
  mcp: &id001
  - one
- name: b
  mcp: *id001
  <<: *defaults
- name: c
  <<: [{status: stopped}, *defaults]
- {name: d, <<: *first}
"""


def test_anchors_aliases_and_merge_keys_are_read_as_what_they_stand_for() -> None:
    document = parse(SHARED)
    assert [row.trouble for row in document.rows] == [None] * 4
    assert [row.data for row in document.rows] == load(SHARED)["tmux_sessions"]
    assert document.rows[3].data == {"name": "d", "tags": ["x"], "mcp": ["one"]}


def test_rows_of_equal_text_differ_if_what_they_repeat_differs() -> None:
    one, two = (parse(SHARED.replace("- one", f"- {word}")).rows for word in ("one", "two"))
    assert one[1].meaning != two[1].meaning
    assert one[2].meaning == two[2].meaning
    assert one[3].meaning != two[3].meaning


@pytest.mark.parametrize("number", ["1" + ":59" * 5_000, "1" + ":59" * 3_000, "0x" + "f" * 5_000])
def test_a_number_that_cannot_be_written_back_spoils_its_row_alone(number: str) -> None:
    document = parse(f"tmux_sessions:\n- name: x\n  big: {number}\n- name: y\n")
    assert document.rows[0].trouble == f"the value {number[:40]!r} cannot be read"
    assert set_fields(document, 1, {("name",): "z"}).endswith("- name: z\n")
