from __future__ import annotations

import subprocess
import sys

import pytest

from tmuxreap.core.values import as_dict, field, frozen, replace, slotted


@frozen
class Point:
    """A place."""

    x: int
    y: int = 0
    notes: list[str] = field(default_factory=list, compare=False, repr=False)

    @property
    def far(self) -> bool:
        return self.x > 9


@frozen
class Nothing:
    pass


@frozen
class Else:
    pass


@slotted
class Count:
    n: int = 0


def test_equal_fields_are_equal_values() -> None:
    assert Point(1, 2) == Point(x=1, y=2) != Point(1, 3)
    assert {Point(1), Point(1, 0)} == {Point(1)}
    assert Point(1, notes=["a"]) == Point(1, notes=["b"])


def test_values_of_different_types_are_not_equal() -> None:
    assert Nothing() == Nothing() != Else()
    assert Point(1) != (1, 0)
    assert bool(Nothing())


def test_a_value_stays_as_it_is() -> None:
    point = Point(1)
    with pytest.raises(AttributeError, match="could not change x of Point"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del point.x  # type: ignore[misc]
    assert not hasattr(point, "__dict__")


def test_each_value_has_a_default_list_of_its_own() -> None:
    Point(1).notes.append("a")
    assert Point(1).notes == []


def test_wrong_fields_are_refused_as_by_any_function() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        replace(Point(1), z=2)


def test_values_can_be_replaced_and_read_as_dicts() -> None:
    assert replace(Point(1, 2), x=10).far
    assert as_dict(Point(1, 2)) == {"x": 1, "y": 2, "notes": []}


def test_a_value_shows_its_fields_and_can_be_matched() -> None:
    assert repr(Point(1)) == "Point(x=1, y=0)"
    match Point(3, 4):
        case Point(x, y):
            assert (x, y) == (3, 4)


def test_a_changed_value_changes_no_other() -> None:
    one, other = Count(), Count()
    one.n += 1
    assert (one.n, other.n) == (1, 0)
    assert one != Count(1)
    with pytest.raises(AttributeError):
        one.m = 1  # type: ignore[attr-defined]


def test_nothing_is_compiled_before_the_first_value_is_made() -> None:
    program = (
        "import sys, tmuxreap.core.model as m; print('dataclasses' in sys.modules,"
        " m.Pane.__init__.__name__)"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert out.split() == ["False", "_compiling_init"]
