"""Rows with anchors, aliases and merge keys, as `yaml.safe_dump` writes them where rows share a
list: what is edited, what is refused, and that nobody else's value changes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.plain_yaml import load
from tests.registry_text import set_one
from tmuxreap.registry.edits import Unsafe, remove_rows
from tmuxreap.registry.yaml.parse import parse
from tmuxreap.registry.yaml.splice import REMOVE

pytestmark = pytest.mark.usefixtures("loader")


def dumped() -> str:
    tags = ["x"]
    server = {"socket": "/run/t", "server_pid": 3}
    rows = [
        {"name": name, "status": "running", "tags": tags, "tmux": server, "pane": {"pid": pid}}
        for pid, name in enumerate("abc", start=7)
    ]
    return yaml.safe_dump({"tmux_sessions": rows})


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_dumped_row_is_ended_whoever_shares_its_lists(index: int) -> None:
    before = dumped()
    changes = {("status",): "stopped", ("stop_reason",): "done", ("last_visible_status",): "a\nb"}
    after = set_one(before, changes, index)
    want = load(before)
    want["tmux_sessions"][index].update({path[0]: value for path, value in changes.items()})
    assert load(after) == want
    new = [line for line in after.splitlines() if line not in before.splitlines()]
    assert new == ["  status: stopped", "  stop_reason: done", '  last_visible_status: "a\\nb"']


def test_a_value_that_repeats_another_is_written_out() -> None:
    before = dumped()
    after = set_one(before, {("tmux", "server_pid"): 4, ("tags",): ["y", 1]}, 1)
    want = load(before)
    want["tmux_sessions"][1].update(
        {"tmux": {"socket": "/run/t", "server_pid": 4}, "tags": ["y", 1]}
    )
    assert load(after) == want


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({("tmux", "server_pid"): 4}, "tmux", {"socket": "/run/t", "server_pid": 4}),
        ({("tmux",): REMOVE}, "tmux", None),
        ({("tags",): ["y"]}, "tags", ["y"]),
        ({("tags",): REMOVE}, "tags", None),
    ],
)
def test_a_value_that_others_repeat_moves_to_the_first_of_them(
    changes: Any, field: str, value: object
) -> None:
    before = dumped()
    after = set_one(before, changes)
    want = load(before)
    want["tmux_sessions"][0].pop(field)
    if value is not None:
        want["tmux_sessions"][0][field] = value
    assert load(after) == want
    assert [after.count(sign) for sign in ("&id001", "*id001", "&id002", "*id002")].count(1) == 3


@pytest.mark.parametrize("gone", [(0,), (1,), (0, 1), (0, 2)])
def test_a_row_that_goes_leaves_what_others_share_with_it(gone: tuple[int, ...]) -> None:
    before = dumped()
    after = remove_rows(parse(before), *gone)
    want = load(before)
    for index in reversed(gone):
        want["tmux_sessions"].pop(index)
    assert load(after) == want


def test_a_value_that_moves_is_written_as_it_reads() -> None:
    text = (
        "tmux_sessions:\n- name: a\n  tags: &t\n  - 'a, b'\n  - 7\n- name: b\n  tags: *t # both\n"
    )
    after = remove_rows(parse(text), 0)
    assert after == 'tmux_sessions:\n- name: b\n  tags: &t ["a, b", 7] # both\n'


def test_a_date_does_not_move() -> None:
    text = "tmux_sessions:\n- name: a\n  since: &t [2026-11-18]\n- name: b\n  since: *t\n"
    with pytest.raises(Unsafe, match="another place repeats a value of it"):
        remove_rows(parse(text), 0)


MERGED = """\
defaults: &defaults {status: running, restart: never, pane: {cwd: /w, cmd: demo}}
tmux_sessions:
  - <<: *defaults
    name: a
  - {<<: *defaults, name: b, pane: {pid: 8}}
  - name: c
    status: running
    pane:
      <<: [{cmd: other}, {cwd: /x}]
      pid: 9
"""


def test_a_merged_key_gets_a_value_of_its_own() -> None:
    after = set_one(MERGED, {("status",): "stopped", ("pane", "pid"): 7})
    pane = "    pane:\n      cwd: /w\n      cmd: demo\n      pid: 7\n"
    below = "    name: a\n    status: stopped\n" + pane
    assert after == MERGED.replace("    name: a\n", below)
    in_braces = set_one(MERGED, {("status",): "stopped"}, 1)
    assert in_braces == MERGED.replace("pid: 8}}", "pid: 8}, status: stopped}")
    inner = set_one(
        MERGED, {("pane", "cwd"): "/y", ("pane", "pid"): 1, ("pane", "cmd"): "other"}, 2
    )
    assert inner == MERGED.replace("pid: 9\n", "pid: 1\n      cwd: /y\n")


def test_an_equal_merged_value_leaves_the_bytes() -> None:
    assert set_one(MERGED, {("status",): "running", ("pane", "cwd"): "/w"}) == MERGED


def test_a_merged_key_cannot_be_removed() -> None:
    with pytest.raises(Unsafe, match="`restart` comes by a merge key"):
        set_one(MERGED, {("restart",): REMOVE})
    own = MERGED.replace("name: a\n", "name: a\n    status: stopped\n")
    with pytest.raises(Unsafe, match="would not read as asked for"):
        set_one(own, {("status",): REMOVE})


def test_a_date_that_is_merged_is_refused_not_lost() -> None:
    text = "d: &d {at: 2026-11-18}\ntmux_sessions:\n- name: a\n  pane: *d\n"
    with pytest.raises(Unsafe, match="cannot be written"):
        set_one(text, {("pane", "pid"): 7})


def test_an_anchor_that_nobody_repeats_blocks_nothing() -> None:
    row = "- &row\n  name: a\n  tags: &t # why\n  - x\n  pane: &p {}\n  n: &n |\n    t\n"
    text = "tmux_sessions:\n" + row
    assert set_one(text, {("tags",): []}) == text.replace("&t # why\n  - x", "[] # why")
    assert set_one(text, {("pane", "pid"): 7}) == text.replace("&p {}", "&p {pid: 7}")
    assert set_one(text, {("status",): "x"}) == text + "  status: x\n"
    with pytest.raises(Unsafe, match="an anchor precedes its text"):
        set_one(text, {("n",): "y"})


def test_a_row_that_another_one_merges_goes() -> None:
    document = parse("tmux_sessions:\n- &a\n  name: a\n- <<: *a\n  name: b\n")
    assert remove_rows(document, 0) == "tmux_sessions:\n- <<: &a {name: a}\n  name: b\n"
    assert remove_rows(document, 1) == "tmux_sessions:\n- &a\n  name: a\n"
