"""One hand at a time: what an edit does to the text, to the letter."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tmuxreap.registry import edits
from tmuxreap.registry.edits import (
    REMOVE,
    Malformed,
    Unsafe,
    add_row,
    edit_rows,
    new_document,
    parse,
    remove_row,
    set_fields,
)
from tmuxreap.registry.yaml import parse as yamlparse

REGISTRY = """\
# Agents of this project.
version: 1
tmux_sessions:
  # the first
  - name: alpha   # main
    status: running
    'resumable': "no"
    pane:
      pid: 12
      cwd: /home/x
    notes: |
      line one

      # still text

  # the second
  - {name: beta, status: running, pane: {}}
other: [1, 2] # end
"""


@pytest.fixture(params=["C", "pure"], autouse=True)
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything here holds with libyaml and without."""
    chosen = yaml.SafeLoader if request.param == "pure" else getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    monkeypatch.setattr(yamlparse, "LOADER", chosen)
    yield


def set_one(text: str, changes: Any, index: int = 0) -> str:
    return set_fields(parse(text), index, changes)


def swapped(old: str, new: str, text: str = REGISTRY) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


# -- reading ---------------------------------------------------------------------------------------------------------


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
    "text", ["tmux_sessions:\n", "tmux_sessions: []\n", "tmux_sessions: ~", "a: 1\n'tmux_sessions': null\n"]
)
def test_a_list_without_rows(text: str) -> None:
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
        ("tmux_sessions: []\nb: 1\ntmux_sessions: []\n", "`tmux_sessions` stands there twice", 3, 1),
        ("tmux_sessions: &x\n- a: 1\n", "`tmux_sessions` must not be an alias, nor have an anchor or a tag", 1, 16),
        ("x: &x []\ntmux_sessions: *x\n", "`tmux_sessions` must not be an alias, nor have an anchor or a tag", 2, 16),
        ("tmux_sessions: !!seq []\n", "`tmux_sessions` must not be an alias, nor have an anchor or a tag", 1, 16),
        ("tmux_sessions: []\n---\na: 1\n", "more than one document", 2, 1),
        ("tmux_sessions:\n- é\x07\n", "the character #x0007 is not allowed", 2, 4),
        ("tmux_sessions: " + "[" * 3000, "nested too deeply", 1, 1),
    ],
)
def test_what_is_no_registry(text: str, reason: str, line: int, column: int) -> None:
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
def test_what_is_no_yaml_says_where(text: str, line: int, column: int) -> None:
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
        ("- *d\n", {"z": 1}, "there is an alias in it", 3, 3),
        ("- &r\n  a: 1\n", {"a": 1}, "there is an anchor in it", 3, 3),
        ("- a: *d\n", {"a": {"z": 1}}, "there is an alias in it", 3, 6),
        ("- a: 1\n  <<: *d\n", {"a": 1, "z": 1}, "there is a merge key in it", 4, 3),
        ("- a: !!str 1\n", {"a": "1"}, "there is a tag in it", 3, 6),
        ("- a: !foreign x\n", {"a": "x"}, "there is a tag in it", 3, 6),
        ("- a: 1\n  b:\n    a: 2\n    a: 3\n", {"a": 1, "b": {"a": 3}}, "the key 'a' stands there twice", 6, 5),
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
def test_a_troubled_row_is_read_but_not_edited(row: str, data: Any, trouble: str, line: int, column: int) -> None:
    document = parse("d: &d {z: 1}\ntmux_sessions:\n" + row + "- name: healthy\n")
    assert document.rows[0].data == data
    with pytest.raises(Unsafe) as caught:
        set_fields(document, 0, {("status",): "stopped"})
    found = caught.value
    assert (found.reason, found.line, found.column, found.index) == (trouble, line, column, 0)
    assert set_fields(document, 1, {("name",): "well"}) == document.text.replace("healthy", "well")
    assert [each.data for each in parse(remove_row(document, 1)).rows] == [data]


