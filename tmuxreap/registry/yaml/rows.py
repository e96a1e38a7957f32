"""The inside of one row: its keys and values with their positions, parsed from its own text.

Never gets a row with trouble: no tags, duplicate or complex keys. An alias is a scalar here, as
what it repeats stands elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import yaml

from tmuxreap.core.values import field, frozen
from tmuxreap.registry.yaml import parse
from tmuxreap.registry.yaml.places import real_end
from tmuxreap.registry.yaml.scalars import plain_value

ALIAS: Final = "*"  # the style of an alias
MERGE: Final = object()  # the name of a merge key


@frozen
class Leaf:
    """A scalar. An empty one is placed right after its colon."""

    start: int
    end: int
    style: str | None = None  # its quote, | or >, or ALIAS


@frozen
class Sequence:
    start: int
    end: int
    flow: bool
    last: Leaf | None  # the scalar at the end of a block collection


@frozen
class Mapping(Sequence):
    column: int
    entries: tuple[Entry, ...]

    @property
    def own(self) -> dict[object, Entry]:
        """Its keys but those that come by a merge key."""
        return {each.name: each for each in self.entries if each.name is not MERGE}


Node: TypeAlias = "Leaf | SequenceNode | MappingNode"


@frozen
class Entry:
    key: Leaf
    colon: int | None  # None in {key} and for an explicit `? key`
    value: Node
    name: object = field(default=None, compare=False)

    @property
    def empty(self) -> bool:
        return self.value.start == self.value.end


def read_row(text: str) -> Node:
    """Read events, as an alias in the row may repeat what stands outside of it."""
    following: Callable[[], Any] = parse.LOADER(text).get_event
    following()
    following()
    return _node(text, following(), following)


def find_colon(text: str, key_end: int) -> int | None:
    while text[key_end : key_end + 1] in (" ", "\t"):
        key_end += 1
    return key_end if text[key_end : key_end + 1] == ":" else None


def _node(text: str, event: Any, following: Callable[[], Any]) -> Node:
    kind = event.__class__
    if kind is yaml.ScalarEvent:
        return _leaf(text, event)
    start, flow = event.start_mark.index, bool(getattr(event, "flow_style", False))
    if kind is yaml.AliasEvent:
        return Leaf(start, event.end_mark.index, ALIAS)
    if kind is yaml.SequenceStartEvent:
        return _sequence(text, start, flow, following)
    return _mapping(text, event, flow, following)


def _sequence(text: str, start: int, flow: bool, following: Callable[[], Any]) -> Sequence:
    last: Node | None = None
    event: Any
    while (event := following()).__class__ is not yaml.SequenceEndEvent:
        last = _node(text, event, following)
    if flow or last is None:
        return Sequence(start, _end(event), flow, None)
    return Sequence(start, last.end, flow, _last_leaf(last))


def _mapping(text: str, begin: Any, flow: bool, following: Callable[[], Any]) -> Mapping:
    start, column = begin.start_mark.index, begin.start_mark.column
    entries: list[Entry] = []
    event: Any
    while (event := following()).__class__ is not yaml.MappingEndEvent:
        if begin.anchor is not None and not entries:
            column = event.start_mark.column  # the mapping's own is that of its anchor
        entries.append(_entry(text, event, _node(text, following(), following)))
    if flow or not entries:
        return Mapping(start, _end(event), flow, None, column, tuple(entries))
    last = entries[-1].value
    return Mapping(start, last.end, flow, _last_leaf(last), column, tuple(entries))


def _leaf(text: str, event: Any) -> Leaf:
    start, end = event.start_mark.index, event.end_mark.index
    return Leaf(start, real_end(text, start, end, event.style), event.style)


def _end(event: Any) -> int:
    end: int = event.end_mark.index
    return end


def _last_leaf(last: Node) -> Leaf | None:
    return last if isinstance(last, Leaf) else last.last


def _entry(text: str, key_event: Any, value: Node) -> Entry:
    key = _leaf(text, key_event)
    colon = find_colon(text, key.end)
    if value.start == value.end:  # the loaders disagree on the position of an empty value
        place = key.end if colon is None else colon + 1
        value = Leaf(place, place)
    return Entry(key, colon, value, _name(key_event))


def _name(key: Any) -> object:
    if not key.implicit[0]:
        return key.value
    return MERGE if key.value == parse.MERGE_KEY else plain_value(key.value)
