"""Parses the registry's text: each row's position, its data, the real ends of its lines and values,
and why it must not be edited, if so. Never changes a character, and never touches a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any

import yaml

from tmuxreap.core.values import field, frozen, replace
from tmuxreap.registry.yaml.scalars import NO_VALUE, line_start, lines_before, plain_value, real_end

LIST_KEY = "tmux_sessions"


class Trouble(ValueError):  # noqa: N818 - a result: each kind says what it is about
    """Something at a place in the text."""

    def __init__(self, reason: str, line: int = 1, column: int = 1) -> None:
        super().__init__(f"{reason} (line {line}, column {column})")
        self.reason = reason
        self.line = line
        self.column = column


class Malformed(Trouble):
    """The text is not a registry; none of it can be trusted. Caught where the file is opened."""


class Undefined(Malformed):
    """An alias whose anchor is not there. `start` and `end` enclose the alias."""

    def __init__(self, anchor: str, line: int, column: int, start: int, end: int) -> None:
        super().__init__(f"undefined alias {anchor!r}", line, column)
        self.anchor = anchor
        self.start = start
        self.end = end


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
    anchored: Mapping[str, object] = field(default_factory=dict, repr=False)  # by their anchors


MAPPING_TAGS = (None, "!", "tag:yaml.org,2002:map")
MERGE_KEY = "<<"
MOST_BY_ALIASES = 20_000  # values in one row: aliases of aliases multiply
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@lru_cache(maxsize=4)
def parse(text: str) -> Document:
    """Parse a registry. Cached: the same text is parsed again under the lock, and after an edit.
    Offsets refer to the text as given, including a byte order mark."""
    shift = 1 if text.startswith("\ufeff") else 0  # the C loader does not count it
    body = text[shift:]
    try:
        reader = _Reader(text, LOADER(body).get_event, shift)
        document = reader.document()
        if reader.linked:
            return _with_linked_data(document, body)
        return document
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = ": ".join(part for part in (error.context, error.problem) if part) or "not YAML"
        line = 1
        column = 1
        if mark:
            line = mark.line + 1
            column = mark.column + 1
        raise Malformed(reason, line, column) from error
    except yaml.reader.ReaderError as error:
        # The loaders count its position differently; it is the first such character.
        reason = f"the character #x{error.character:04x} is not allowed"
        raise _at(body, body.find(chr(error.character)), reason) from error
    except UnicodeEncodeError as error:
        raise _at(body, error.start, "half of a surrogate pair is not allowed") from error
    except RecursionError:
        raise Malformed("nested too deeply") from None


@frozen
class _Anchored:
    """A value that aliases may repeat. `digest`: equal digests are equal meanings."""

    value: object
    digest: int
    size: int
    trouble: str | None


class _Reader:
    """Reads the events in one pass. `meaning`, `trouble`, `last` and `repeated` belong to the
    current row (or frame)."""

    def __init__(self, text: str, event: Callable[[], Any], shift: int) -> None:
        self.text = text
        self.next = event
        self.shift = shift
        self.linked = False  # there is something that only the loader itself can resolve
        self.aliased = False
        self.anchors: dict[str, _Anchored | None] = {}  # None: not at its end yet
        self.repeated = 0  # how many values its aliases stand for
        self.meaning: list[str] = []
        self.trouble: tuple[str, int, int] | None = None
        self.last: Any = None

    def document(self) -> Document:
        self.next()
        start = self.next()
        if isinstance(start, yaml.StreamEndEvent):
            if self.text.strip("\ufeff \t\r\n"):
                raise Malformed("the file holds only comments")
            raise Malformed("the file is empty")
        self.meaning.append(repr((start.version, start.tags)))
        top = self.next()
        if not isinstance(top, yaml.MappingStartEvent) or top.tag not in MAPPING_TAGS:
            raise _at_event("the top level is not a mapping", top)
        rows, where = self.top_level(top)
        self.next()
        if not isinstance(more := self.next(), yaml.StreamEndEvent):
            raise _at_event("more than one document", more)
        anchors = self.anchors.items()
        plain = {}
        for name, it in anchors:
            if it is not None and it.trouble is None:
                plain[name] = it.value
        return Document(self.text, tuple(rows), where, tuple(self.meaning), self.aliased, plain)

    def top_level(self, top: Any) -> tuple[list[RowText], ListText]:
        if top.anchor is not None:
            self.open_anchor(top)
        if top.tag is not None:
            self.note_tag(top)
        result = None
        while not isinstance(key := self.next(), yaml.MappingEndEvent):
            self.read(key)
            if not (isinstance(key, yaml.ScalarEvent) and key.value == LIST_KEY):
                self.read(self.next())
            elif result:
                raise _at_event(f"`{LIST_KEY}` appears twice", key)
            else:
                result = self.read_list(key, bool(top.flow_style))
        if result is None:
            raise _at_event(f"there is no `{LIST_KEY}` list", top)
        return result

    def read_list(self, key: Any, in_flow: bool) -> tuple[list[RowText], ListText]:
        event: Any = self.next()
        if isinstance(event, yaml.AliasEvent) or event.anchor or event.tag:
            reason = f"`{LIST_KEY}` must not be an alias, nor have an anchor or a tag"
            raise _at_event(reason, event)
        rows: list[RowText] = []
        shape = Shape.NULL
        end = self.end_of(event)
        if isinstance(event, yaml.SequenceStartEvent):
            shape = Shape.FLOW if event.flow_style else Shape.BLOCK
            rows, end = self.read_rows(shape)
        elif not (
            isinstance(event, yaml.ScalarEvent)
            and event.implicit[0]
            and plain_value(event.value) is None
        ):
            raise _at_event(f"`{LIST_KEY}` is not a list", event)
        start = event.start_mark.index + self.shift
        column = event.start_mark.column
        return rows, ListText(
            shape, start, end, column, key.start_mark.index + self.shift, self.end_of(key), in_flow
        )

    def read_rows(self, shape: Shape) -> tuple[list[RowText], int]:
        frame = self.meaning
        rows: list[RowText] = []
        event: Any
        while not isinstance(event := self.next(), yaml.SequenceEndEvent):
            rows.append(self.row(len(rows), event))
        self.meaning = frame
        return rows, rows[-1].end if shape is Shape.BLOCK else self.end_of(event)

    def row(self, index: int, event: Any) -> RowText:
        self.meaning = []
        self.trouble = None
        self.repeated = 0
        mark = event.start_mark
        after = event.end_mark
        if isinstance(event, yaml.AliasEvent):
            self.refuse("it is an alias", event)
        if isinstance(event, yaml.ScalarEvent | yaml.SequenceStartEvent):
            self.refuse("it is not a mapping", event)
        elif (
            isinstance(event, yaml.MappingStartEvent)
            and event.flow_style
            and mark.index == after.index
        ):
            self.refuse("it is a pair without braces", event)
        data = self.read(event)
        reason, line, column = self.trouble or (None, 0, 0)
        return RowText(
            index,
            data if isinstance(data, dict) else None,
            mark.line + 1,
            mark.column + 1,
            mark.index + self.shift,
            self.end_of(self.last),
            reason,
            line,
            column,
            bool(getattr(event, "flow_style", False)),
            getattr(self.last, "style", None) in ("|", ">"),
            tuple(self.meaning),
        )

    def read(self, event: Any) -> object:
        kind = event.__class__
        if kind is yaml.ScalarEvent:
            return self.scalar(event)
        if kind is yaml.AliasEvent:
            return self.alias(event)
        if kind is yaml.MappingStartEvent:
            return self.with_properties(event, self.mapping)
        return self.with_properties(event, self.sequence)

    def alias(self, event: Any) -> object:
        """Return what the alias stands for. Its meaning has the digest of that, so that no edit of
        an anchored value goes unseen where the value is repeated."""
        self.last = event
        self.aliased = True
        if event.anchor not in self.anchors:
            mark = event.start_mark
            after = event.end_mark
            place = mark.index + self.shift, after.index + self.shift
            raise Undefined(event.anchor, mark.line + 1, mark.column + 1, *place)
        anchored = self.anchors[event.anchor]
        if anchored is None:
            self.meaning.append("*" + event.anchor)
            self.refuse("it contains itself", event)
            return None
        self.meaning.append(f"*{event.anchor} {anchored.digest}")
        self.repeated += anchored.size
        if self.repeated > MOST_BY_ALIASES:
            self.refuse("its aliases expand to too many values", event)
        if anchored.trouble:
            self.refuse(anchored.trouble, event)
        return anchored.value

    def with_properties(self, event: Any, inside: Callable[[Any], object]) -> object:
        """Read a value with its anchor and its tag, if it has them."""
        if event.anchor is None:
            if event.tag is not None:
                self.note_tag(event)
            return inside(event)
        outer = self.trouble
        self.trouble = None
        repeated = self.repeated
        self.repeated = 0
        begin = len(self.meaning)
        self.open_anchor(event)
        if event.tag is not None:
            self.note_tag(event)
        value = inside(event)
        size = min(len(self.meaning) - begin + self.repeated, MOST_BY_ALIASES + 1)
        self.repeated += repeated
        reason = self.trouble[0] if self.trouble else None
        digest = hash(tuple(self.meaning[begin:]))
        self.anchors[event.anchor] = _Anchored(value, digest, size, reason)
        self.trouble = outer or self.trouble
        return value

    def open_anchor(self, event: Any) -> None:
        if event.anchor in self.anchors:
            raise _at_event(f"the anchor {event.anchor!r} appears twice", event)
        self.anchors[event.anchor] = None
        self.meaning.append("&" + event.anchor)

    def scalar(self, event: Any) -> object:
        self.last = event
        if event.anchor is not None or event.tag is not None:
            return self.with_properties(event, self.leaf)
        return self.leaf(event)

    def leaf(self, event: Any) -> object:
        text: str = event.value
        if not event.implicit[0]:
            self.meaning.append('"' + text)
            return text
        self.meaning.append("=" + text)
        try:
            return plain_value(text)
        except NO_VALUE:
            self.refuse(f"the value {text[:40]!r} cannot be read", event)
            return text

    def sequence(self, _start: Any) -> list[object]:
        self.meaning.append("[")
        result = []
        while (event := self.next()).__class__ is not yaml.SequenceEndEvent:
            result.append(self.read(event))
        self.close(event, "]")
        return result

    def mapping(self, _start: Any) -> dict[Any, object]:
        self.meaning.append("{")
        result: dict[Any, object] = {}
        merged: dict[Any, object] | None = None
        following = self.next
        scalar_of = self.scalar
        leaf = yaml.ScalarEvent
        while (event := following()).__class__ is not yaml.MappingEndEvent:
            scalar = event.__class__ is leaf
            if scalar and event.value == MERGE_KEY and event.implicit[0]:
                if merged is not None:
                    self.linked = True
                    self.refuse(f"the key {MERGE_KEY!r} appears twice", event)
                merged = self.merge(event)
                continue
            key = scalar_of(event) if scalar else self.read(event)
            entry = following()
            if entry.__class__ is leaf:
                value = scalar_of(entry)
            else:
                value = self.read(entry)
            if not scalar:
                self.refuse("there is a key in it that is no plain text", event)
            elif key in result:
                self.refuse(f"the key {key!r} appears twice", event)
            if scalar:
                result[key] = value
        self.close(event, "}")
        return result if merged is None else merged | result

    def merge(self, key: Any) -> dict[Any, object]:
        """Return the keys that come by a merge key; of several mappings the first one counts."""
        self.meaning.append("=" + MERGE_KEY)
        event = self.next()
        value = self.read(event)
        mappings = value if isinstance(value, list) else [value]
        merged: dict[Any, object] = {}
        for each in reversed(mappings):
            if isinstance(each, dict):
                merged.update(each)
            else:
                self.linked = True
                self.refuse("there is a merge key in it without a mapping", key)
        return merged

    def close(self, event: Any, sign: str) -> None:
        self.meaning.append(sign)
        # A bracket; the end of a block collection has no position of its own.
        if event.end_mark.index > event.start_mark.index:
            self.last = event

    def note_tag(self, event: Any) -> None:
        self.linked = True
        self.meaning.append("!" + event.tag)
        self.refuse("there is a tag in it", event)

    def refuse(self, reason: str, event: Any) -> None:
        mark = event.start_mark
        self.trouble = self.trouble or (reason, mark.line + 1, mark.column + 1)

    def end_of(self, event: Any) -> int:
        start = event.start_mark.index + self.shift
        end = event.end_mark.index + self.shift
        return real_end(self.text, start, end, getattr(event, "style", None))


def _with_linked_data(document: Document, body: str) -> Document:
    """Let the loader resolve the rows that have tags, row by row: a bad row must not affect
    others."""
    top: Any = yaml.compose(body, Loader=LOADER)
    items = next(value.value for key, value in top.value if key.value == LIST_KEY)
    rows = tuple(
        _resolved(row, node) if row.trouble else row
        for row, node in zip(document.rows, items, strict=False)
    )
    return replace(document, rows=rows)


def _resolved(row: RowText, node: Any) -> RowText:
    try:
        data = yaml.constructor.SafeConstructor().construct_document(node)
    except NO_VALUE:
        return row
    return replace(row, data=data if isinstance(data, dict) else None)


def _at_event(reason: str, event: Any) -> Malformed:
    return Malformed(reason, event.start_mark.line + 1, event.start_mark.column + 1)


def _at(body: str, position: int, reason: str) -> Malformed:
    start = line_start(body, position)
    return Malformed(reason, lines_before(body, start) + 1, position - start + 1)