def test_a_pair_without_braces_is_not_edited() -> None:
    document = parse("tmux_sessions: [a: b, {c: 1}]\n")
    with pytest.raises(Unsafe, match=re.escape("it is a pair without braces (line 1, column 17)")):
        set_fields(document, 0, {("a",): "c"})
    assert set_fields(document, 1, {("c",): 2}) == "tmux_sessions: [a: b, {c: 2}]\n"


def test_quotes_are_part_of_the_meaning() -> None:
    quoted, plain = (parse(f"tmux_sessions: [{{a: {text}}}]").rows[0] for text in ("'1'", "1"))
    assert quoted.meaning != plain.meaning


def test_aliases_that_multiply_cost_nothing() -> None:
    bomb = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    text = "a0: &a0 x\n" + bomb + "tmux_sessions:\n- name: x\n- boom: *a29\n"
    assert set_one(text, {("name",): "z"}) == text.replace("name: x", "name: z")


# -- setting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (("status",), "stopped", "status: running\n", "status: stopped\n"),
        (("name",), "gamma", "name: alpha   # main", "name: gamma   # main"),
        (("resumable",), "yes", "'resumable': \"no\"", "'resumable': \"yes\""),
        (("resumable",), False, "'resumable': \"no\"", "'resumable': false"),
        (("pane", "pid"), None, "pid: 12\n", "pid: null\n"),
        (("pane", "cwd"), "a\nb", "cwd: /home/x\n", 'cwd: "a\\nb"\n'),
        (("notes",), "gone", "notes: |\n      line one\n\n      # still text\n", "notes: gone\n"),
        (("pane",), "none", "pane:\n      pid: 12\n      cwd: /home/x\n", "pane: none\n"),
        (("pane",), {"pid": 12, "id": "%1"}, "pid: 12\n      cwd: /home/x\n", 'pid: 12\n      id: "%1"\n'),
        (("status",), {"is": "new"}, "status: running\n", "status:\n      is: new\n"),
    ],
)
def test_an_existing_value(path: tuple[str, ...], value: Any, old: str, new: str) -> None:
    text = swapped("status: running, ", "", REGISTRY)
    assert set_one(text, {path: value}) == swapped(old, new, text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("k:", "k: v"),
        ("k:   # c", "k: v   # c"),
        ("k: |- # c\n    t\n", "k: v # c\n"),
        ("k:\n    old  # c", "k:\n    v  # c"),
        ("k: one\n    two\n\n    three # c", "k: v # c"),
        ("k: 'one\n    two' # c", "k: 'v' # c"),
        ("k: [a,\n  b] # c", "k: v # c"),
        ("k: # c\n  - a # d\n  - b # e\n  # stays", "k: v # c\n  # stays"),
        ("k: >+\n    t\n\n\n  z: 1", "k: v\n  z: 1"),
        ("k: >\n    t\n\n\n  z: 1", "k: v\n\n\n  z: 1"),
        ("k : old", "k : v"),
        ('"k": "old"', '"k": "v"'),
    ],
)
def test_a_value_of_any_form_gives_way(old: str, new: str) -> None:
    for end in ("", "\n", "\n- name: next\n"):
        text = "tmux_sessions:\n- a: 1\n  " + old + end
        assert set_one(text, {("k",): "v"}) == "tmux_sessions:\n- a: 1\n  " + new + end


