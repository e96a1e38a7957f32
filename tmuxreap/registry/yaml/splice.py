"""Changes the fields of one row in its own text, and nothing else: finds its keys and values, and
computes the splices. Never sees the rest of the document, never gets a row with trouble, and never
checks its result: `edits` parses it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import yaml

from tmuxreap.core.values import field, frozen
from tmuxreap.registry.transitions import Remove
from tmuxreap.registry.yaml import parse
from tmuxreap.registry.yaml.scalars import (
    Value,
    after_break,
    as_loaded,
    entry,
    find_colon,
    line_end,
    line_start,
    nested,
    newline_at,
    plain_value,
    real_end,
    same,
    skip_gap,
    written,
)

ALIAS: Final = "*"  # the style of an alias
MERGE: Final = object()  # the name of a merge key


@frozen
class Leaf:
    """A scalar. An empty one is placed right after its colon."""

    start: int
    end: int
    style: str | None = None  # its quote, | or >, or ALIAS


@frozen
class SequenceNode:
    start: int
    end: int
    flow: bool
    last: Leaf | None  # the scalar at the end of a block collection


@frozen
class MappingNode(SequenceNode):
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


def _node(text: str, event: Any, following: Callable[[], Any]) -> Node:
    kind = event.__class__
    if kind is yaml.ScalarEvent:
        return _leaf(text, event)
    start = event.start_mark.index
    flow = bool(getattr(event, "flow_style", False))
    if kind is yaml.AliasEvent:
        return Leaf(start, event.end_mark.index, ALIAS)
    if kind is yaml.SequenceStartEvent:
        return _sequence(text, start, flow, following)
    return _mapping(text, event, flow, following)


def _sequence(text: str, start: int, flow: bool, following: Callable[[], Any]) -> SequenceNode:
    last: Node | None = None
    event: Any
    while (event := following()).__class__ is not yaml.SequenceEndEvent:
        last = _node(text, event, following)
    if flow or last is None:
        return SequenceNode(start, _end(event), flow, None)
    return SequenceNode(start, last.end, flow, _last_leaf(last))


def _mapping(text: str, begin: Any, flow: bool, following: Callable[[], Any]) -> MappingNode:
    start = begin.start_mark.index
    column = begin.start_mark.column
    entries: list[Entry] = []
    event: Any
    while (event := following()).__class__ is not yaml.MappingEndEvent:
        if begin.anchor is not None and not entries:
            column = event.start_mark.column  # the mapping's own is that of its anchor
        entries.append(_entry(text, event, _node(text, following(), following)))
    if flow or not entries:
        return MappingNode(start, _end(event), flow, None, column, tuple(entries))
    last = entries[-1].value
    return MappingNode(start, last.end, flow, _last_leaf(last), column, tuple(entries))


def _leaf(text: str, event: Any) -> Leaf:
    start = event.start_mark.index
    end = event.end_mark.index
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
    if key.value == parse.MERGE_KEY:
        return MERGE
    return plain_value(key.value)


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
    parts = []
    position = 0
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
        quote = None
        if isinstance(where.value, Leaf):
            quote = where.value.style
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
            raise CannotSplice("an anchor precedes its text", value.start)
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
    if anchor:
        head = (anchor.start(), anchor.end())
    else:
        head = (colon + 1, colon + 1)
    return head, (first_line, line_end(text, value.end))


def _in_flow(text: str, end: int) -> bool:
    place = skip_gap(text, end)
    return text[place : place + 1] in tuple(",}")


def add_entries(
    text: str, mapping: MappingNode, adds: Mapping[str, Value], newline: str
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


def _add_to_flow(text: str, mapping: MappingNode, made: str) -> Splice:
    if not mapping.entries:
        return inserted(text.index("{", mapping.start) + 1, made)
    last = mapping.entries[-1]
    comma = ", "
    if last.empty and last.colon is not None:
        comma = " , "  # the C loader rejects `key:,`
    return inserted(last.value.end, comma + made)


def remove_entry(text: str, mapping: MappingNode, number: int) -> list[Splice]:
    """Remove one key of several (or the only one of a flow mapping), with its lines but not the
    comments above and below."""
    if mapping.flow:
        spans = [(each.key.start, each.value.end) for each in mapping.entries]
        return cut_from_flow(text, spans, number)
    gone = mapping.entries[number]
    start = line_start(text, gone.key.start)
    end = line_end(text, gone.value.end)
    if text[start : gone.key.start].strip(" "):
        raise CannotSplice("there is text before the key on its line", gone.key.start)
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


REMOVE: Final = Remove.KEY
Path: TypeAlias = tuple[str, ...]
Change: TypeAlias = "Value | Remove"
Changes: TypeAlias = "Mapping[Path, Change]"
_Data: TypeAlias = dict[Any, Any]


class _Inner(_Data):
    """Changes to keys of a nested mapping, as opposed to a mapping that replaces a value."""


def changed(
    text: str, data: Mapping[str, object], changes: Changes, newline: str, *, apart: bool = False
) -> tuple[str, _Data]:
    """Apply changes to a row. `text` is the row alone, indented as in its file. `apart`: a value
    with an anchor is not changed in its place, but written again, without it."""
    result: dict[Any, Any] = {key: as_loaded(value) for key, value in data.items()}
    for step in _steps(changes):
        edit = _Edit(text, newline, apart=apart)
        edit.plan(read_row(text), result, step, ())
        text = spliced(text, edit.splices)
        for path in edit.removals:
            text = _without(text, result, path, newline)
    return text, result


def _leads_through(path: Path, changes: Changes) -> bool:
    return len(path) > 1 and any(path[:size] in changes for size in range(1, len(path)))


def _steps(changes: Changes) -> Iterator[_Inner]:
    """Yield all changes at once, or one by one if a path leads through another."""
    if any(_leads_through(path, changes) for path in changes):
        yield from (_tree({path: change}) for path, change in changes.items())
    else:
        yield _tree(changes)


def _tree(changes: Changes) -> _Inner:
    tree = _Inner()
    for path, change in changes.items():
        branch = tree
        for key in path[:-1]:
            branch = branch.setdefault(key, _Inner())
        if isinstance(change, Remove):
            branch[path[-1]] = change
        else:
            branch[path[-1]] = as_loaded(change)
    return tree


def _new_value(change: object) -> Any:
    """Return the value for a missing key; REMOVE if there is nothing to create."""
    if not isinstance(change, _Inner):
        return change
    inner = {key: made for key, each in change.items() if (made := _new_value(each)) is not REMOVE}
    return inner or REMOVE


class _Edit:
    """Collects the splices for values that are set or added, and the paths to be removed after
    that."""

    def __init__(self, text: str, newline: str, *, apart: bool) -> None:
        self.text = text
        self.newline = newline
        self.apart = apart
        self.splices: list[Splice] = []
        self.removals: list[tuple[object, ...]] = []

    def plan(self, mapping: Node, data: _Data, tree: _Inner, path: tuple[object, ...]) -> None:
        if not isinstance(mapping, MappingNode):
            raise CannotSplice("it is not a mapping", mapping.start)
        entries = mapping.own
        adds = {}
        for key, change in tree.items():
            if key in entries:
                self.change(mapping, entries[key], data, key, change, (*path, key))
            elif key in data:
                adds.update(_overriding(mapping, key, data[key], change))
            elif (made := _new_value(change)) is not REMOVE:
                adds[key] = made
        if adds:
            self.splices += add_entries(self.text, mapping, adds, self.newline)
            data.update(adds)

    def change(
        self,
        mapping: MappingNode,
        entry: Entry,
        data: _Data,
        key: object,
        change: Any,
        path: tuple[object, ...],
    ) -> None:
        old = data[key]
        if change is REMOVE:
            self.removals.append(path)
        elif self.stands_elsewhere(entry):
            self.replace(mapping, entry, data, key, _in_whole(entry.key.start, old, change))
        elif isinstance(change, _Inner) and isinstance(old, dict):
            self.plan(entry.value, old, change, path)
        elif isinstance(change, _Inner) and old is not None:
            raise CannotSplice(f"`{key}` is not a mapping", entry.key.start)
        elif same(old, change) or (value := _new_value(change)) is REMOVE:
            return
        elif isinstance(old, dict) and isinstance(value, dict):
            gone = {each: REMOVE for each in old if each not in value}
            self.plan(entry.value, old, _Inner(value | gone), path)
        else:
            self.replace(mapping, entry, data, key, value)

    def stands_elsewhere(self, entry: Entry) -> bool:
        """Tell whether the value is another's, or must stay as it is for others."""
        if isinstance(entry.value, Leaf) and entry.value.style == ALIAS:
            return True
        return self.apart and self.text[entry.value.start : entry.value.start + 1] == "&"

    def replace(
        self, mapping: MappingNode, entry: Entry, data: _Data, key: object, value: Any
    ) -> None:
        if same(data[key], value):
            return
        self.splices += replace_value(
            self.text, entry, value, mapping.column, mapping.flow, self.newline
        )
        data[key] = value


