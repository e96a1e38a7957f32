"""Rows as trees by their `parent`, including rows that form no tree."""

from __future__ import annotations

from tests.registry.test_targets import names, pick, row
from tmuxreap.registry.rows import as_trees, below, running_below

FAMILY = (
    row(0, "grandchild", parent="child"),
    row(1, "lead"),
    row(2, "child", parent="lead"),
    row(3, "gone", "stopped", parent="lead"),
    row(4, "stray", parent="nobody"),
)
CIRCLE = (row(0, "a", parent="b"), row(1, "b", parent="a"), row(2, "own", parent="own"))


def test_a_tree_contains_all_below_and_not_its_root() -> None:
    assert below(FAMILY, "lead") == {"child", "gone", "grandchild"}
    assert below(FAMILY, "stray") == set()


def test_a_circle_of_parents_ends_the_walk() -> None:
    assert (below(CIRCLE, "a"), below(CIRCLE, "own")) == ({"b"}, set())
    assert sorted(as_trees(CIRCLE)) == [("a", 0), ("b", 1), ("own", 0)]


def test_each_session_comes_after_its_parent() -> None:
    assert as_trees(FAMILY) == [
        ("lead", 0),
        ("child", 1),
        ("grandchild", 2),
        ("gone", 1),
        ("stray", 0),
    ]


def test_a_tree_selects_as_a_tag_does() -> None:
    chosen = pick("tree:lead", rows=FAMILY)
    assert (names(chosen), chosen.sweeping) == (["grandchild", "lead", "child"], True)
    assert names(pick("tree:nobody", rows=FAMILY)) == ["stray"]
    assert [one.target for one in pick("tree:other", rows=FAMILY).missing] == ["tree:other"]


def test_running_children_of_ended_sessions_are_named() -> None:
    assert list(running_below(FAMILY, ["lead"])) == [("lead", ["child", "grandchild"])]
    assert list(running_below(FAMILY, ["lead", "child", "grandchild"])) == []
