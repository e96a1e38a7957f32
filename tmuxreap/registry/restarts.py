"""Whether and how often a lost session is started again: what a row says of it, and the pauses in
between. Pure."""

from __future__ import annotations

import re
from enum import Enum

from tmuxreap.core.model import Row
from tmuxreap.core.times import parse_duration
from tmuxreap.core.values import frozen
from tmuxreap.registry.rows import ended_epoch
from tmuxreap.registry.transitions import is_lost as is_lost
from tmuxreap.registry.transitions import wants_restart as wants_restart

LONGEST_PAUSE_S = 300.0
MOST = 1000  # a limit beyond this is none
_LIMIT = re.compile(r"\s*(\d+)\s*/\s*(\S+)\s*")


class Restart(Enum):
    NEVER = "never"
    ON_FAILURE = "on-failure"
    ALWAYS = "always"


@frozen
class Limit:
    """So many restarts at most within this time."""

    count: int = 5
    within_s: float = 600.0


@frozen
class Wish:
    """What the row wants to happen when it is lost."""

    when: Restart
    limit: Limit


def parse_restart(word: str) -> Restart:
    """ValueError with the words that there are."""
    found = next((one for one in Restart if one.value == word), None)
    if found is None:
        known = ", ".join(one.value for one in Restart)
        raise ValueError(f"{word!r} is not one of {known}")
    return found


def parse_limit(text: str) -> Limit:
    """As in `5/10m`; ValueError with a reason that a person can act on."""
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no limit; use for example 5/10m: 5 times within 10 minutes")
    count, within_s = int(found[1][:9]), parse_duration(found[2])
    if not 1 <= count <= MOST:
        raise ValueError(f"{text!r} allows {found[1][:9]} restarts; use 1 to {MOST}")
    if within_s < 1:
        raise ValueError(f"{text!r} counts within less than a second")
    return Limit(count, within_s)


def wish_of(row: Row) -> Wish | None:
    """None: it is not to be started again. ValueError where another tool's word means nothing."""
    if not wants_restart(row):
        return None
    when = parse_restart(str(row.data.get("restart")))
    limit = row.data.get("restart_limit")
    return Wish(when, Limit() if limit in (None, "") else parse_limit(str(limit)))


def loss_of(row: Row) -> str:
    """One word for this loss of this life: what was decided of another one says nothing of it."""
    return f"{ended_epoch(row)} {row.pane.pid} {row.pane.created_epoch}"


def pause_s(before: int) -> float:
    """How long to wait after so many restarts: 1, 2, 4 ... s."""
    return min(LONGEST_PAUSE_S, 2.0 ** min(before, 16))
