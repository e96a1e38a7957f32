"""What an agent's screen says of its state, by the patterns of its profile. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from tmuxreap.core.values import frozen


class State(Enum):
    """What an agent does, as far as keys are concerned."""

    IDLE = "idle"
    DRAFT = "draft"
    BUSY = "busy"
    DIALOG = "dialog"
    UNKNOWN = "unknown"


FRAME = " \xa0│❯>↳"  # noqa: RUF001 - what agents put before a line
# A dialog hides everything else, and a busy agent may show a prompt: the most dangerous reading wins.
ORDER = (State.DIALOG, State.BUSY, State.DRAFT, State.IDLE)


@frozen
class Screen:
    state: State
    draft: str = ""
    queued: str = ""  # prompts that it is going to begin when its turn has ended


def read_screen(text: str, patterns: Mapping[State, re.Pattern[str]], queue: re.Pattern[str] | None = None) -> Screen:
    """Its state, and what is half-typed: also a busy agent can hold a draft. `queue`: what shows prompts that wait."""
    waiting = queue.search(text) if queue else None
    queued = _queued(waiting) if waiting else ""
    pattern = patterns.get(State.DRAFT)
    found = pattern.search(text) if pattern else None
    draft = _draft(found) if found else ""
    for state in ORDER:
        pattern = patterns.get(state)
        if pattern and pattern.search(text):
            return Screen(state, draft, queued)
    return Screen(State.UNKNOWN, draft, queued)


def _queued(found: re.Match[str]) -> str:
    """Each prompt as it stands there, without what comes before it on its line."""
    text = found.groupdict().get("queued") or found.group(0)
    return "\n".join(line.strip(FRAME) for line in text.strip("\n").split("\n")).strip("\n")


def _draft(found: re.Match[str]) -> str:
    """Without the indent, or the frame, that puts its later lines under the first."""
    draft = found.groupdict().get("draft")
    if draft is None:
        return found.group(0)
    indent = found.start("draft") - (found.string.rfind("\n", 0, found.start("draft")) + 1)
    return re.sub(rf"\n[^\w\n]{{1,{indent}}}", "\n", draft) if indent else draft
