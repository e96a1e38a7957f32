"""One edit at a time: its exact effect on the text."""

from __future__ import annotations

import pytest

from tests.registry_text import REGISTRY, set_fields
from tmuxreap.registry import edits
from tmuxreap.registry.edits import Unsafe, add_row, edit_rows, new_document, remove_rows
from tmuxreap.registry.yaml import parse as yamlparse
from tmuxreap.registry.yaml.parse import parse
from tmuxreap.registry.yaml.splice import REMOVE

pytestmark = pytest.mark.usefixtures("loader")


# -- reading
# --------------------------------------------------------------------------------


# -- setting
# --------------------------------------------------------------------------------


# -- adding
# --------------------------------------------------------------------------------


# -- removing
# --------------------------------------------------------------------------------


def test_fields_are_set_added_and_removed_in_one_edit() -> None:
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
  - {name: beta, status: stopped, pane: {}, stopped_at: "2026-11-18T09:12:33Z", \
stopped_at_epoch: 1794993153}
other: [1, 2] # end
"""
    )


def test_the_row_that_blocks_an_edit_of_many_is_named() -> None:
    document = parse("tmux_sessions:\n- a: 1\n- ? a\n  : 1\n- a: 1\n")
    with pytest.raises(Unsafe) as caught:
        edit_rows(document, {index: {("a",): 2} for index in range(3)})
    assert caught.value.index == 1


def test_the_row_that_spoils_an_edit_of_many_is_named() -> None:
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
def test_an_edited_text_is_read_again_before_it_is_returned(
    damage: str, into: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damage done by a splice would be found."""
    right = edits.spliced
    monkeypatch.setattr(
        edits, "spliced", lambda text, splices: right(text, splices).replace(damage, into)
    )
    document = parse(REGISTRY)
    with pytest.raises(Unsafe):
        set_fields(document, 0, {("status",): "stopped"})
    with pytest.raises(Unsafe):
        add_row(document, {"name": "x"})


def test_an_edit_that_would_reach_further_is_refused() -> None:
    """Without its line break, the comment below would become part of the value above."""
    text = "tmux_sessions:\n- name: x\n- a: |\n    t\n  k: v\n    # deep\n  b: 1\n"
    document = parse(text)
    with pytest.raises(Unsafe) as caught:
        edit_rows(document, {0: {("name",): "y"}, 1: {("k",): REMOVE}})
    assert (caught.value.index, caught.value.line) == (1, 3)


# -- rows
# --------------------------------------------------------------------------------

ROW = {"name": "w", "pane": {"id": "%1"}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tmux_sessions: []\n", 'tmux_sessions:\n  - name: w\n    pane:\n      id: "%1"\n'),
        (
            "tmux_sessions: [] # c\nb: 1\n",
            'tmux_sessions: # c\n  - name: w\n    pane:\n      id: "%1"\nb: 1\n',
        ),
        ("tmux_sessions:", 'tmux_sessions:\n  - name: w\n    pane:\n      id: "%1"'),
        (
            "\ufefftmux_sessions: ~\r\n",
            '\ufefftmux_sessions:\r\n  - name: w\r\n    pane:\r\n      id: "%1"\r\n',
        ),
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
        (
            "tmux_sessions:\n- x\n...\n",
            'tmux_sessions:\n- x\n- name: w\n  pane:\n    id: "%1"\n...\n',
        ),
        ("tmux_sessions: [{a: 1}]\n", 'tmux_sessions: [{a: 1}, {name: w, pane: {id: "%1"}}]\n'),
        (
            "tmux_sessions: [\n  {a: 1},\n]\n",
            'tmux_sessions: [\n  {a: 1},\n  {name: w, pane: {id: "%1"}},\n]\n',
        ),
        ("tmux_sessions: [ # c\n]\n", 'tmux_sessions: [{name: w, pane: {id: "%1"}} # c\n]\n'),
        ('{"tmux_sessions":[]}', '{"tmux_sessions":[{name: w, pane: {id: "%1"}}]}'),
        ("{tmux_sessions: }", '{tmux_sessions: [{name: w, pane: {id: "%1"}}] }'),
        (
            "tmux_sessions:\n- a: |-\n    t",
            'tmux_sessions:\n- a: |-\n    t\n- name: w\n  pane:\n    id: "%1"',
        ),
    ],
)
def test_a_row_is_appended(before: str, after: str) -> None:
    assert add_row(parse(before), ROW) == after


def test_blank_lines_between_rows_are_not_copied_into_a_text() -> None:
    text = "tmux_sessions:\n- a\n\n- b: |+\n    t\n"
    assert add_row(parse(text), {"c": 1}) == text + "- c: 1\n"


def test_a_row_that_is_added_leaves_the_line_above_its_own_end() -> None:
    """The file's first line break differs from the last row's."""
    text = "a: 1\r\ntmux_sessions:\r\n- b: 1\n"
    assert add_row(parse(text), {"c": 1}) == text + "- c: 1\n"


