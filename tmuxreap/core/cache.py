"""What was slow to read, kept as JSON: the registry's rows and the agents' profiles, each under a
stamp of its files.

The files stay the truth: a reading counts only for the very state of them that it was made from.
Reads no file."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any

from tmuxreap import __version__
from tmuxreap.core.values import frozen

Recall = Callable[[str, str], str | None]  # what was kept under a stamp


@frozen
class Reading:
    what: str
    stamp: str
    data: str


def stamped(*marks: object) -> str:
    """Another version of the program may read the same file otherwise."""
    return ":".join(map(str, (__version__, *marks)))


def kept(what: str, stamp: str, value: object) -> Reading | None:
    """None where JSON would give back something else, as for a date or a key that is a number."""
    return Reading(what, stamp, _summed(json.dumps(value))) if _comes_back(value) else None


def recalled(recall: Recall, what: str, stamp: str) -> Any:
    """None where nothing was kept under this stamp, or somebody meddled with it."""
    data = recall(what, stamp)
    if data is None:
        return None
    _, _, text = data.partition(" ")
    return json.loads(text) if data == _summed(text) else None


def _summed(text: str) -> str:
    """A line of a database may be changed by anybody who opens it; what was not written here is not
    believed."""
    return f"{zlib.crc32(text.encode()):08x} {text}"


LEAVES = {str, int, float, bool, type(None)}


def _comes_back(value: object) -> bool:
    if type(value) in LEAVES:
        return True
    if isinstance(value, dict):
        return all(type(key) is str and _comes_back(item) for key, item in value.items())
    return isinstance(value, list) and all(map(_comes_back, value))
