"""The last that is known of what each agent is at, from the ledger alone: what it said, or what a
`watch` told. Looks at no screen, writes nothing, and never fails."""

from __future__ import annotations

import time
from collections.abc import Iterable

from tmuxreap.agents.hooks.events import STATES
from tmuxreap.core.times import short_duration
from tmuxreap.interfaces.hook import speaker

FRESH_S = 120.0  # older than that, its age is told with it
SAID = """SELECT state, at FROM heartbeats
    WHERE name = ? AND typeof(at) = 'real' AND state <> '' ORDER BY id DESC LIMIT 1"""
# What was said before the last start is another agent's word.
TOLD = """SELECT kind, data, at FROM events
    WHERE name = ? AND kind IN ('state', 'started', 'resumed', 'adopted')
    ORDER BY id DESC LIMIT 1"""


def states(registry: str, names: Iterable[str]) -> dict[str, str]:
    """By name, in the words of a hint: `waiting`, `working 5m ago`."""
    path = speaker.ledger_of(registry)
    if path is None:
        return {}
    try:
        db = speaker.opened(path)
    except Exception:  # noqa: BLE001 - a ledger that is being set aside: nothing is known
        return {}
    try:
        found = {
            name: _last(db.execute(SAID, (name,)), db.execute(TOLD, (name,))) for name in names
        }
    except Exception:  # noqa: BLE001 - locked, or not ours to read
        return {}
    finally:
        db.close()
    return {name: word for name, word in found.items() if word}


def _last(said: Iterable[tuple[str, float]], told: Iterable[tuple[str, str, float]]) -> str:
    state, at = next(iter(said), ("", 0.0))
    kind, data, told_at = next(iter(told), ("", "", 0.0))
    if told_at > at:
        state = str(speaker.read_facts(data.encode()).get("state")) if kind == "state" else ""
        at = told_at
    if state not in (*STATES, "limited"):
        return ""
    age_s = time.time() - at
    return state if age_s < FRESH_S else f"{state} {short_duration(age_s)} ago"
