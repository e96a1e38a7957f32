"""Each agent's last known state, only from the ledger: its own report, or that of a `watch`. Never
looks at a screen, writes or fails."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable

from tmuxreap.agents.hooks.events import STATES
from tmuxreap.core.times import short_duration
from tmuxreap.interfaces.hook import speaker
from tmuxreap.ledger.tables import connect

BUSY_S = 0.3  # how long to wait for a locked ledger
FRESH_S = 120.0  # an older state is shown with its age
REPORT = """SELECT state, at FROM heartbeats
    WHERE name = ? AND typeof(at) = 'real' AND state <> '' ORDER BY id DESC LIMIT 1"""
# Events before the last start are about an earlier agent.
EVENT = """SELECT kind, data, at FROM events
    WHERE name = ? AND kind IN ('state', 'started', 'resumed', 'adopted')
    ORDER BY id DESC LIMIT 1"""


def states(registry: str, names: Iterable[str]) -> dict[str, str]:
    """Map names to states, as in a hint: `waiting`, `working 5m ago`."""
    path = speaker.ledger_of(registry)
    if path is None:
        return {}
    known: dict[str, str] = {}
    try:
        with contextlib.closing(connect(path, BUSY_S)) as db:
            for name in names:
                known[name] = _last(db.execute(REPORT, (name,)), db.execute(EVENT, (name,)))
    except Exception:  # noqa: BLE001 - set aside, locked, or not ours to read: no states
        return {}
    return {name: state for name, state in known.items() if state}


def _last(report: Iterable[tuple[str, float]], event: Iterable[tuple[str, str, float]]) -> str:
    state, at = next(iter(report), ("", 0.0))
    kind, data, event_at = next(iter(event), ("", "", 0.0))
    if event_at > at:
        state = str(speaker.read_facts(data).get("state")) if kind == "state" else ""
        at = event_at
    if state not in (*STATES, "limited"):
        return ""
    age_s = time.time() - at
    return state if age_s < FRESH_S else f"{state} {short_duration(age_s)} ago"
