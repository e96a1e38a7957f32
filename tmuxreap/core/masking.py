"""Masks secrets in text, and cuts a screen to the part that is stored: its last lines, without
escape sequences.

Defines no kind of secret itself. A kind's pattern is compiled only when the text contains one of
its words; most screens contain none."""

from __future__ import annotations

import re
from collections.abc import Callable
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


Mask = Callable[[str], str]

_user_mask: Mask | None = str


def mask_also(mask: Mask | None = str) -> None:
    """Set what masks by the user's own patterns, replacing the previous one; None if they cannot be
    read: then no screen is shown or kept."""
    global _user_mask
    _user_mask = mask


def is_blind() -> bool:
    """Tell whether the user's own patterns cannot be read, so that nothing can be masked."""
    return _user_mask is None


def mask_secrets(text: str) -> str:
    """Replace every secret of a known kind, or matching a pattern of the user's, with asterisks."""
    if not text:
        return text
    from tmuxreap.core.secret_kinds import KINDS  # imported late: many commands read no screen

    lowered = text.lower()
    for kind in KINDS:
        if any(word in lowered for word in kind.words):
            text = _pattern(kind).sub(masked, text)
    return _user_mask(text) if _user_mask is not None else MASK


def kept_screen(screen: str) -> str:
    """Return the last lines of a screen, plain and masked, as stored in the registry; nothing if it
    cannot be masked."""
    if is_blind():
        return ""
    plain = re.sub(_CONTROLS, "", re.sub(_ESCAPES, "", screen.replace("\r\n", "\n")))
    # Masked before it is cut: a multi-line key is recognized by its first line.
    lines = [line.rstrip() for line in mask_secrets(plain).split("\n")]
    folded = re.sub(_BLANKS, "\n\n", "\n".join(lines)).strip("\n")
    return "\n".join(folded.split("\n")[-KEPT_LINES:])


@cache
def _pattern(kind: Kind) -> re.Pattern[str]:
    return re.compile(kind.pattern)


def masked(match: re.Match[str]) -> str:
    """Return what stands for a match: asterisks, after its part that may be kept."""
    return (match.groupdict().get("keep") or "") + MASK
