"""Reads JSON of other programs and other hosts, so that what comes out can be counted with, walked
through and written as JSON again. Never trusts a number, a depth or a word."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from tmuxreap.core.results import fields_of
from tmuxreap.core.values import NOTHING

T = TypeVar("T")
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


def parse_object(text: str) -> dict[str, object]:
    """Parse a JSON object; raise ValueError for anything else."""
    value = parse(text)
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    return value


def known(word: object, words: Collection[str]) -> object:
    """Return the word if it is one of these, or absent; a word of a newer version is unknown."""
    is_known = word is None or (isinstance(word, str) and word in words)
    return word if is_known else UNKNOWN


def read(kind: type[T], facts: Mapping[str, object]) -> T | None:
    """Build a value of ours from a JSON document of another version. What has another form than
    here counts as absent; None if a field that has no default is."""
    given: dict[str, object] = {}
    for name, form in fields_of(kind).items():  # type: ignore[arg-type]
        if name in facts:
            value = _in_form(form, facts[name])
        else:
            value = NOTHING
        if value is not NOTHING:
            given[name] = value
        elif kind.__fields__[name] is NOTHING:  # type: ignore[attr-defined]
            return None
    return kind(**given)


def _in_form(form: Any, value: object) -> object:
    """Return the value as this type has it; NOTHING if it has another form."""
    origin = get_origin(form)
    if origin in (Union, UnionType):
        forms = (_in_form(one, value) for one in get_args(form))
        return next((one for one in forms if one is not NOTHING), NOTHING)
    if origin is tuple:
        return _members(get_args(form)[0], value)
    if hasattr(form, "__fields__"):
        found = None
        if isinstance(value, Mapping):
            found = read(form, value)
        return NOTHING if found is None else found
    if isinstance(form, type) and issubclass(form, Enum):
        return next((one for one in form if one.value == value), NOTHING)
    if form is float and type(value) is int:
        return float(value)
    if isinstance(value, bool) and form in (int, float):  # in Python it is a number, too
        return NOTHING
    if form is Any or isinstance(value, origin or form):
        return value
    return NOTHING


def _members(form: Any, value: object) -> object:
    if not isinstance(value, (list, tuple)):
        return NOTHING
    members = (_in_form(form, one) for one in value)
    return tuple(one for one in members if one is not NOTHING)


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _short(text: str) -> int | None:
    return int(text) if len(text) <= LONGEST_INTEGER else None


def _is_too_deep(value: object) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        below: list[object] = []
        for each in level:
            below += _inside(each)
        if not below:
            return False
        level = below
    return True


def _inside(value: object) -> Iterable[object]:
    """Return the lists and objects in it."""
    if isinstance(value, dict):
        return [one for one in value.values() if isinstance(one, (dict, list))]
    if isinstance(value, list):
        return [one for one in value if isinstance(one, (dict, list))]
    return ()
