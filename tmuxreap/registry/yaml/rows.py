"""The inside of one row: its keys and values with their positions, parsed from its own text.

Never gets a row with trouble: no anchors, aliases, tags, merge keys, duplicate or complex keys."""

from __future__ import annotations

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
    last: Leaf | None  # the scalar at the end of a block collection


@frozen
class Mapping(Sequence):
    column: int
    entries: tuple[Entry, ...]


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
    return _node(text, yaml.compose(text, Loader=parse.LOADER))


def find_colon(text: str, key_end: int) -> int | None:
    while text[key_end : key_end + 1] in (" ", "\t"):
        key_end += 1
    return key_end if text[key_end : key_end + 1] == ":" else None


def _node(text: str, node: Any) -> Node:
    if isinstance(node, yaml.ScalarNode):
        return _leaf(text, node)
    start, end, flow = node.start_mark.index, node.end_mark.index, bool(node.flow_style)
    if isinstance(node, yaml.SequenceNode):
        last = None if flow else _node(text, node.value[-1])
        return Sequence(start, last.end if last else end, flow, _last_leaf(last))
    entries = tuple(_entry(text, *pair) for pair in node.value)
    last = None if flow else entries[-1].value
    column = node.start_mark.column
    return Mapping(start, last.end if last else end, flow, _last_leaf(last), column, entries)


def _leaf(text: str, node: Any) -> Leaf:
    start, end = node.start_mark.index, node.end_mark.index
    return Leaf(start, real_end(text, start, end, node.style), node.style)


def _last_leaf(last: Node | None) -> Leaf | None:
    return last if last is None or isinstance(last, Leaf) else last.last


def _entry(text: str, key_node: Any, value_node: Any) -> Entry:
    key, value = _leaf(text, key_node), _node(text, value_node)
    colon = find_colon(text, key.end)
    if value.start == value.end:  # the loaders disagree on the position of an empty value
        place = key.end if colon is None else colon + 1
        value = Leaf(place, place)
    return Entry(key, colon, value)