def test_no_row_is_added_behind_an_open_block_scalar() -> None:
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
        (
            "tmux_sessions:\n- a: 1\n\n# of b\n- b: |\n    t\n\nz: 1\n",
            1,
            "tmux_sessions:\n- a: 1\n\n# of b\n\nz: 1\n",
        ),
        ("tmux_sessions:\n- a: 1\n- # c\n  b: 1\n- c: 1", 1, "tmux_sessions:\n- a: 1\n- c: 1"),
        ("tmux_sessions:\n- a: 1\n- c: 1", 1, "tmux_sessions:\n- a: 1\n"),
        ("tmux_sessions: # h\n  # x\n  - a: 1\n", 0, "tmux_sessions: [] # h\n  # x\n"),
        ("tmux_sessions: [{a: 1}, {b: 1}]\n", 0, "tmux_sessions: [{b: 1}]\n"),
        ("tmux_sessions: [{a: 1}, {b: 1}]\n", 1, "tmux_sessions: [{a: 1}]\n"),
        ("tmux_sessions: [{a: 1}]\n", 0, "tmux_sessions: []\n"),
        (
            "tmux_sessions:\r\n- a: 1\r\n- x\r\n- b: 1\r\n",
            1,
            "tmux_sessions:\r\n- a: 1\r\n- b: 1\r\n",
        ),
    ],
)
def test_a_row_is_removed_alone(before: str, index: int, after: str) -> None:
    assert remove_rows(parse(before), index) == after


@pytest.mark.parametrize("gone", [(0, 1), (1, 3), (0, 3), (0, 1, 2, 3)])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_removing_rows_at_once_equals_removing_them_in_turn(
    gone: tuple[int, ...], newline: str
) -> None:
    text = (
        "# top\ntmux_sessions: # list\n  # of a\n  - {name: a}\n\n  # of b\n  - name: b\n"
        "    log: |\n      x\n\n  -\n    name: c # c\n  - name: d\nend: 1\n"
    ).replace("\n", newline)
    in_turn = text
    for index in reversed(gone):
        in_turn = remove_rows(parse(in_turn), index)
    assert remove_rows(parse(text), *gone) == in_turn


def test_several_rows_of_a_list_in_braces_go_in_turn_alone() -> None:
    document = parse("tmux_sessions: [{a: 1}, {b: 1}, {c: 1}]\n")
    with pytest.raises(Unsafe, match="in braces"):
        remove_rows(document, 0, 2)


def test_a_row_that_others_refer_to_stays() -> None:
    document = parse("tmux_sessions:\n- &a {x: 1}\n- *a\n")
    with pytest.raises(Unsafe, match="would not read as asked for"):
        remove_rows(document, 0)
    assert remove_rows(document, 1) == "tmux_sessions:\n- &a {x: 1}\n"


def test_a_row_added_and_removed_leaves_the_same_text() -> None:
    fresh = new_document()
    assert parse(fresh).rows == ()
    filled = add_row(parse(fresh), ROW)
    assert [row.data for row in parse(filled).rows] == [ROW]
    assert remove_rows(parse(filled), 0) == fresh


# -- cost
# --------------------------------------------------------------------------------


def test_reading_and_one_edit_read_the_text_twice_and_the_row_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[int] = []

    class Counting(yamlparse.LOADER):  # type: ignore[misc]
        def __init__(self, text: str) -> None:
            read.append(len(text))
            super().__init__(text)

    fields = "".join(f"    field_{number}: value {number}\n" for number in range(22))
    row = "  - name: n{}\n    pane: {{pid: 1}}\n" + fields
    text = "tmux_sessions:\n" + "".join(row.format(number) for number in range(300))
    monkeypatch.setattr(yamlparse, "LOADER", Counting)
    parse.cache_clear()
    after = set_fields(parse(text), 150, {("name",): "m"})
    assert read[0] == len(text)
    assert read[-1] == len(after)
    assert sum(read[1:-1]) <= len(row)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: 1\r\ntmux_sessions:\n- b: 1\n", "a: 1\r\ntmux_sessions:\n- b: 1\n  c: 2\n"),
        ("a: 1\ntmux_sessions:\r\n- b: 1\r\n", "a: 1\ntmux_sessions:\r\n- b: 1\r\n  c: 2\r\n"),
        ("a: 1\r\ntmux_sessions:\n- b: 1", "a: 1\r\ntmux_sessions:\n- b: 1\n  c: 2"),
        ("tmux_sessions:\r\n- b:\n    d: 1\n", "tmux_sessions:\r\n- b:\n    d: 1\n  c: 2\n"),
    ],
)
def test_a_new_field_ends_as_the_line_above_it(before: str, after: str) -> None:
    assert edit_rows(parse(before), {0: {("c",): 2}}) == after


def test_a_new_mapping_ends_as_its_key_did() -> None:
    text = "a: 1\r\ntmux_sessions:\n- pane: null\n  b: 1\n"
    after = edit_rows(parse(text), {0: {("pane", "pid"): 2}})
    assert after == text.replace("pane: null", "pane:\n    pid: 2")


def test_a_first_row_ends_as_the_line_of_the_list() -> None:
    text = "a: 1\r\ntmux_sessions: []\n"
    assert add_row(parse(text), {"b": 1}) == "a: 1\r\ntmux_sessions:\n  - b: 1\n"