def test_an_equal_value_leaves_the_bytes() -> None:
    text = "tmux_sessions:\n- {a: 'x', b: 0x10, c: [ 1,2 ], d: {e: ~}}\n"
    assert set_one(text + "- n: .nan\n", {("n",): float("nan")}, 1) == text + "- n: .nan\n"
    same = {("a",): "x", ("b",): 16, ("c",): [1, 2], ("d",): {"e": None}}
    assert set_one(text, same) == text
    assert set_one(text, {("b",): 16.0}) == swapped("0x10", "16.0", text)
    assert set_one(text, {("c",): [1, True]}) == swapped("[ 1,2 ]", "[1, true]", text)


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
def test_how_a_value_is_written(value: Any, written: str) -> None:
    after = set_one("tmux_sessions:\n- a: 1\n", {("k",): value})
    assert after == f"tmux_sessions:\n- a: 1\n  k: {written}\n".replace(": \n", ":\n")
    for each in (yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        assert yaml.load(after, Loader=each)["tmux_sessions"][0]["k"] == value


def test_not_a_number_is_itself() -> None:
    assert set_one("tmux_sessions:\n- a: 1\n", {("k",): float("nan")}) == "tmux_sessions:\n- a: 1\n  k: .nan\n"


def test_quotes_are_kept_where_the_text_allows_it() -> None:
    text = "tmux_sessions:\n- a: 'x'\n"
    assert set_one(text, {("a",): "it's"}) == "tmux_sessions:\n- a: 'it''s'\n"
    assert set_one(text, {("a",): "one\ntwo"}) == 'tmux_sessions:\n- a: "one\\ntwo"\n'


def test_what_cannot_be_written_is_refused_or_raised() -> None:
    with pytest.raises(Unsafe):
        set_one("tmux_sessions:\n- a: 1\n", {("k",): "\ud800"})
    with pytest.raises(TypeError):
        set_one("tmux_sessions:\n- a: 1\n", {("k",): b"x"})


# -- adding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- a: 1", "- a: 1\n  k: v"),
        ("- a: 1 # c\n  # next\n- b: 1\n", "- a: 1 # c\n  k: v\n  # next\n- b: 1\n"),
        ("  -   a: 1\n\n\n", "  -   a: 1\n      k: v\n\n\n"),
        ("-\n    a: 1\n", "-\n    a: 1\n    k: v\n"),
        ("- a:\n    b: 1\n# c\n", "- a:\n    b: 1\n  k: v\n# c\n"),
        ("- a:\n  - 1\n  -\n\n# c\n", "- a:\n  - 1\n  -\n  k: v\n\n# c\n"),
        ("- a: |\n    t\n\n\n# c\n", "- a: |\n    t\n  k: v\n\n\n# c\n"),
        ("- a: |+\n    t\n\n\n# c\n", "- a: |+\n    t\n\n\n  k: v\n# c\n"),
        ("- a: |2\n      t\n\n# c\n", "- a: |2\n      t\n  k: v\n\n# c\n"),
        ("- a: |\n    t\n       \n# c\n", "- a: |\n    t\n       \n  k: v\n# c\n"),
        ("- a: 1\n  b: |\n    t", "- a: 1\n  k: v\n  b: |\n    t"),
        ("- a: |\n    t", "- k: v\n  a: |\n    t"),
        ("- a:", "- a:\n  k: v"),
        ("- {a: 1}\n", "- {a: 1, k: v}\n"),
        ("- {}\n", "- {k: v}\n"),
        ("- {a: 1, }\n", "- {a: 1, k: v, }\n"),
        ("- {a}\n", "- {a, k: v}\n"),
        ("- {a: }\n", "- {a: , k: v }\n"),
        ("- {\n    a: 1 # c\n  }\n", "- {\n    a: 1, k: v # c\n  }\n"),
        ("- a: 1\r\n- b: 1\r\n", "- a: 1\r\n  k: v\r\n- b: 1\r\n"),
        ("- a: 1\n...\n", "- a: 1\n  k: v\n...\n"),
        ("- 😀: 😀 # 😀\n", "- 😀: 😀 # 😀\n  k: v\n"),
        ("- ? a\n  : 1\n", "- ? a\n  : 1\n  k: v\n"),
    ],
)
def test_a_new_key_stands_behind_the_last_value(before: str, after: str) -> None:
    for head in ("tmux_sessions:\n", "\ufeff%YAML 1.1\n--- # x\nz: 1\ntmux_sessions:\n"):
        head = head.replace("\n", "\r\n") if "\r" in before else head
        assert set_one(head + before, {("k",): "v"}) == head + after


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
def test_keys_of_a_nested_mapping(before: str, after: str) -> None:
    changes = {("pane", "id"): "%1", ("pane", "pid"): 7, ("tmux", "gone"): REMOVE}
    assert set_one("tmux_sessions:\n" + before, changes) == "tmux_sessions:\n" + after


