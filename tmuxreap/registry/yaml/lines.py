"""Lines of a YAML text: where they begin and end, and which line break they have. Knows nothing of
documents."""

from __future__ import annotations

import re

BREAKS = "\r\n\x85\u2028\u2029"  # the line breaks of YAML 1.1
_LINE = re.compile(f"[^{BREAKS}]*")
_BREAK = re.compile(f"\r\n|[{BREAKS}]")
_NEWLINE = re.compile("\r\n|\n|\r")
_GAP = f"(?:[ \t{BREAKS}]|#[^{BREAKS}]*)*"
_BLOCK_HEADER = f"(?:[&!]\\S*\\s+)*[|>]([-+0-9]*)[^{BREAKS}]*"


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
    header = None
    if style in ("|", ">"):
        header = re.compile(_BLOCK_HEADER).match(text, start, end)
    if header is None:
        return end
    if "+" in header[1]:  # trailing blank lines are kept
        breaks = [*_BREAK.finditer(text, header.end(), end)]
        if breaks and breaks[-1].end() == end:
            return breaks[-1].start()
        return end
    digit = header[1].strip("-")
    return _content_end(text, header.end(), end, int(digit) if digit else None)


def _content_end(text: str, header_end: int, end: int, indent: int | None) -> int:
    """Return the end of a block scalar's content. Blanks beyond the indentation are content; of an
    explicit indentation only the minimum is known, which suffices."""
    content_end = header_end
    position = after_break(text, header_end)
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


def find_colon(text: str, key_end: int) -> int | None:
    while text[key_end : key_end + 1] in (" ", "\t"):
        key_end += 1
    if text[key_end : key_end + 1] == ":":
        return key_end
    return None
