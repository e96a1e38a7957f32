"""A registry that was read before: its rows as they were read, and how long the lines of each are.
Of many rows only those that change, and those around them, are read again as YAML.

Knows texts and rows, no file; whatever is unusual is left to those who read the whole text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from tmuxreap.core.cache import Reading, Recall, kept, recalled
from tmuxreap.core.values import frozen

if TYPE_CHECKING:
    from tmuxreap.registry.yaml.places import Document

READING = "rows"  # under another name than those that were kept whole
MANY = 256  # rows that are kept in one piece: a change writes one or two of these anew

RowData = dict[str, object]


@frozen
class Piece:
    """Some rows as they lie in the ledger. `stamp`: of the registry when one of them was changed
    last; None: they are still to be kept."""

    number: int
    stamp: str | None
    count: int


@frozen
class Kept:
    """`head` is what stands above the first row, `lengths` are those of the rows' lines, up to the
    next dash or the end of the text; none where a row does not begin with a line of its own."""

    head: int
    rows: Sequence[RowData]
    lengths: Sequence[int]
    pieces: tuple[Piece, ...]


@frozen
class Change:
    """What an edit came to: the text, what is to be kept of it, which rows are new or others, and
    who is gone."""

    text: str
    kept: Kept
    rows: tuple[int, ...]
    gone: tuple[str, ...] = ()


def recall(recaller: Recall, stamp: str) -> Kept | None:
    """None where nothing was kept of that state of the file, or not all of it is there."""
    found = recalled(recaller, READING, stamp)
    if found is None:
        return None
    pieces = tuple(Piece(*piece) for piece in found["pieces"])
    rows: list[RowData] = []
    lengths: list[int] = []
    for piece in pieces:
        part = recalled(recaller, _name(piece), str(piece.stamp))
        if part is None:
            return None
        rows += part["rows"]
        lengths += part["lengths"]
    return Kept(found["head"], rows, lengths, pieces)


def readings(one: Kept, stamp: str) -> list[Reading]:
    """What is not in the ledger yet; nothing where a row would come back as another."""
    found: list[Reading | None] = []
    stamped: list[tuple[int, str, int]] = []
    at = 0
    for piece in one.pieces:
        stamped.append((piece.number, piece.stamp or stamp, piece.count))
        if piece.stamp is None:
            part = slice(at, at + piece.count)
            data = {"rows": list(one.rows[part]), "lengths": list(one.lengths[part])}
            found.append(kept(_name(piece), stamp, data))
        at += piece.count
    found.append(kept(READING, stamp, {"head": one.head, "pieces": [list(one) for one in stamped]}))
    good = [reading for reading in found if reading is not None]
    return good if len(good) == len(found) else []


def _name(piece: Piece) -> str:
    return f"{READING}/{piece.number}"


def of_document(document: Document) -> Kept | None:
    """None where a row cannot be used."""
    from tmuxreap.registry.edits import row_starts

    rows = [row.data for row in document.rows if row.data is not None and row.trouble is None]
    if len(rows) != len(document.rows):
        return None
    starts = row_starts(document) or []
    ends = [*starts[1:], len(document.text)]
    lengths = [end - start for start, end in zip(starts, ends, strict=False)]
    counts = [len(rows[at : at + MANY]) for at in range(0, len(rows), MANY)]
    pieces = tuple(Piece(number, None, count) for number, count in enumerate(counts))
    return Kept(starts[0] if starts else 0, [dict(row) for row in rows], lengths, pieces)


class Excerpt:
    """The text without most of the rows that stay as they are: an edit of it is one of the whole.
    `indices`: of the rows that are in it; those around a row that changes are, and the last."""

    def __init__(self, one: Kept, text: str, wanted: Iterable[int]) -> None:
        count = len(one.rows)
        near = {0, count - 2, count - 1}
        for index in wanted:
            near |= {index - 1, index, index + 1}
        self.indices = sorted(index for index in near if 0 <= index < count)
        self._kept, self._text = one, text
        self._offsets = list(accumulate(one.lengths, initial=one.head))

    @property
    def is_worth_it(self) -> bool:
        count = len(self._kept.lengths)
        return count == len(self._kept.rows) and 2 * len(self.indices) <= count

    @cached_property
    def document(self) -> Document:
        from tmuxreap.registry.yaml.parse import parse

        at = self._offsets
        parts = [self._text[at[index] : at[index + 1]] for index in self.indices]
        return parse("".join([self._text[: self._kept.head], *parts]))

    @property
    def agrees(self) -> bool:
        """What was kept is what stands there."""
        kept_rows = [self._kept.rows[index] for index in self.indices]
        return (
            self._offsets[-1] == len(self._text)
            and [row.data for row in self.document.rows] == kept_rows
        )

    def place(self, index: int) -> int:
        return self.indices.index(index)

    def changed(self, after: str, edited: Collection[int]) -> Change | None:
        """Return the whole after these rows were edited in the excerpt; None: the whole is read."""
        return self._carried(after, self.indices, edited, None)

    def without(self, after: str, index: int) -> Change | None:
        left = [one for one in self.indices if one != index]
        return self._carried(after, left, (), index)

    def with_another(self, after: str) -> Change | None:
        new = len(self._kept.rows)
        return self._carried(after, [*self.indices, new], (new,), None)

    def _carried(
        self, after: str, indices: Sequence[int], edited: Collection[int], gone: int | None
    ) -> Change | None:
        """Put the lines of all other rows back into their places. `indices`: which rows, by their
        old numbers, the edited excerpt holds."""
        from tmuxreap.registry.edits import row_starts
        from tmuxreap.registry.yaml.parse import parse

        document, one = parse(after), self._kept
        starts = row_starts(document)
        if starts is None or len(starts) != len(indices):
            return None
        ends = [*starts[1:], len(after)]
        lines = dict(zip(indices, zip(starts, ends, strict=True), strict=True))
        news = dict(zip(indices, document.rows, strict=True))
        rows, lengths, touched = [*one.rows, {}], [*one.lengths, 0], set(edited)
        for index, (start, end) in lines.items():
            if lengths[index] != end - start:
                touched.add(index)
            lengths[index] = end - start
        for index in edited:
            data = news[index].data
            if data is None:
                return None
            rows[index] = dict(data)
        new = len(one.rows) in lines
        for index in [*([] if new else [len(one.rows)]), *([] if gone is None else [gone])]:
            del rows[index], lengths[index]
        kept_now = Kept(starts[0], rows, lengths, self._pieces(touched, gone, new))
        later = 0 if gone is None else gone
        return Change(
            self._whole(after, starts[0], lines),
            kept_now,
            tuple(index - (gone is not None and index > later) for index in sorted(edited)),
            () if gone is None else (str(one.rows[gone].get("name")),),
        )

    def _whole(self, after: str, head: int, lines: Mapping[int, tuple[int, int]]) -> str:
        parts, behind = [after[:head]], 0
        for index in self.indices:
            parts.append(self._text[self._offsets[behind] : self._offsets[index]])
            if index in lines:
                parts.append(after[slice(*lines[index])])
            behind = index + 1
        new = lines.get(len(self._kept.rows))
        return "".join([*parts, after[slice(*new)] if new else ""])

    def _pieces(self, touched: Collection[int], gone: int | None, new: bool) -> tuple[Piece, ...]:
        found, at = list[Piece](), 0
        for piece in self._kept.pieces:
            rows = range(at, at + piece.count)
            less = gone is not None and gone in rows
            same = not less and not any(index in rows for index in touched)
            found.append(Piece(piece.number, piece.stamp if same else None, piece.count - less))
            at = rows.stop
        if new and found[-1].count < 2 * MANY:
            found[-1] = Piece(found[-1].number, None, found[-1].count + 1)
        elif new:
            found.append(Piece(max(piece.number for piece in found) + 1, None, 1))
        return tuple(piece for piece in found if piece.count)