def test_a_path_through_a_text_is_refused_with_its_place() -> None:
    with pytest.raises(Unsafe, match=re.escape("`pane` is not a mapping (line 3, column 3)")):
        set_one("tmux_sessions:\n- a: 1\n  pane: x\n", {("pane", "id"): "%1"})


def test_an_explicit_key_is_refused_when_its_value_is_meant() -> None:
    text = "tmux_sessions:\n- ? a\n  : 1\n  b: 2\n"
    with pytest.raises(Unsafe, match=re.escape("(line 2, column 5)")):
        set_one(text, {("a",): 2})
    assert set_one(text, {("b",): 3}) == text.replace("2", "3")


def test_one_path_through_another_is_done_in_turn() -> None:
    changes = {("pane",): {"id": "x"}, ("pane", "pid"): 1, ("pane", "id"): REMOVE}
    assert set_one("tmux_sessions:\n- a: 1\n", changes) == "tmux_sessions:\n- a: 1\n  pane:\n    pid: 1\n"


# -- removing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- a: 1\n  # of k\n  k: v # c\n  # of b\n  b: 2\n", "- a: 1\n  # of k\n  # of b\n  b: 2\n"),
        ("- k: v\n  b: 2\n", "- b: 2\n"),
        ("- k: v # c\n  # of b\n  b: 2\n", "- \n  # of b\n  b: 2\n"),
        ("-\n  k: v\n  b: 2\n", "-\n  b: 2\n"),
        ("- b: 2\n  k: |\n    t\n\n# c\n", "- b: 2\n\n# c\n"),
        ("- b: 2\n  k:\n  - 1\n  - 2 # c\n  d: 1\n", "- b: 2\n  d: 1\n"),
        ("- b: 2\n  k: v", "- b: 2\n"),
        ("- k: v # c\n", "- {} # c\n"),
        ("- {k: v}\n", "- {}\n"),
        ("- {k: v, b: 2}\n", "- {b: 2}\n"),
        ("- {b: 2, k: v}\n", "- {b: 2}\n"),
        ("- {b: 2, k: v, }\n", "- {b: 2, }\n"),
        ("- {b: 2, # of b\n   k: v}\n", "- {b: 2, # of b\n   }\n"),
        ("- {k, b: 2}\n", "- {b: 2}\n"),
        ("- {k: v # c\n   , b: 2}\n", "- { # c\n    b: 2}\n"),
        ("- a: 1\r\n  k: v\r\n  b: 2\r\n", "- a: 1\r\n  b: 2\r\n"),
        ("- a: 1\n", "- a: 1\n"),
    ],
)
def test_a_removed_key_takes_its_line(before: str, after: str) -> None:
    assert set_one("tmux_sessions:\n" + before, {("k",): REMOVE}) == "tmux_sessions:\n" + after


def test_the_last_nested_key_leaves_an_empty_mapping() -> None:
    text = "tmux_sessions:\n- pane: # c\n    id: 1\n    pid: 2\n  a: 1\n"
    after = set_one(text, {("pane", "id"): REMOVE, ("pane", "pid"): REMOVE})
    assert after == "tmux_sessions:\n- pane: {} # c\n  a: 1\n"


def test_setting_adding_and_removing_in_one_go() -> None:
    changes = {
        ("status",): "stopped",
        ("stopped_at",): "2026-11-18T09:12:33Z",
        ("pane", "cwd"): REMOVE,
        ("resumable",): REMOVE,
        ("stopped_at_epoch",): 1794993153,
    }
    after = edit_rows(parse(REGISTRY), {0: changes, 1: changes})
    assert (
        after
        == """\
# Agents of this project.
version: 1
tmux_sessions:
  # the first
  - name: alpha   # main
    status: stopped
    pane:
      pid: 12
    notes: |
      line one

      # still text
    stopped_at: "2026-11-18T09:12:33Z"
    stopped_at_epoch: 1794993153

  # the second
  - {name: beta, status: stopped, pane: {}, stopped_at: "2026-11-18T09:12:33Z", stopped_at_epoch: 1794993153}
other: [1, 2] # end
"""
    )


