"""A terminal's replies to queries of others (a detached client, an earlier program), which the
toolkit passes on as single keys. They must never act as commands."""

from __future__ import annotations

from enum import Enum

from textual.events import Key

TOGETHER_S = 0.05  # a user's keys are further apart
LOST_S = 1.0  # after that the end was lost


class Part(Enum):
    ESCAPE = "^"  # how the toolkit reports an ESC of an unknown sequence
    CONTROL = "["  # ends with a letter
    STRING = "P"  # ends with ESC \ or a bell


# After a timeout the toolkit omits the ESC.
BEGINS = {
    "circumflex_accent": Part.ESCAPE,
    "left_square_bracket": Part.CONTROL,
    "right_square_bracket": Part.STRING,
    "alt+shift+p": Part.STRING,
}
AFTER_ESCAPE = {**BEGINS, "P": Part.STRING, "underscore": Part.STRING, "X": Part.STRING}
SURE = ("circumflex_accent", "alt+shift+p")


class Replies:
    """Tracks incoming keys and tells which belong to a terminal's reply."""

    def __init__(self) -> None:
        self._part: Part | None = None
        self._timeout_s = TOGETHER_S
        self._last = 0.0

    def is_part_of_reply(self, key: Key) -> bool:
        """Tell if the key is part of a reply: a bracket may be typed, keys right after it not."""
        late, self._last = key.time - self._last > self._timeout_s, key.time
        before = None if late else self._part
        self._part = self._after(before, key)
        if before in (None, Part.ESCAPE):
            sure = before is not None or key.key == "alt+shift+p"
            self._timeout_s = LOST_S if sure and self._part is Part.STRING else TOGETHER_S
        if before is None:
            return key.key in SURE
        return self._part is not None or self._ends(before, key)

    def _after(self, before: Part | None, key: Key) -> Part | None:
        if before is None:
            return BEGINS.get(key.key)
        if before is Part.ESCAPE:
            return AFTER_ESCAPE.get(key.key)
        return None if self._ends(before, key) else before

    def _ends(self, before: Part | None, key: Key) -> bool:
        if before is Part.CONTROL:
            return "@" <= (key.character or "") <= "~"
        return before is Part.STRING and (key.key.endswith("backslash") or key.key == "ctrl+g")
