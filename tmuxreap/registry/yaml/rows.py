"""The inside of one row: its keys and values with their positions, parsed from its own text.

Never gets a row with trouble: no anchors, aliases, tags, merge keys, duplicate or complex keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import yaml

from tmuxreap.core.values import frozen
from tmuxreap.registry.yaml import parse
from tmuxreap.registry.yaml.places import real_end


@frozen
class Leaf:
    """A scalar. An empty one is placed right after its colon."""

    start: int
    end: int
    style: str | None = None  # its quote, | or >


@frozen
class Sequence:
    start: int
    end: int
    flow: bool


@frozen
class Mapping:
    start: int
    end: int
    flow: bool
    column: int
    entries: tuple[Entry, ...]
    last: Leaf | None  # the scalar at the end of a block mapping


Node: TypeAlias = "Leaf | Sequence | Mapping"


@frozen
class Entry:
    key: Leaf
    colon: int | None  # None in {key} and for an explicit `? key`
    value: Node

    @property
    def empty(self) -> bool:
        return self.value.start == self.value.end


def read_row(text: str) -> Node:
    event = parse.LOADER(text).get_event
    event()
    event()
    return _Builder(text, event).node(event())


def find_colon(text: str, key_end: int) -> int | None:
    while text[key_end : key_end + 1] in (" ", "\t"):
        key_end += 1
    return key_end if text[key_end : key_end + 1] == ":" else None


class _Builder:
    def __init__(self, text: str, event: Callable[[], Any]) -> None:
        self.text = text
        self.next = event
        self.end = 0
        self.last: Leaf | None = None

    def node(self, event: Any) -> Node:
        if event.__class__ is yaml.ScalarEvent:
            self.last = self.leaf(event)
            self.end = self.last.end
            return self.last
        is_mapping = event.__class__ is yaml.MappingStartEvent
        return self.mapping(event) if is_mapping else self.sequence(event)

    def leaf(self, event: Any) -> Leaf:
        start, end = event.start_mark.index, event.end_mark.index
        return Leaf(start, real_end(self.text, start, end, event.style), event.style)

    def sequence(self, start: Any) -> Sequence:
        while (event := self.next()).__class__ is not yaml.SequenceEndEvent:
            self.node(event)
        self.close(event)
        return Sequence(start.start_mark.index, self.end, bool(start.flow_style))

    def mapping(self, start: Any) -> Mapping:
        entries = []
        while (event := self.next()).__class__ is not yaml.MappingEndEvent:
            entries.append(self.entry(event))
        self.close(event)
        mark = start.start_mark
        return Mapping(
            mark.index, self.end, bool(start.flow_style), mark.column, tuple(entries), self.last
        )

    def entry(self, event: Any) -> Entry:
        key = self.leaf(event)
        colon = find_colon(self.text, key.end)
        value = self.node(self.next())
        if value.start == value.end:  # the loaders disagree on the position of an empty value
            place = key.end if colon is None else colon + 1
            value = self.last = Leaf(place, place)
            self.end = place
        return Entry(key, colon, value)

    def close(self, event: Any) -> None:
        if event.end_mark.index > event.start_mark.index:  # a bracket
            self.end, self.last = event.end_mark.index, None
