"""The cached form of a parsed registry: its rows, and the length of each row's text. To edit a
large registry, only the changed rows and their neighbors are parsed again as YAML.

Never touches a file. Anything unusual is left to the caller, which then parses the whole text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from tmuxreap.core.cache import CacheEntry, Recall, cache_entry, cached_value
from tmuxreap.core.values import frozen

if TYPE_CHECKING:
    from tmuxreap.registry.yaml.parse import Document


READING = "rows"  # the key of the cache entry
MANY = 256  # rows in one piece: a change rewrites one or two pieces

RowData = dict[str, object]


@frozen
class Piece:
    """A block of rows as cached in the ledger. `stamp`: the registry's when one of them last
    changed; None: not cached yet."""

    number: int
    stamp: str | None
    count: int


@frozen
class CachedRows:
    """The rows of a registry. `head`: the length of the text above the first; `lengths`: those of
    the rows, up to the next dash or the end. Empty if a row does not begin on its own line, or an
    alias may repeat what an edit changes in another row."""

    head: int
    rows: Sequence[RowData]
    lengths: Sequence[int]
    pieces: tuple[Piece, ...]


@frozen
class EditedText:
    """The result of an edit: the text, its cached form, the new or changed rows, and the names that
    are gone."""

    text: str
    kept: CachedRows
    rows: tuple[int, ...]
    gone: tuple[str, ...] = ()


def recall(lookup: Recall, stamp: str) -> CachedRows | None:
    """Return the cached rows for that stamp of the file; None if any part is missing."""
    index = cached_value(lookup, READING, stamp)
    if index is None:
        return None
    pieces = tuple(Piece(*piece) for piece in index["pieces"])
    rows: list[RowData] = []
    lengths: list[int] = []
    for piece in pieces:
        part = cached_value(lookup, _name(piece), str(piece.stamp))
        if part is None:
            return None
        rows += part["rows"]
        lengths += part["lengths"]
    return CachedRows(index["head"], rows, lengths, pieces)


def cache_entries(cached: CachedRows, stamp: str) -> list[CacheEntry]:
    """Return the cache entries that the ledger lacks; none if a row would not round-trip."""
    entries: list[CacheEntry | None] = []
    stamped: list[tuple[int, str, int]] = []
    at = 0
    for piece in cached.pieces:
        stamped.append((piece.number, piece.stamp or stamp, piece.count))
        if piece.stamp is None:
            part = slice(at, at + piece.count)
            data = {"rows": list(cached.rows[part]), "lengths": list(cached.lengths[part])}
            entries.append(cache_entry(_name(piece), stamp, data))
        at += piece.count
    index = {"head": cached.head, "pieces": [list(piece) for piece in stamped]}
    entries.append(cache_entry(READING, stamp, index))
    complete = [reading for reading in entries if reading is not None]
    return complete if len(complete) == len(entries) else []


def _name(piece: Piece) -> str:
    return f"{READING}/{piece.number}"


def of_document(document: Document) -> CachedRows | None:
    """Build the cached form of a document; None if a row is unusable."""
    from tmuxreap.registry.edits import row_starts

    rows = []
    for row in document.rows:
        if row.data is not None and row.trouble is None:
            rows.append(row.data)
    if len(rows) != len(document.rows):
        return None
    starts = (None if document.aliased else row_starts(document)) or []
    ends = [*starts[1:], len(document.text)]
    lengths = [end - start for start, end in zip(starts, ends, strict=False)]
    counts = [len(rows[at : at + MANY]) for at in range(0, len(rows), MANY)]
    pieces = tuple(Piece(number, None, count) for number, count in enumerate(counts))
    return CachedRows(starts[0] if starts else 0, [dict(row) for row in rows], lengths, pieces)


class Excerpt:
    """The text without most of the unchanged rows; an edit of it can be applied to the whole.
    `indices`: the rows in it: the changed ones, their neighbors, and the first and last ones."""

    def __init__(self, cached: CachedRows, text: str, changed: Iterable[int]) -> None:
        count = len(cached.rows)
        near = {0, count - 2, count - 1}
        for index in changed:
            near |= {index - 1, index, index + 1}
        self.indices = sorted(index for index in near if 0 <= index < count)
        self._kept = cached
        self._text = text
        self._offsets = list(accumulate(cached.lengths, initial=cached.head))

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
    def matches_text(self) -> bool:
        """Whether the cached rows match the text."""
        kept_rows = [self._kept.rows[index] for index in self.indices]
        return (
            self._offsets[-1] == len(self._text)
            and [row.data for row in self.document.rows] == kept_rows
        )

    def place(self, index: int) -> int:
        return self.indices.index(index)

    def applied(
        self, after: str, changed: Collection[int], gone: Collection[int], added: bool
    ) -> EditedText | None:
        """Apply an edit of the excerpt to the whole: put the text of all other rows back in place.
        None if the whole must be parsed."""
        from tmuxreap.registry.edits import row_starts
        from tmuxreap.registry.yaml.parse import parse

        document = parse(after)
        before = self._kept
        starts = row_starts(document)
        new = [len(before.rows)] if added else []
        indices = [*(index for index in self.indices if index not in gone), *new]
        if starts is None or len(starts) != len(indices):
            return None
        lines = dict(zip(indices, pairwise([*starts, len(after)]), strict=True))
        rows = [*before.rows, *({} for _ in new)]
        lengths = [*before.lengths, *(0 for _ in new)]
        edited = sorted([*changed, *new])
        touched = set(edited)
        for row, (index, (start, end)) in zip(document.rows, lines.items(), strict=True):
            if lengths[index] != end - start:
                touched.add(index)
            lengths[index] = end - start
            if index in edited:
                if row.data is None:
                    return None
                rows[index] = dict(row.data)
        for index in sorted(gone, reverse=True):
            del rows[index], lengths[index]
        return EditedText(
            self._join(after, starts[0], lines),
            CachedRows(starts[0], rows, lengths, self._pieces(touched, gone, added)),
            tuple(edited),
            tuple(str(before.rows[index].get("name")) for index in gone),
        )

    def _join(self, after: str, head: int, lines: Mapping[int, tuple[int, int]]) -> str:
        parts = [after[:head]]
        behind = 0
        for index in self.indices:
            parts.append(self._text[self._offsets[behind] : self._offsets[index]])
            if index in lines:
                parts.append(after[slice(*lines[index])])
            behind = index + 1
        new = lines.get(len(self._kept.rows))
        return "".join([*parts, after[slice(*new)] if new else ""])

    def _pieces(
        self, touched: Collection[int], gone: Collection[int], added: bool
    ) -> tuple[Piece, ...]:
        pieces: list[Piece] = []
        at = 0
        for piece in self._kept.pieces:
            rows = range(at, at + piece.count)
            less = sum(index in rows for index in gone)
            same = not less and not any(index in rows for index in touched)
            pieces.append(Piece(piece.number, piece.stamp if same else None, piece.count - less))
            at = rows.stop
        if added and pieces[-1].count < 2 * MANY:
            pieces[-1] = Piece(pieces[-1].number, None, pieces[-1].count + 1)
        elif added:
            pieces.append(Piece(max(piece.number for piece in pieces) + 1, None, 1))
        return tuple(piece for piece in pieces if piece.count)
