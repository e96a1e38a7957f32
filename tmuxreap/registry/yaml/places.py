"""Positions in the registry's text: the document, its list, its rows, and the real ends of lines
and values.

Knows positions, not data, and never calls the loader or changes a character."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from tmuxreap.core.values import field, frozen

LIST_KEY = "tmux_sessions"
BREAKS = "\r\n\x85\u2028\u2029"  # the line breaks of YAML 1.1
_LINE = re.compile(f"[^{BREAKS}]*")
_BREAK = re.compile(f"\r\n|[{BREAKS}]")
_NEWLINE = re.compile("\r\n|\n|\r")
_GAP = f"(?:[ \t{BREAKS}]|#[^{BREAKS}]*)*"
_BLOCK_HEADER = f"(?:[&!]\\S*\\s+)*[|>]([-+0-9]*)[^{BREAKS}]*"


class Trouble(ValueError):  # noqa: N818 - a result: each kind says what it is about
    """Something at a place in the text."""

    def __init__(self, reason: str, line: int = 1, column: int = 1) -> None:
        super().__init__(f"{reason} (line {line}, column {column})")
        self.reason = reason
        self.line = line
        self.column = column


class Malformed(Trouble):
    """The text is not a registry; none of it can be trusted. Caught where the file is opened."""


class Shape(Enum):
    NULL = "null"
    FLOW = "flow"
    BLOCK = "block"


@frozen
class RowText:
    """One item of the list. `start` and `end` enclose its text without the dash, a trailing comment
    or blank lines. A row with `trouble` has whatever data was readable, and must not be edited."""

    index: int
    data: Mapping[str, object] | None
    line: int
    column: int
    start: int
    end: int
    trouble: str | None
    trouble_line: int
    trouble_column: int
    flow: bool = field(repr=False)
    # Its last value is a block scalar: text written after it may become part of it.
    ends_in_block: bool = field(repr=False)
    # Its events: equal meanings are equal data, tags and anchors, also where an alias repeats what
    # stands elsewhere.
    meaning: tuple[str, ...] = field(repr=False)


@frozen
class ListText:
    shape: Shape
    start: int
    end: int
    column: int  # of its dashes
    key_start: int
    key_end: int
    in_flow: bool  # the top level is a flow mapping, as in JSON


@frozen
class Document:
    text: str = field(repr=False)
    rows: tuple[RowText, ...]
    list: ListText
    frame: tuple[str, ...] = field(repr=False)  # the meaning of everything outside the list
    aliased: bool = False  # an edit in one place may mean another value elsewhere


def line_end(text: str, position: int) -> int:
    """Return the end of the line, before its line break."""
    match = _LINE.match(text, position)
    return match.end() if match else position


def after_break(text: str, position: int) -> int:
    """Return the position after the line break at this position, if there is one."""
    match = _BREAK.match(text, position)
    return match.end() if match else position


def line_start(text: str, position: int) -> int:
    return max(text.rfind(mark, 0, position) for mark in BREAKS) + 1


def skip_gap(text: str, position: int) -> int:
    """Skip blanks, line breaks and comments."""
    match = re.compile(_GAP).match(text, position)
    return match.end() if match else position


def real_end(text: str, start: int, end: int, style: str | None) -> int:
    """Return the end of a value, before its line break. The loader's end of a block scalar includes
    the blank lines after it."""
    header = re.compile(_BLOCK_HEADER).match(text, start, end) if style in ("|", ">") else None
    if header is None:
        return end
    if "+" in header[1]:  # trailing blank lines are kept
        breaks = [*_BREAK.finditer(text, header.end(), end)]
        return breaks[-1].start() if breaks and breaks[-1].end() == end else end
    digit = header[1].strip("-")
    return _content_end(text, header.end(), end, int(digit) if digit else None)


def _content_end(text: str, header_end: int, end: int, indent: int | None) -> int:
    """Return the end of a block scalar's content. Blanks beyond the indentation are content; of an
    explicit indentation only the minimum is known, which suffices."""
    content_end, position = header_end, after_break(text, header_end)
    while position < end:
        stop = min(line_end(text, position), end)
        line = text[position:stop]
        if indent is None and line.strip(" "):
            indent = len(line) - len(line.lstrip(" "))
        if indent is not None and (line.strip(" ") or len(line) > indent):
            content_end = stop
        position = after_break(text, stop)
        if position == stop:
            break
    return content_end


def lines_before(text: str, position: int) -> int:
    return len(_BREAK.findall(text, 0, position))


def newline_of(text: str) -> str:
    """Return the text's line break: its first one."""
    match = _NEWLINE.search(text)
    return match[0] if match else "\n"


def newline_at(text: str, position: int, default: str) -> str:
    """Return the break of the line at this position, else of the line before it: what is written
    next to a line ends as that line does."""
    match = _NEWLINE.match(text, line_end(text, position))
    if match is None:
        start = line_start(text, position)
        match = _NEWLINE.match(text, start - 2) or _NEWLINE.match(text, start - 1)
    return match[0] if match else default
