"""Groups tests that share expensive setup, to run in one worker, and puts the longest first, so
that no worker is left with them at the end."""

from __future__ import annotations

import re
from collections.abc import Sequence

SHARED = (
    re.compile(r"tests/live/test_(zoo)\.py::.*\[(stop-rows-of-others|stop|kill)[-\]]"),  # a zoo
    re.compile(r"tests/live/test_(kitty)\.py"),  # a kitty
    re.compile(r"tests/test_(layers|words)\.py"),  # the parsed source of the package
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


def units_of(names: Sequence[str]) -> list[list[int]]:
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
