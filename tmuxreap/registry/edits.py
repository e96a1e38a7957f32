"""Edits fields and rows in the registry's text and leaves every other byte unchanged.

Every edit parses its own result before returning it: it must contain what was asked for, and
everything else must still mean the same. Knows no field's purpose, and never touches a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from tmuxreap.core.errors import Code, Failure
from tmuxreap.registry.yaml.parse import (
    LIST_KEY,
    Document,
    Malformed,
    RowText,
    Shape,
    Trouble,
    Undefined,
    parse,
)
from tmuxreap.registry.yaml.scalars import (
    BREAKS,
    Value,
    after_break,
    as_loaded,
    entry,
    find_colon,
    line_end,
    line_start,
    lines_before,
    newline_at,
    newline_of,
    same,
    skip_gap,
    written,
)
from tmuxreap.registry.yaml.splice import (
    CannotSplice,
    Changes,
    Splice,
    changed,
    cut_from_flow,
    inserted,
    spliced,
)


class Unsafe(Trouble):
    """The text cannot be edited here without changing, or risking, something else. It is about one
    row, and caught per target."""

    def __init__(self, reason: str, line: int, column: int, index: int | None = None) -> None:
        super().__init__(reason, line, column)
        self.index = index

    def failure(self, path: Path) -> Failure:
        place = f"could not edit the registry {path}: line {self.line}, column {self.column}"
        if "surrogate" in self.reason:  # undecodable bytes of a file name
            reason = f"{place}: a word for it is not UTF-8, and the registry is"
            hint = "give it in UTF-8, or rename that folder, then try again"
            return Failure(Code.REGISTRY_UNWRITABLE, reason, hint)
        hint = (
            "write that row plainly (keys before their colons on one line, no tags, and no anchor"
            " on a value that other rows repeat), then try again"
        )
        return Failure(Code.ROW_INVALID, f"{place}: {self.reason}", hint)


def new_document() -> str:
    return (
        "# AI coding agents in tmux, one item a session. Written by tmuxreap and by hand:\n"
        "# comments, order and fields that tmuxreap does not know are kept.\n"
        f"{LIST_KEY}: []\n"
    )


def warm_up() -> None:
    """Make a trial edit, so that imports and compiled patterns are ready before time matters."""
    once = add_row(parse(new_document()), {"name": "a", "status": "running"})
    stopped: Changes = {("status",): "stopped", ("last_visible_status",): "a line\nanother"}
    edit_rows(parse(once), {0: stopped})


def edit_rows(document: Document, edits: Mapping[int, Changes]) -> str:
    """Make all edits or none; `Unsafe.index` is the row that prevents it."""
    try:
        return _edited(document, edits)
    except Unsafe:
        if not document.aliased:
            raise
    return _edited(document, edits, apart=True)


def _edited(document: Document, edits: Mapping[int, Changes], *, apart: bool = False) -> str:
    """Make the edits. `apart`: what they change inside of a value with an anchor becomes a value of
    its own, as other places may repeat that value."""
    all_splices = []
    wanted = list[RowText | object](document.rows)
    for index, changes in edits.items():
        row = document.rows[index]
        if row.trouble is not None or row.data is None:
            reason = row.trouble or "it is not a mapping"
            raise Unsafe(reason, row.trouble_line, row.trouble_column, index)
        splices, data = _edit_row(document, row, changes, apart)
        all_splices += splices
        wanted[index] = data
    if not all_splices:
        return document.text
    try:
        return _checked(document, spliced(document.text, all_splices), wanted)
    except Unsafe as refusal:
        if refusal.index in edits:
            raise
        # Find out which row it is: a single edit raises with its own index.
        for index, changes in edits.items() if len(edits) > 1 else ():
            _edited(document, {index: changes}, apart=apart)
        row = document.rows[next(iter(edits))]
        raise Unsafe(refusal.reason, row.line, row.column, row.index) from refusal


def add_row(document: Document, row: Mapping[str, Value]) -> str:
    where = document.list
    try:
        if where.shape is Shape.BLOCK:
            splices = [_add_below(document, row)]
        elif where.in_flow or document.rows or _inside(document).strip(" \t"):
            splices = _add_in_flow(document, row)
        else:
            splices = _add_first(document, row)
        text = spliced(document.text, splices)
    except CannotSplice as reason:
        raise _unsafe(document.text, reason.reason, reason.position, len(document.rows)) from reason
    try:
        return _checked(document, text, [*document.rows, as_loaded(row)])
    except Unsafe as refusal:
        last = document.rows[-1] if document.rows else None
        if last and last.ends_in_block and last.end == len(document.text):
            advice = "the file ends inside a block scalar without a line break; give it one"
            raise Unsafe(advice, last.line, last.column, last.index) from refusal
        raise


def remove_rows(document: Document, *indices: int) -> str:
    """Remove rows in one edit; several of a list in braces are refused."""
    gone = frozenset(indices)
    rows = [document.rows[index] for index in sorted(gone)]
    try:
        if document.list.shape is not Shape.FLOW:
            splices = _cut_lines(document, rows)
        elif len(rows) == 1:
            spans = [(each.start, each.end) for each in document.rows]
            splices = cut_from_flow(document.text, spans, rows[0].index)
        else:
            raise CannotSplice("several rows of a list in braces", rows[0].start)
        text = spliced(document.text, splices)
    except CannotSplice as reason:
        index = rows[0].index if len(rows) == 1 else None
        raise _unsafe(document.text, reason.reason, reason.position, index) from reason
    return _checked(document, text, [each for each in document.rows if each.index not in gone])


def _edit_row(
    document: Document, row: RowText, changes: Changes, apart: bool
) -> tuple[list[Splice], object]:
    """Edit the row's text on its own, with spaces in place of what precedes it on its line."""
    text = document.text
    in_flow = document.list.shape is Shape.FLOW
    if in_flow:
        end = row.end
    else:
        end = after_break(text, line_end(text, row.end))
    indent = " " * (row.column - 1)
    before = indent + text[row.start : end]
    try:
        newline = newline_at(text, row.end, newline_of(text))
        after, data = changed(before, row.data or {}, changes, newline, apart=apart)
    except CannotSplice as reason:
        position = row.start + max(reason.position - len(indent), 0)
        raise _unsafe(text, reason.reason, position, row.index) from reason
    if after == before:
        return [], data
    return [Splice(row.start, end, after[len(indent) :])], data


