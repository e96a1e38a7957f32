"""Computes the splices of a YAML text that change one key or one list item and nothing else.

Never checks the result: `edits` parses it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tmuxreap.core.values import frozen
from tmuxreap.registry.yaml import rows
from tmuxreap.registry.yaml.places import (
    after_break,
    line_end,
    line_start,
    newline_at,
    skip_gap,
)
from tmuxreap.registry.yaml.rows import Entry, Leaf
from tmuxreap.registry.yaml.scalars import Value, entry, nested, written

_BLOCK = ("|", ">")
_ANCHOR = re.compile(r"&\S+")


class CannotSplice(ValueError):  # noqa: N818 - a result, with the position in the given text
    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


@frozen
class Splice:
    start: int
    end: int
    text: str


def inserted(position: int, text: str) -> Splice:
    return Splice(position, position, text)


def spliced(text: str, splices: Iterable[Splice]) -> str:
    """Apply all splices to the text; those at the same position in the given order."""
    parts, position = [], 0
    for splice in sorted(splices, key=lambda each: each.start):
        if splice.start < position:
            raise CannotSplice("two changes meet in one place", splice.start)
        parts += [text[position : splice.start], splice.text]
        position = splice.end
    return "".join(parts) + text[position:]


def replace_value(
    text: str, where: Entry, value: Value, column: int, flow: bool, newline: str
) -> list[Splice]:
    """Replace a key's value; `column` and `flow` are those of the mapping that contains the key."""
    head, tail = _places(text, where)
    lines = isinstance(value, Mapping) and value and not flow
    if not lines:
        quote = where.value.style if isinstance(where.value, Leaf) else None
        pad = " " if text[head[0] - 1] == ":" else ""
        made = ": " if where.colon is None else pad
        rest = [Splice(*tail, "")] if tail[0] < tail[1] else []
        return [Splice(*head, made + written(value, quote)), *rest]
    assert isinstance(value, Mapping)  # noqa: S101 - for the type checker
    start = head[0]
    if where.colon is not None and not text[where.colon + 1 : start].strip(" \t"):
        start = where.colon + 1
    newline = newline_at(text, where.key.start, newline)
    return [Splice(start, head[1], ""), Splice(*tail, nested(value, column, newline))]


def _places(text: str, where: Entry) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the part of a value that a one-line value replaces, and the rest, which must go."""
    value = where.value
    if where.colon is None and not (
        isinstance(value, Leaf) and where.empty and _in_flow(text, value.end)
    ):
        raise CannotSplice("its key is not followed by a colon on the same line", where.key.start)
    if isinstance(value, Leaf) and value.style in _BLOCK:
        if text[value.start] == "&":
            raise CannotSplice("an anchor stands before its text", value.start)
        indicator = value.start + 1
        while text[indicator : indicator + 1] in tuple("+-0123456789"):
            indicator += 1
        return (value.start, indicator), (line_end(text, value.start), value.end)
    if isinstance(value, Leaf) or value.flow:
        end = line_end(text, value.end)
        return (value.start, value.end), (end, end)
    colon = where.colon or 0
    first_line = line_end(text, colon)
    anchor = _ANCHOR.match(text, value.start, first_line)
    head = (anchor.start(), anchor.end()) if anchor else (colon + 1, colon + 1)
    return head, (first_line, line_end(text, value.end))


def _in_flow(text: str, end: int) -> bool:
    place = skip_gap(text, end)
    return text[place : place + 1] in tuple(",}")


def add_entries(
    text: str, mapping: rows.Mapping, adds: Mapping[str, Value], newline: str
) -> list[Splice]:
    """Add keys right after the last value: the loader's end of a mapping is after comments that may
    not belong to it."""
    if mapping.flow:
        return [_add_to_flow(text, mapping, written(adds)[1:-1])]
    newline = newline_at(text, mapping.end, newline)
    lines = [entry(key, value, mapping.column, newline) for key, value in adds.items()]
    indent = " " * mapping.column
    if ends_open(text, mapping.last):  # a line break after it would become part of it
        added = "".join(line + newline + indent for line in lines)
        return [inserted(mapping.entries[-1].key.start, added)]
    added = "".join(newline + indent + line for line in lines)
    return [inserted(line_end(text, mapping.end), added)]


def ends_open(text: str, last: Leaf | None) -> bool:
    """Tell whether the text ends inside a block scalar, without a line break."""
    return last is not None and last.style in _BLOCK and last.end == len(text)


def _add_to_flow(text: str, mapping: rows.Mapping, made: str) -> Splice:
    if not mapping.entries:
        return inserted(text.index("{", mapping.start) + 1, made)
    last = mapping.entries[-1]
    comma = " , " if last.empty and last.colon is not None else ", "  # the C loader rejects `key:,`
    return inserted(last.value.end, comma + made)


def remove_entry(text: str, mapping: rows.Mapping, number: int) -> list[Splice]:
    """Remove one key of several (or the only one of a flow mapping), with its lines but not the
    comments above and below."""
    if mapping.flow:
        spans = [(each.key.start, each.value.end) for each in mapping.entries]
        return cut_from_flow(text, spans, number)
    gone = mapping.entries[number]
    start, end = line_start(text, gone.key.start), line_end(text, gone.value.end)
    if text[start : gone.key.start].strip(" "):
        raise CannotSplice("something stands before the key on its line", gone.key.start)
    if start:
        return [Splice(start, after_break(text, end), "")]
    following = mapping.entries[1].key.start  # the row's dash is on the removed line
    if after_break(text, end) == line_start(text, following):
        return [Splice(gone.key.start, following, "")]
    return [Splice(gone.key.start, end, "")]


def cut_from_flow(text: str, spans: Sequence[tuple[int, int]], number: int) -> list[Splice]:
    """Remove one item of a flow collection with one comma; comments stay."""
    start, end = spans[number]
    comma = skip_gap(text, end)
    if text[comma : comma + 1] == ",":
        stop = comma + 1
        while text[stop : stop + 1] == " ":
            stop += 1
        if text[end:comma].strip(" "):
            return [Splice(start, end, ""), Splice(comma, comma + 1, "")]
        return [Splice(start, stop, "")]
    if number == 0:
        return [Splice(start, end, "")]
    comma = skip_gap(text, spans[number - 1][1])
    if text[comma + 1 : start].strip():
        return [Splice(start, end, "")]  # the previous item keeps its comma
    return [Splice(comma, end, "")]
