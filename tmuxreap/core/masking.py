"""Masks secrets in what is kept of a screen: its last lines, without escapes. Knows no kind of
secret itself, and compiles the pattern of a kind only when a text holds a word of it: most screens
hold none."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tmuxreap.core.secret_kinds import Kind


KEPT_LINES = 40
MASK = "***"

_ESCAPES = (
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|["
    r" -/]*[0-~])"
)
_BLANKS = r"\n{3,}"
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"


_own: tuple[re.Pattern[str], ...] = ()


def mask_also(patterns: tuple[re.Pattern[str], ...]) -> None:
    """Take the user's own patterns, in the place of those before."""
    global _own
    _own = patterns


def mask_secrets(text: str) -> str:
    """Put three asterisks in the place of every secret of a known kind, and of the user's own."""
    if not text:
        return text
    from tmuxreap.core.secret_kinds import KINDS  # many commands look at no screen

    lowered = text.lower()
    for kind in KINDS:
        if any(word in lowered for word in kind.words):
            text = _pattern(kind).sub(_masked, text)
    for pattern in _own:
        text = pattern.sub(_masked, text)
    return text


def kept_screen(screen: str) -> str:
    """Return the last lines of a screen as they may be written into a registry."""
    plain = re.sub(_CONTROLS, "", re.sub(_ESCAPES, "", screen.replace("\r\n", "\n")))
    # Masked before it is cut: a key of many lines is known by its first.
    lines = [line.rstrip() for line in mask_secrets(plain).split("\n")]
    folded = re.sub(_BLANKS, "\n\n", "\n".join(lines)).strip("\n")
    return "\n".join(folded.split("\n")[-KEPT_LINES:])


@cache
def _pattern(kind: Kind) -> re.Pattern[str]:
    return re.compile(kind.pattern)


def _masked(found: re.Match[str]) -> str:
    return (found.groupdict().get("keep") or "") + MASK
