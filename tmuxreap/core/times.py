"""Durations as users write them (90, 90s, 15m, 2h, 1d) and timestamps in ISO 8601."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from functools import lru_cache

from tmuxreap.core.errors import Code, Failure

UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
LONGEST_S = 100 * 365 * 86400  # clocks and calendars do not go much further


def parse_duration(text: str) -> float:
    """Return seconds; raise ValueError with a reason that the user can act on."""
    number = text.strip()
    unit = 1
    if number[-1:] in UNITS_S:
        unit = UNITS_S[number[-1]]
        number = number[:-1]
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError(f"{text!r} is not a duration; use for example 90, 90s, 15m, 2h or 1d")
    if seconds > LONGEST_S:
        raise ValueError(f"{text!r} is longer than a hundred years")
    return seconds


def seconds_of(given: float | str, flag: str) -> float:
    """Return the seconds of an option, given as a number or as users write a duration."""
    try:
        return parse_duration(str(given))
    except ValueError as error:
        raise Failure(Code.USAGE, f"could not read {flag}: {error}", f"as in: {flag} 90s") from None


def short_duration(seconds: float) -> str:
    """Format seconds in the two largest units: 45s, 3m 20s, 2h 5m, 4d 3h."""
    parts: list[str] = []
    rest = int(seconds)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2])


LAST_MOMENT = 253_402_300_799  # 9999-12-31T23:59:59Z


def iso(epoch: float) -> str:
    """Format a timestamp; one beyond the calendar becomes its last moment."""
    return _iso(min(int(epoch), LAST_MOMENT))


@lru_cache(maxsize=64)  # thousands of sessions ended together share the same few seconds
def _iso(second: int) -> str:
    return datetime.fromtimestamp(second, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def epoch_of(value: object) -> float | None:
    """Return the epoch of a row's timestamp: ISO 8601 text, or a date that YAML has parsed. Without
    a zone it is UTC."""
    try:
        at = value
        if not isinstance(at, datetime):
            at = datetime.fromisoformat(str(at).replace("Z", "+00:00"))
        return (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
