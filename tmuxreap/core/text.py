"""Text for a terminal: its width in cells, cutting, padding, color, and escaping of characters that
a terminal would obey. Pure: never asks what the output is connected to."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from tmuxreap.core.values import frozen

CUT = "…"
# Printed as escapes: characters that control a terminal, hide or reorder text, end a line, or are
# lone surrogates.
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
JOINERS = frozenset("\u200c\u200d")  # part of how some scripts and many emoji are written
NO_CELL = frozenset({"Mn", "Me", "Cf"})
UNDRAWN = frozenset("CMZ")  # Unicode's controls, marks and separators
JAMO_TAILS = range(0x1160, 0x1200)  # vowels and finals: drawn in the cell of their syllable
COLORS = {"green": "32", "yellow": "33", "red": "31", "dim": "2", "bold": "1", "inverse": "7"}


@frozen
class Style:
    """The style of output: JSON or text, quiet, in color. `width` is the terminal's in cells;
    without it nothing is cut."""

    json: bool = False
    quiet: bool = False
    color: bool = False
    width: int | None = None
    plain_errors: bool = False  # stderr is no terminal

    def paint(self, text: str, color: str | None) -> str:
        if self.color and color and text:
            return f"\x1b[{COLORS[color]}m{text}\x1b[0m"
        return text


def plain(text: str, *, keep: str = "") -> str:
    """Escape the characters that a terminal would obey, except for those in `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep or _shown(c) else _escaped(c) for c in text)


def plain_value(value: Any, *, keep: str = "") -> Any:
    """Escape every string in a value as `plain` does, recursively."""
    if isinstance(value, str):
        return plain(value, keep=keep)
    if isinstance(value, Mapping):
        return {plain_value(name): _plain_member(name, it, keep) for name, it in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(plain_value(one, keep=keep) for one in value))
    if isinstance(value, (list, tuple)):
        return type(value)(plain_value(one, keep=keep) for one in value)
    if isinstance(value, (type, Enum)):
        fields = None
    else:
        fields = getattr(value, "__fields__", None)
    if fields is None:
        return value
    replaced = {}
    for name in fields:
        replaced[name] = _plain_member(name, getattr(value, name), keep)
    return type(value)(**replaced)


def _plain_member(name: object, value: Any, keep: str) -> Any:
    return plain_value(value, keep="\n" if name == "screen" else keep)


def width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def cut(text: str, cells: int) -> str:
    """Cut the text at its end to at most this many cells."""
    if width(text) <= cells:
        return text
    return _start(text, max(cells - 1, 0)) + CUT[:cells]


def cut_middle(text: str, cells: int) -> str:
    """Cut the text in the middle: names of one project differ at the end."""
    if width(text) <= cells:
        return text
    tail = max(cells - 1, 0) // 2
    end = _start(text[::-1], tail)[::-1] if tail else ""
    while end and not _cells(end[0]):
        end = end[1:]  # a combining character without its base
    return _start(text, max(cells - 1 - width(end), 0)) + CUT[:cells] + end


def pad(text: str, cells: int) -> str:
    return text + " " * (cells - width(text))


def _start(text: str, cells: int) -> str:
    used = 0
    for at, character in enumerate(text):
        used += _cells(character)
        if used > cells:
            return text[:at]
    return text


def _cells(character: str) -> int:
    if character.isascii():
        return 1
    from unicodedata import category, east_asian_width  # imported late: most names need neither

    if category(character) in NO_CELL or ord(character) in JAMO_TAILS:
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def _shown(character: str) -> bool:
    if character.isascii():
        return character.isprintable()
    from unicodedata import category

    return category(character) not in UNSEEN or character in JOINERS


def visible(text: str) -> str:
    """Return the text without what a screen may draw in another way: spaces, line ends, marks."""
    from unicodedata import category, normalize

    return "".join(char for char in normalize("NFC", text) if category(char)[0] not in UNDRAWN)


def would_be_obeyed(text: str) -> bool:
    """Tell whether a control character is in a prompt; a tab and a line end are part of one."""
    from unicodedata import category

    return any(category(char) == "Cc" and char not in "\t\n" for char in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
