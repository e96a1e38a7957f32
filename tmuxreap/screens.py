"""What an agent's screen says of its state, by the patterns of its profile. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class State(Enum):
    """What an agent does, as far as keys are concerned."""

    IDLE = "idle"
    DRAFT = "draft"
    BUSY = "busy"
    DIALOG = "dialog"
    UNKNOWN = "unknown"


# A dialog hides everything else, and a busy agent may show a prompt: the most dangerous reading wins.
ORDER = (State.DIALOG, State.BUSY, State.DRAFT, State.IDLE)


@dataclass(frozen=True, slots=True)
class Screen:
    state: State
    draft: str = ""


def read_screen(text: str, patterns: Mapping[State, re.Pattern[str]]) -> Screen:
    for state in ORDER:
        pattern = patterns.get(state)
        found = pattern.search(text) if pattern else None
        if found:
            return Screen(state, _draft(found) if state is State.DRAFT else "")
    return Screen(State.UNKNOWN)


def _draft(found: re.Match[str]) -> str:
    return found.groupdict().get("draft") or found.group(0)
