"""What an agent's screen says of its state, by the patterns of its profile. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from tmuxreap.values import frozen


class State(Enum):
    """What an agent does, as far as keys are concerned."""

    IDLE = "idle"
    DRAFT = "draft"
    BUSY = "busy"
    DIALOG = "dialog"
    UNKNOWN = "unknown"


# A dialog hides everything else, and a busy agent may show a prompt: the most dangerous reading wins.
ORDER = (State.DIALOG, State.BUSY, State.DRAFT, State.IDLE)


@frozen
class Screen:
    state: State
    draft: str = ""


def read_screen(text: str, patterns: Mapping[State, re.Pattern[str]]) -> Screen:
    """Its state, and what is half-typed: also a busy agent can hold a draft."""
    pattern = patterns.get(State.DRAFT)
    found = pattern.search(text) if pattern else None
    draft = _draft(found) if found else ""
    for state in ORDER:
        pattern = patterns.get(state)
        if pattern and pattern.search(text):
            return Screen(state, draft)
    return Screen(State.UNKNOWN, draft)


def _draft(found: re.Match[str]) -> str:
    """Without the indent, or the frame, that puts its later lines under the first."""
    draft = found.groupdict().get("draft")
    if draft is None:
        return found.group(0)
    indent = found.start("draft") - (found.string.rfind("\n", 0, found.start("draft")) + 1)
    return re.sub(rf"\n[^\w\n]{{1,{indent}}}", "\n", draft) if indent else draft
