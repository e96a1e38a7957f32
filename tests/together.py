"""Orders the tests for pytest-xdist: the longest first, so that no worker is left with them at the
end, and those that share an expensive setup beside each other.

With `--dist worksteal` each worker begins with an equal part of the list, and one that has run out
takes over the end of another's part."""

from __future__ import annotations

import re
from collections.abc import Sequence

SHARED = (
    re.compile(r"tests/live/test_(zoo)\.py::.*\[(stop-rows-of-others|stop|kill)[-\]]"),  # a zoo
    re.compile(r"tests/live/test_(kitty)\.py"),  # a kitty
    re.compile(r"tests/test_(layers|words)\.py"),  # the parsed source of the package
    re.compile(r"tests/test_(reach|workers)\.py"),  # a wheel, and a run of pytest
)
FIRST = tuple(
    map(
        re.compile,
        (
            r"tests/live/test_(soak|thirty|zoo)\.py",
            r"tests/(test_histories|hosts/test_(popup|morning)|registry/test_(kept|edits_property))",
            r"tests/live/test_(restart|mcp|crash|bulk|hibernate|demo_script|kitty)",
            r"tests/(live|hosts)/",
            r"tests/(promises/|test_(layers|words))",
        ),
    )
)


def order_of(names: Sequence[str], workers: int) -> list[int]:
    """Return the numbers of the tests in the order in which so many workers share them."""
    parts: list[list[int]] = [[] for _ in range(workers)]
    for unit in _units_of(names):
        min(parts, key=len).extend(unit)
    return [number for part in parts for number in part]


def _units_of(names: Sequence[str]) -> list[list[int]]:
    """Return the test numbers in starting order, in units that stay together."""
    units: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        units.setdefault(_unit(name), []).append(number)
    return sorted(units.values(), key=lambda unit: _turn(names[unit[0]]))


def _unit(name: str) -> str:
    found = next(filter(None, (one.match(name) for one in SHARED)), None)
    return " ".join(found.groups()) if found else name


def _turn(name: str) -> int:
    return next((turn for turn, one in enumerate(FIRST) if one.match(name)), len(FIRST))
