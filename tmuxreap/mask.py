"""What of a screen may be kept: the last lines, without escapes, with secrets masked."""

from __future__ import annotations

import re

KEPT_LINES = 40
MASK = "***"

_ESCAPES = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])"
_BLANKS = r"\n{3,}"
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_WHOLE = (
    r"sk-[A-Za-z0-9_-]{8,}"
    r"|gh[a-z]_[A-Za-z0-9]{8,}|github_pat_[A-Za-z0-9_]{8,}"
    r"|AKIA[0-9A-Z]{12,}"
    r"|xox[a-z]-[A-Za-z0-9-]{6,}"
    r"|eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*"
)
# A quoted value ends with its quote or, where the screen cuts it off, with its line.
_VALUES = (
    r"(?i:(?P<name>\bBearer[ \t]+|[A-Za-z0-9_]*(?:_KEY|_TOKEN|_SECRET|password)['\"]?[ \t]*[=:][ \t]*)"
    r"(?P<value>\"(?:[^\"\\\n]|\\.)*\"?|'[^'\n]*'?|[^\s'\"]\S*))"
)


def mask_secrets(text: str) -> str:
    return re.sub(_WHOLE, MASK, re.sub(_VALUES, lambda found: found["name"] + MASK, text))


def kept_screen(screen: str) -> str:
    """The last lines of a screen as they may be written into a registry."""
    plain = re.sub(_CONTROLS, "", re.sub(_ESCAPES, "", screen.replace("\r\n", "\n")))
    lines = [line.rstrip() for line in plain.split("\n")]
    return mask_secrets("\n".join(re.sub(_BLANKS, "\n\n", "\n".join(lines)).strip("\n").split("\n")[-KEPT_LINES:]))
