"""Text as a terminal shows it: how many cells it takes, how it is cut, padded and coloured, and
what of it may reach a terminal at all. Pure: what kind of listener there is, it is told."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from tmuxreap.core.values import frozen

CUT = "…"
# Written out as an escape: what commands a terminal, hides or reorders text, ends a line, or is
# half a character.
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
JOINERS = frozenset("\u200c\u200d")  # part of how some scripts and many emoji are written
NO_CELL = frozenset({"Mn", "Me", "Cf"})
JAMO_TAILS = range(0x1160, 0x1200)  # vowels and finals: written into the syllable that they end
COLOURS = {"green": "32", "yellow": "33", "red": "31", "dim": "2", "bold": "1", "inverse": "7"}


@frozen
class Voice:
    """How to speak: to a script or to a person, in colour or not. `width` is that of a terminal, in
    cells; without one nothing is cut."""

    json: bool = False
    quiet: bool = False
    colour: bool = False
    width: int | None = None

    def paint(self, text: str, colour: str | None) -> str:
        return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if self.colour and colour and text else text


def plain(text: str, *, keep: str = "") -> str:
    """The text with nothing in it that a terminal would obey; `keep`: characters that stay all the
    same."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep or _shown(c) else _escaped(c) for c in text)


def plain_value(value: Any, *, keep: str = "") -> Any:
    """The same for every text in a value, however deep."""
    if isinstance(value, str):
        return plain(value, keep=keep)
    if isinstance(value, Mapping):
        return {
            plain_value(k): plain_value(v, keep="\n" if k == "screen" else keep)
            for k, v in value.items()
        }
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(plain_value(one, keep=keep) for one in value))
    if isinstance(value, (list, tuple)):
        return type(value)(plain_value(one, keep=keep) for one in value)
    fields = None if isinstance(value, (type, Enum)) else getattr(value, "__fields__", None)
    if fields is None:
        return value
    told = {
        name: plain_value(getattr(value, name), keep="\n" if name == "screen" else keep)
        for name in fields
    }
    return type(value)(**told)


def width(text: str) -> int:
    return len(text) if text.isascii() else sum(map(_cells, text))


def cut(text: str, cells: int) -> str:
    """Its beginning, in so many cells at most."""
    return text if width(text) <= cells else _start(text, max(cells - 1, 0)) + CUT[:cells]


def cut_middle(text: str, cells: int) -> str:
    """Its beginning and its end: names of one project differ at the end."""
    if width(text) <= cells:
        return text
    tail = max(cells - 1, 0) // 2
    end = _start(text[::-1], tail)[::-1] if tail else ""
    while end and not _cells(end[0]):
        end = end[1:]  # an accent without its letter
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
    from unicodedata import category, east_asian_width  # most names need neither

    if category(character) in NO_CELL or ord(character) in JAMO_TAILS:
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def _shown(character: str) -> bool:
    if character.isascii():
        return character.isprintable()
    from unicodedata import category

    return category(character) not in UNSEEN or character in JOINERS


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
