"""The mutants: one place is changed, in each way, and what comes of it is Python still."""

from __future__ import annotations

import ast
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tests.mutants import TOP, Places, draw, grouped, room_of
from tests.reached import Module, Recorded

SOURCE = """\
def f(a: int | None, b) -> bool:
    if a is None and not b:
        a.left = 1
        a.close()
    return [it for it in b if it > 2] or (b if a else True)
"""


def test_a_place_is_changed_in_every_way() -> None:
    places = Places("x.py", SOURCE)
    made = {it.of(SOURCE.encode()).decode() for it in [*places.found, *places.nones]}
    assert len(made) == 20
    for text in made:
        assert text != SOURCE
        ast.parse(text)
    texts = {it.text for it in places.found}
    assert {"pass", "True", "False", "(it >= 2)", "((a is None) or (not b))", "(b)"} <= texts


def test_a_draw_takes_its_share_of_every_room() -> None:
    drawn = draw(168, 1)
    assert drawn == draw(168, 1)
    assert sum(room_of(it.path) == "ending/ladder" for it in drawn) == 22
    for mutant in drawn[:20]:
        ast.parse(mutant.of((TOP / "tmuxreap" / mutant.path).read_bytes()))


CACHED = '''\
"""Numbers."""

from __future__ import annotations

from functools import cache

LIMIT = 3


@cache
def read():
    """Read it."""
    return 5


class Reader:
    def of(self, it):
        if it > LIMIT:
            return read()
        return it
'''


def test_marked_statements_do_what_they_did_and_tell_which_ran() -> None:
    keys: list[int] = []
    marked = Module("x.py", CACHED).marked(keys)
    assert len(keys) == 4
    marks: dict[int, int] = {}
    names: dict[str, Any] = {}
    sys.modules["tmuxreap._reached"] = SimpleNamespace(marks=marks)  # type: ignore[assignment]
    try:
        exec(compile(marked, "x.py", "exec"), names)
    finally:
        del sys.modules["tmuxreap._reached"]
    assert names["read"].__doc__ == "Read it."
    assert names["Reader"]().of(4) == 5
    assert len(marks) == 3
    assert names["Reader"]().of(3) == 3
    assert len(marks) == 4


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (18, ["        if it > LIMIT:"]),
        (19, ["            return read()"]),
        (13, ["    return 5", "            return read()"]),
        (7, ["        if it > LIMIT:"]),
    ],
    ids=["a condition", "a part of it", "what is read once", "a value of the module"],
)
def test_a_place_is_reached_by_its_statement_or_by_whoever_names_it(
    line: int, found: list[str]
) -> None:
    module = Module("x.py", CACHED)
    keys, names = module.around(line)
    if names:
        keys |= set(module.mentioning(names))
    lines = CACHED.splitlines()
    assert [lines[it.lineno - 1] for it, key, _ in module.inside if key in keys] == found


def test_the_tests_are_run_in_groups_the_shortest_first() -> None:
    seconds = (5, 15, 40, 160, 300, 400)
    groups = grouped(Recorded(str(it), it, frozenset()) for it in seconds)
    assert [[it.seconds for it in group] for group in groups] == [[5, 15], [40, 160], [300, 400]]
