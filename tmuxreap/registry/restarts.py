"""Restarts of lost sessions: the policy in a row, its limit, and the pauses in between. Pure."""

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
MOST = 1000  # a higher limit would be no limit
_LIMIT = re.compile(r"\s*(\d+)\s*/\s*(\S+)\s*")


class Restart(Enum):
    NEVER = "never"
    ON_FAILURE = "on-failure"
    ALWAYS = "always"


@frozen
class Limit:
    """At most `count` restarts within this time."""

    count: int = 5
    within_s: float = 600.0


@frozen
class RestartPolicy:
    """When a row's session is to be restarted, and how often."""

    when: Restart
    limit: Limit


def parse_restart(word: str) -> Restart:
    """Parse a restart word; raise ValueError with the known words."""
    try:
        return Restart(word)
    except ValueError:
        known = ", ".join(one.value for one in Restart)
        raise ValueError(f"{word!r} is not one of {known}") from None


def parse_limit(text: str) -> Limit:
    """Parse a limit such as `5/10m`; raise ValueError with a reason that the user can act on."""
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no limit; use for example 5/10m: 5 times within 10 minutes")
    count, within_s = int(match[1][:9]), parse_duration(match[2])
    if not 1 <= count <= MOST:
        raise ValueError(f"{text!r} allows {match[1][:9]} restarts; use 1 to {MOST}")
    if within_s < 1:
        raise ValueError(f"{text!r} counts within less than a second")
    return Limit(count, within_s)


def policy_of(row: Row) -> RestartPolicy | None:
    """Return a row's restart policy, or None; raise ValueError if another tool wrote an unknown
    word."""
    if not wants_restart(row):
        return None
    when = parse_restart(str(row.data.get("restart")))
    limit = row.data.get("restart_limit")
    return RestartPolicy(when, Limit() if limit in (None, "") else parse_limit(str(limit)))


def loss_key(row: Row) -> str:
    """Return a key for this loss: decisions about an earlier loss of the session do not apply."""
    return f"{ended_epoch(row)} {row.pane.pid} {row.pane.created_epoch}"


def pause_s(restarts: int) -> float:
    """Return the pause after so many restarts: 1, 2, 4 ... s."""
    return min(LONGEST_PAUSE_S, 2.0 ** min(restarts, 16))
