"""Small edits of JSON that users wrote: adds or removes a member or an item, and keeps every other
byte.

Text in, text out; never does I/O. Knows objects and arrays, not what they mean."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]

from tmuxreap.core.values import frozen

SPACE = re.compile(r"[ \t\r\n]*")
SCALAR = re.compile(r"[^\s,\]}]+")
INDENT = re.compile(r"\n([ \t]+)\S")


class NotJson(ValueError):  # noqa: N818 - an expected answer: the file is the user's
    """Why the text cannot be edited."""


@frozen
class Node:
    """A value and its place in the text. `sign`: its first character. A member of an object has a
    key, which begins at `outer`; elsewhere that is the value's own start."""

    sign: str
    start: int
    end: int
    outer: int
    key: str | None = None
    children: tuple[Node, ...] = ()

    def child(self, key: str) -> Node | None:
        """Return the child with this key; of duplicates the last one, as JSON parsers do."""
        return next((node for node in reversed(self.children) if node.key == key), None)


def parse(text: str) -> Node:
    try:
        root = json.loads(text)
    except json.JSONDecodeError as error:
        raise NotJson(f"line {error.lineno} column {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None
    if not isinstance(root, dict):
        raise NotJson("it does not hold an object")
    try:
        return _value(text, _skip(text, 0), 0)
    except RecursionError:
        raise NotJson("it is nested too deeply") from None


def with_member(text: str, path: Sequence[str], key: str, value: object) -> str:
    """Add a member at the end of the object at this path, unless it has one of that name."""
    parent = _at(text, path)
    if parent.sign != "{":
        raise NotJson(f"{'.'.join(path) or 'it'} is no object")
    if parent.child(key) is not None:
        return text
    return _put(text, parent, f"{json.dumps(key, ensure_ascii=False)}: ", value, len(path))


def with_item(text: str, path: Sequence[str], value: object) -> str:
    """Add an item at the end of the array at this path."""
    parent = _at(text, path)
    if parent.sign != "[":
        raise NotJson(f"{'.'.join(path)} is no list")
    return _put(text, parent, "", value, len(path))


def without(text: str, parent: Node, index: int) -> str:
    """Remove a child of an object or an array, with its comma."""
    children = parent.children
    if index > 0:
        return text[: children[index - 1].end] + text[children[index].end :]
    if len(children) > 1:
        return text[: children[0].outer] + text[children[1].outer :]
    return text[: parent.start + 1] + text[parent.end - 1 :]


def _at(text: str, path: Sequence[str]) -> Node:
    node = parse(text)
    for key in path:
        below = node.child(key)
        if below is None:
            raise NotJson(f"there is no {key} in it")
        node = below
    return node


def _put(text: str, parent: Node, before: str, value: object, depth: int) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    match = INDENT.search(text)
    unit = match[1] if match else "  "
    if parent.children:
        last = parent.children[-1].end
        gap = text[parent.start + 1 : parent.children[0].outer]
        if "\n" not in gap:  # all on one line
            return f"{text[:last]}, {before}{json.dumps(value, ensure_ascii=False)}{text[last:]}"
        margin = gap.rpartition("\n")[2]
        dumped = _dumped(value, unit, margin, newline)
        return f"{text[:last]},{newline}{margin}{before}{dumped}{text[last:]}"
    outer = _margin(text, parent.start) if depth else ""
    dumped = _dumped(value, unit, outer + unit, newline)
    inside = f"{newline}{outer}{unit}{before}{dumped}{newline}{outer}"
    return text[: parent.start + 1] + inside + text[parent.end - 1 :]


def _margin(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _dumped(value: object, unit: str, margin: str, newline: str) -> str:
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return f"{newline}{margin}".join(lines)


def _skip(text: str, place: int) -> int:
    match = SPACE.match(text, place)
    return match.end() if match else place


def _value(text: str, start: int, outer: int, key: str | None = None) -> Node:
    """Parse a value; the text is known to be valid JSON."""
    sign, children = text[start], list[Node]()
    if sign == '"':
        end: int = scanstring(text, start + 1)[1]
    elif sign in "{[":
        place = _skip(text, start + 1)
        while text[place] not in "}]":
            children.append(_child(text, place, sign))
            place = _after(text, children[-1].end)
        end = place + 1
    else:
        match = SCALAR.match(text, start)
        end = match.end() if match else start + 1
    return Node(sign, start, end, outer, key, tuple(children))


def _child(text: str, place: int, sign: str) -> Node:
    if sign == "[":
        return _value(text, place, place)
    key, end = scanstring(text, place + 1)
    return _value(text, _skip(text, _skip(text, end) + 1), place, key)


def _after(text: str, end: int) -> int:
    """Return where the next child begins, or the container ends."""
    place = _skip(text, end)
    return _skip(text, place + 1) if text[place] == "," else place