def test_of_many_rows_the_one_in_the_way_is_named() -> None:
    document = parse("tmux_sessions:\n- a: 1\n- ? a\n  : 1\n- a: 1\n")
    with pytest.raises(Unsafe) as caught:
        edit_rows(document, {index: {("a",): 2} for index in range(3)})
    assert caught.value.index == 1


def test_of_many_rows_the_one_that_spoils_the_text_is_named() -> None:
    document = parse("tmux_sessions:\n- a: 1\n- a: 1\n- a: 1\n")
    with pytest.raises(Unsafe) as caught:
        edit_rows(document, {0: {("a",): 2}, 2: {("a",): "\ud800"}})
    assert (caught.value.index, caught.value.line, caught.value.column) == (2, 4, 3)


@pytest.mark.parametrize(
    ("damage", "into"),
    [
        ("version: 1", "version: 2"),
        ("beta", "zeta"),
        ("12", "13"),
        ("  - {name: beta", "    # {"),
        ("other", "'"),
        ("]", "] &x"),
    ],
)
def test_no_text_leaves_that_was_not_read_again(damage: str, into: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the splices did wrong would be found."""
    right = edits.spliced
    monkeypatch.setattr(edits, "spliced", lambda text, splices: right(text, splices).replace(damage, into))
    document = parse(REGISTRY)
    with pytest.raises(Unsafe):
        set_fields(document, 0, {("status",): "stopped"})
    with pytest.raises(Unsafe):
        add_row(document, {"name": "x"})


def test_an_edit_that_would_reach_further_is_refused() -> None:
    """Without its line the comment below would become text of the value above."""
    text = "tmux_sessions:\n- name: x\n- a: |\n    t\n  k: v\n    # deep\n  b: 1\n"
    document = parse(text)
    with pytest.raises(Unsafe) as caught:
        edit_rows(document, {0: {("name",): "y"}, 1: {("k",): REMOVE}})
    assert (caught.value.index, caught.value.line) == (1, 3)


# -- rows ------------------------------------------------------------------------------------------------------------

ROW = {"name": "w", "pane": {"id": "%1"}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tmux_sessions: []\n", 'tmux_sessions:\n  - name: w\n    pane:\n      id: "%1"\n'),
        ("tmux_sessions: [] # c\nb: 1\n", 'tmux_sessions: # c\n  - name: w\n    pane:\n      id: "%1"\nb: 1\n'),
        ("tmux_sessions:", 'tmux_sessions:\n  - name: w\n    pane:\n      id: "%1"'),
        ("\ufefftmux_sessions: ~\r\n", '\ufefftmux_sessions:\r\n  - name: w\r\n    pane:\r\n      id: "%1"\r\n'),
        ("tmux_sessions:\n- a: 1", 'tmux_sessions:\n- a: 1\n- name: w\n  pane:\n    id: "%1"'),
        (
            "tmux_sessions:\n  -   a: 1 # c\n",
            'tmux_sessions:\n  -   a: 1 # c\n  -   name: w\n      pane:\n        id: "%1"\n',
        ),
        (
            "tmux_sessions:\n- a: 1\n\n- b: 1\n",
            'tmux_sessions:\n- a: 1\n\n- b: 1\n\n- name: w\n  pane:\n    id: "%1"\n',
        ),
        (
            "tmux_sessions:\n- a: 1\n  # own\n# not\n",
            'tmux_sessions:\n- a: 1\n  # own\n- name: w\n  pane:\n    id: "%1"\n# not\n',
        ),
        ("tmux_sessions:\n- x\n...\n", 'tmux_sessions:\n- x\n- name: w\n  pane:\n    id: "%1"\n...\n'),
        ("tmux_sessions: [{a: 1}]\n", 'tmux_sessions: [{a: 1}, {name: w, pane: {id: "%1"}}]\n'),
        ("tmux_sessions: [\n  {a: 1},\n]\n", 'tmux_sessions: [\n  {a: 1},\n  {name: w, pane: {id: "%1"}},\n]\n'),
        ("tmux_sessions: [ # c\n]\n", 'tmux_sessions: [{name: w, pane: {id: "%1"}} # c\n]\n'),
        ('{"tmux_sessions":[]}', '{"tmux_sessions":[{name: w, pane: {id: "%1"}}]}'),
        ("{tmux_sessions: }", '{tmux_sessions: [{name: w, pane: {id: "%1"}}] }'),
        ("tmux_sessions:\n- a: |-\n    t", 'tmux_sessions:\n- a: |-\n    t\n- name: w\n  pane:\n    id: "%1"'),
    ],
)
def test_a_row_is_appended(before: str, after: str) -> None:
    assert add_row(parse(before), ROW) == after


def test_blank_lines_between_rows_are_not_copied_into_a_text() -> None:
    text = "tmux_sessions:\n- a\n\n- b: |+\n    t\n"
    assert add_row(parse(text), {"c": 1}) == text + "- c: 1\n"


def test_no_row_behind_an_open_block_scalar() -> None:
    with pytest.raises(Unsafe, match="without a line break; give it one"):
        add_row(parse("tmux_sessions:\n- a: |\n    t"), ROW)


@pytest.mark.parametrize(
    ("before", "index", "after"),
    [
        (
            "tmux_sessions:\n# of a\n- a: 1 # c\n  # own\n# of b\n- b: 1\n",
            0,
            "tmux_sessions:\n# of a\n# of b\n- b: 1\n",
        ),
        ("tmux_sessions:\n- a: 1\n\n# of b\n- b: |\n    t\n\nz: 1\n", 1, "tmux_sessions:\n- a: 1\n\n# of b\n\nz: 1\n"),
        ("tmux_sessions:\n- a: 1\n- # c\n  b: 1\n- c: 1", 1, "tmux_sessions:\n- a: 1\n- c: 1"),
        ("tmux_sessions:\n- a: 1\n- c: 1", 1, "tmux_sessions:\n- a: 1\n"),
        ("tmux_sessions: # h\n  # x\n  - a: 1\n", 0, "tmux_sessions: [] # h\n  # x\n"),
        ("tmux_sessions: [{a: 1}, {b: 1}]\n", 0, "tmux_sessions: [{b: 1}]\n"),
        ("tmux_sessions: [{a: 1}, {b: 1}]\n", 1, "tmux_sessions: [{a: 1}]\n"),
        ("tmux_sessions: [{a: 1}]\n", 0, "tmux_sessions: []\n"),
        ("tmux_sessions:\r\n- a: 1\r\n- x\r\n- b: 1\r\n", 1, "tmux_sessions:\r\n- a: 1\r\n- b: 1\r\n"),
    ],
)
def test_a_row_is_removed_alone(before: str, index: int, after: str) -> None:
    assert remove_row(parse(before), index) == after


def test_a_row_that_others_refer_to_stays() -> None:
    document = parse("tmux_sessions:\n- &a {x: 1}\n- *a\n")
    with pytest.raises(Unsafe, match="undefined alias"):
        remove_row(document, 0)
    assert remove_row(document, 1) == "tmux_sessions:\n- &a {x: 1}\n"


def test_from_nothing_to_a_row_and_back() -> None:
    fresh = new_document()
    assert parse(fresh).rows == ()
    filled = add_row(parse(fresh), ROW)
    assert [row.data for row in parse(filled).rows] == [ROW]
    assert remove_row(parse(filled), 0) == fresh


# -- cost ------------------------------------------------------------------------------------------------------------


def test_reading_and_one_edit_cost_no_more_than_three_plain_loads(request: pytest.FixtureRequest) -> None:
    if yamlparse.LOADER is yaml.SafeLoader:
        pytest.skip("measured with libyaml")
    fields = "".join(f"    field_{number}: value {number}\n" for number in range(22))
    text = "tmux_sessions:\n" + "".join(f"  - name: n{n}\n    pane: {{pid: {n}}}\n{fields}" for n in range(300))

    def best(action: Any) -> float:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            action()
            times.append(time.perf_counter() - start)
        return min(times)

    def edited() -> None:
        parse.cache_clear()  # what was read once is read no more: here it is the reading that is measured
        set_fields(parse(text), 150, {("name",): "m"})

    plain = best(lambda: yaml.load(text, Loader=yamlparse.LOADER))
    assert best(edited) < 3 * plain
