"""The insertions and deletions that change one key and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.registry_text import REGISTRY, set_one, swapped
from tmuxreap.registry.yaml.splice import REMOVE

pytestmark = pytest.mark.usefixtures("loader")


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
        (
            ("pane",),
            {"pid": 12, "id": "%1"},
            "pid: 12\n      cwd: /home/x\n",
            'pid: 12\n      id: "%1"\n',
        ),
        (("status",), {"is": "new"}, "status: running\n", "status:\n      is: new\n"),
    ],
)
def test_an_existing_value_is_replaced(
    path: tuple[str, ...], value: Any, old: str, new: str
) -> None:
    text = swapped("status: running, ", "", REGISTRY)
    assert set_one(text, {path: value}) == swapped(old, new, text)


@pytest.mark.parametrize("key", ["7", "on", "null", "<<"])
def test_a_quoted_key_is_a_word(key: str) -> None:
    text = f'tmux_sessions:\n- name: a\n  "{key}": old\n'
    assert set_one(text, {(key,): "v"}) == swapped("old", "v", text)


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
def test_a_value_of_any_form_is_replaced(old: str, new: str) -> None:
    for end in ("", "\n", "\n- name: next\n"):
        text = "tmux_sessions:\n- a: 1\n  " + old + end
        assert set_one(text, {("k",): "v"}) == "tmux_sessions:\n- a: 1\n  " + new + end


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
def test_a_new_key_comes_after_the_last_value(before: str, after: str) -> None:
    for head in ("tmux_sessions:\n", "\ufeff%YAML 1.1\n--- # x\nz: 1\ntmux_sessions:\n"):
        head = head.replace("\n", "\r\n") if "\r" in before else head
        assert set_one(head + before, {("k",): "v"}) == head + after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "- a: 1\n  # of k\n  k: v # c\n  # of b\n  b: 2\n",
            "- a: 1\n  # of k\n  # of b\n  b: 2\n",
        ),
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