def _checked(document: Document, text: str, wanted: Sequence[RowText | object]) -> str:
    """Return the text if it means what is wanted: each RowText as before, anything else as that
    data."""
    edited = text
    try:
        text = _with_values_moved(document, edited)
        result = parse(text)
    except Undefined as error:
        reason = f"another place repeats a value of it ({error.reason})"
        raise Unsafe(reason, error.line, error.column) from error
    except Malformed as error:
        reason = f"the edited text would be no registry: {error.reason}"
        raise Unsafe(reason, error.line, error.column) from error
    if result.frame != document.frame or len(result.rows) != len(wanted):
        raise Unsafe("the edit would change text around the rows", 1, 1)
    for row, want in zip(result.rows, wanted, strict=True):
        if isinstance(want, RowText):
            kept = row.meaning == want.meaning or (text != edited and _reads_the_same(row, want))
        else:
            kept = row.trouble is None and same(row.data, want)
        if not kept:
            reason = "the edited row would not read as asked for"
            raise Unsafe(reason, row.line, row.column, row.index)
    return text


def _with_values_moved(document: Document, text: str) -> str:
    """Write each value that went with its anchor where it was repeated first; raise Undefined for
    one that cannot be written there."""
    while True:
        try:
            parse(text)
        except Undefined as lost:
            try:
                value = written(cast(Value, document.anchored[lost.anchor]))
            except (KeyError, TypeError):  # there are values in it that are not plain, as dates are
                raise lost from None
            text = spliced(text, [Splice(lost.start, lost.end, f"&{lost.anchor} {value}")])
        else:
            return text


def _reads_the_same(row: RowText, before: RowText) -> bool:
    plain = row.trouble is None and before.trouble is None
    return plain and same(row.data, before.data)


def _unsafe(text: str, reason: str, position: int, index: int | None) -> Unsafe:
    column = position - line_start(text, position) + 1
    return Unsafe(reason, lines_before(text, position) + 1, column, index)


def _colon(document: Document) -> int:
    colon = find_colon(document.text, document.list.key_end)
    if colon is None:
        reason = f"`{LIST_KEY}` is not followed by a colon on the same line"
        raise CannotSplice(reason, document.list.key_start)
    return colon


