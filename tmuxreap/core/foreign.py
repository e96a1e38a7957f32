"""Reads JSON of other programs and other hosts, so that what comes out can be counted with, walked
through and written as JSON again. Never trusts a number, a depth or a word."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable
from itertools import chain

DEEPEST = 50  # levels: an answer of ours has fewer than ten
LONGEST_INTEGER = 20  # digits
UNKNOWN = "unknown"


class TooDeep(ValueError):  # noqa: N818 - a result: the caller decides what it means
    """The JSON has more levels than anything that is walked through may have."""

    def __init__(self) -> None:
        super().__init__(f"it is nested more than {DEEPEST} levels deep")


def parse(text: str) -> object:
    """Parse JSON; raise ValueError for what is none, TooDeep for one with too many levels. A number
    that is infinite or has too many digits becomes null."""
    try:
        value: object = json.loads(
            text, parse_constant=lambda _: None, parse_float=_finite, parse_int=_short
        )
    except RecursionError:
        raise TooDeep from None
    if _is_too_deep(value):
        raise TooDeep
    return value


def known(word: object, words: Collection[str]) -> object:
    """Return the word if it is one of these, or absent; a word of a newer version is unknown."""
    is_known = word is None or (isinstance(word, str) and word in words)
    return word if is_known else UNKNOWN


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _short(text: str) -> int | None:
    return int(text) if len(text) <= LONGEST_INTEGER else None


def _is_too_deep(value: object) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = list(chain.from_iterable(map(_inside, level)))
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    """Return the lists and objects in it."""
    if isinstance(value, dict):
        return [one for one in value.values() if isinstance(one, (dict, list))]
    if isinstance(value, list):
        return [one for one in value if isinstance(one, (dict, list))]
    return ()
