"""The mutants: one place is changed, in each way, and what comes of it is Python still."""

from __future__ import annotations

import ast

from tests.mutants import TOP, Places, draw, room_of

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