def _overriding(mapping: MappingNode, key: str, old: object, change: object) -> _Data:
    """Return the key of its own that a mapping needs for a value other than the merged one."""
    if change is REMOVE:
        raise CannotSplice(f"`{key}` comes by a merge key", mapping.start)
    value = _in_whole(mapping.start, old, change)
    return {} if same(old, value) else {key: value}


def _in_whole(position: int, old: object, change: object) -> Any:
    """Return the changed value as one that is written out here, as the old one stands elsewhere."""
    if not isinstance(change, _Inner):
        return change
    if not isinstance(old, dict) and old is not None:
        raise CannotSplice("it is not a mapping", position)
    value = dict(old or {})
    for key, each in change.items():
        if each is REMOVE:
            value.pop(key, None)
            continue
        made = _in_whole(position, value.get(key), each)
        if made is not None or not isinstance(each, _Inner):
            value[key] = made
    if old is None and not value:
        return None
    try:
        written(value)
    except TypeError as error:  # a date, or a key that is no text
        raise CannotSplice(f"it repeats a value that is not plain: {error}", position) from None
    return value


def _without(text: str, data: _Data, path: tuple[object, ...], newline: str) -> str:
    mapping = cast(MappingNode, read_row(text))
    parent = None
    for key in path[:-1]:
        parent = mapping, mapping.entries[_number(mapping, key)]
        mapping = cast(MappingNode, parent[1].value)
        data = data[key]
    number = _number(mapping, path[-1])
    del data[path[-1]]
    if len(mapping.entries) > 1 or mapping.flow:
        splices = remove_entry(text, mapping, number)
    elif parent is None:
        splices = [Splice(mapping.start, mapping.end, "{}")]
    else:
        splices = replace_value(text, parent[1], {}, parent[0].column, parent[0].flow, newline)
    return spliced(text, splices)


def _number(mapping: MappingNode, key: object) -> int:
    return [each.name for each in mapping.entries].index(key)
