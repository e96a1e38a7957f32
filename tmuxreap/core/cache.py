"""Cache entries as JSON for what is slow to parse: the registry's rows and the agents' profiles.

Each is keyed by a stamp of its files and valid only for exactly that state; the files stay the
source of truth. Never reads a file."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any

from tmuxreap import __version__
from tmuxreap.core.values import frozen

Recall = Callable[[str, str], str | None]  # looks up the data cached under a name and stamp


@frozen
class CacheEntry:
    what: str
    stamp: str
    data: str


def cache_stamp(*marks: object) -> str:
    """Build a cache stamp. It includes the version: another one may parse the same file
    differently."""
    return ":".join(map(str, (__version__, *marks)))


def cache_entry(what: str, stamp: str, value: object) -> CacheEntry | None:
    """Return a cache entry, or None where JSON would not round-trip the value (dates, number
    keys)."""
    if not _round_trips(value):
        return None
    return CacheEntry(what, stamp, _with_checksum(json.dumps(value)))


def cached_value(recall: Recall, what: str, stamp: str) -> Any:
    """Return the cached value, or None where this stamp has none or its checksum is wrong."""
    data = recall(what, stamp)
    if data is None:
        return None
    _, _, text = data.partition(" ")
    if data == _with_checksum(text):
        return json.loads(text)
    return None


def _with_checksum(text: str) -> str:
    """Prefix the text with a checksum: any program may edit the database, and only data written
    here is trusted."""
    return f"{zlib.crc32(text.encode()):08x} {text}"


LEAVES = {str, int, float, bool, type(None)}


def _round_trips(value: object) -> bool:
    if type(value) in LEAVES:
        return True
    if isinstance(value, dict):
        return all(type(key) is str and _round_trips(item) for key, item in value.items())
    return isinstance(value, list) and all(map(_round_trips, value))