def _inside(document: Document) -> str:
    """Return what is between the brackets of a flow list."""
    return document.text[document.list.start + 1 : document.list.end - 1]


def _item(row: Mapping[str, Value], column: int, offset: int, newline: str) -> str:
    lines = [entry(key, value, column + offset, newline) for key, value in row.items()] or ["{}"]
    return " " * column + "-" + " " * (offset - 1) + (newline + " " * (column + offset)).join(lines)


def _add_first(document: Document, row: Mapping[str, Value]) -> list[Splice]:
    text = document.text
    where = document.list
    colon = _colon(document)
    newline = newline_at(text, where.key_end, newline_of(text))
    column = len(text[line_start(text, where.key_start) : where.key_start].lstrip("\ufeff"))
    start = colon + 1
    end = colon + 1
    if where.start < where.end:
        start = where.start
        end = where.end
    if not text[colon + 1 : start].strip(" "):
        start = colon + 1
    item = inserted(line_end(text, end), newline + _item(row, column + 2, 2, newline))
    return [Splice(start, end, ""), item]


def _add_below(document: Document, row: Mapping[str, Value]) -> Splice:
    text = document.text
    last = document.rows[-1]
    column = document.list.column
    newline = newline_at(text, last.end, newline_of(text))
    dash = _dash(document, last)
    alike = not last.flow and last.meaning[0] == "{" and not text[dash + 1 : last.start].strip(" ")
    if alike and last.start > dash:
        offset = len(text[dash : last.start])
    else:
        offset = 2
    above = text[: line_start(text, dash)].splitlines()[-1:]
    spaced = last.index and above and not above[0].strip() and not last.ends_in_block
    added = (newline if spaced else "") + _item(row, column, offset, newline)
    end = _own_end(text, last, column)
    below = after_break(text, end)  # the line above keeps its line break
    return inserted(below, added + newline if below > end else newline + added)


def _add_in_flow(document: Document, row: Mapping[str, Value]) -> list[Splice]:
    text = document.text
    where = document.list
    if document.rows:
        last = document.rows[-1]
        own_line = text[line_start(text, last.start) : last.start]
        newline = newline_at(text, last.end, newline_of(text))
        between = " " if own_line.strip() else newline + own_line
        return [inserted(last.end, "," + between + written(row))]
    if where.shape is Shape.FLOW:
        return [inserted(where.start + 1, written(row))]
    if where.start < where.end:
        return [Splice(where.start, where.end, f"[{written(row)}]")]
    return [inserted(_colon(document) + 1, f" [{written(row)}]")]


def _cut_lines(document: Document, rows: Sequence[RowText]) -> list[Splice]:
    cuts = [_lines_of(document, row) for row in rows]
    if len(document.rows) > len(rows):
        return cuts
    colon = _colon(document)
    return [inserted(colon + 1, " []"), *cuts]


def _lines_of(document: Document, row: RowText) -> Splice:
    text = document.text
    dash = _dash(document, row)
    start = line_start(text, dash)
    end = _own_end(text, row, document.list.column)
    if text[start:dash].strip(" "):
        raise CannotSplice("there is text before its dash", dash)
    return Splice(start, after_break(text, end), "")


def row_starts(document: Document) -> list[int] | None:
    """Return where each row's lines begin; None if any row does not begin with its dash alone."""
    text = document.text
    column = document.list.column
    if document.list.shape is not Shape.BLOCK:
        return None
    try:
        starts = [_dash(document, row) - column for row in document.rows]
    except CannotSplice:
        return None
    for start in starts:
        if start <= 0 or text[start - 1] not in BREAKS or text[start : start + column].strip(" "):
            return None
    return starts


def _dash(document: Document, row: RowText) -> int:
    if row.index == 0:
        return document.list.start
    dash = skip_gap(document.text, document.rows[row.index - 1].end)
    if document.text[dash : dash + 1] != "-":
        raise CannotSplice("its dash was not found", row.start)
    return dash


def _own_end(text: str, row: RowText, column: int) -> int:
    """Return the end of a row's last line, including the comments right below that are indented
    deeper than its dash."""
    end = line_end(text, row.end)
    while (start := after_break(text, end)) > end:
        stop = line_end(text, start)
        line = text[start:stop]
        if not line.lstrip(" ").startswith("#") or len(line) - len(line.lstrip(" ")) <= column:
            break
        end = stop
    return end
