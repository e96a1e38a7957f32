"""A snapshot of the registry: its rows, and the text with an edit of them. Never reads or writes a
file, and never dumps a document."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tmuxreap.core.cache import CacheEntry, cache_stamp
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import Row
from tmuxreap.registry import excerpts as kept
from tmuxreap.registry.excerpts import CachedRows, EditedText, Excerpt
from tmuxreap.registry.rows import BadRow, cached_row, invalid, read_row, row_invalid, unsafe
from tmuxreap.registry.targets import AnyRow
from tmuxreap.registry.transitions import Changes
from tmuxreap.system.files import Content

if TYPE_CHECKING:  # at runtime imported late, as they load YAML
    from tmuxreap.registry.yaml.parse import Document, RowText
    from tmuxreap.registry.yaml.scalars import Value

_WITHOUT_COLON = rb"(?:^|[{,\[-])[ \t]*\?(?:\s|$)|^[ \t]*:"
_LINKED = rb"(?:^|[\s{,\[:-])[&*][\w-]|<<"  # what may be an anchor, an alias or a merge key
_MAY_BE_REFUSED = rb"(?m)" + _WITHOUT_COLON + b"|" + _LINKED
MANY_ROWS = 100  # from here on parsing takes noticeable time
Place = Callable[[int], int]  # where a row of the registry is in the text that is edited


class RegistryLook:
    """A snapshot of the registry. `known`: the cached rows of exactly this content."""

    def __init__(
        self,
        path: Path,
        content: Content,
        known: CachedRows | None = None,
        unsynced: OSError | None = None,
    ) -> None:
        self.path = path
        self.content = content
        self._known = known
        self._changes: dict[str, EditedText] = {}  # by the resulting text
        self._edited: tuple[Mapping[int, Changes], str] | None = None  # the last edit
        self.unsynced = unsynced  # why a power failure could undo the last write
        # The change that produced it, if only a part was parsed again; and the digest before it.
        self.change: EditedText | None = None
        self.base: str | None = None

    @cached_property
    def text(self) -> str:
        data = self.content.data
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise invalid(self.path, "it is not UTF-8 text", line, 1) from None

    @cached_property
    def digest(self) -> str:
        return self.content.digest

    @cached_property
    def document(self) -> Document:
        """The parsed text with the rows' positions, which edits need."""
        from tmuxreap.registry.yaml.parse import Malformed, parse

        try:
            return parse(self.text)
        except Malformed as error:
            raise invalid(self.path, error.reason, error.line, error.column) from None

    @cached_property
    def rows(self) -> tuple[AnyRow, ...]:
        if self._known is not None:
            return tuple(cached_row(index, data) for index, data in enumerate(self._known.rows))
        names = list(map(_name_of, self.document.rows))
        counts = Counter(names)
        rows = zip(self.document.rows, names, strict=True)
        return tuple([_row(row, name, counts[name]) for row, name in rows])

    @cached_property
    def usable(self) -> tuple[Row, ...]:
        """The rows that can be read and edited safely."""
        return tuple(row for row in self.rows if isinstance(row, Row))

    def differing(self, other: RegistryLook) -> set[str]:
        """Return the names of rows that differ, or exist in only one of the two."""
        then = {row.name: row.data for row in self.usable}
        now = {row.name: row.data for row in other.usable}
        found: set[str] = set()
        for name in then.keys() | now.keys():
            if then.get(name) != now.get(name):
                found.add(name)
        return found

    @property
    def warnings(self) -> tuple[str, ...]:
        """For each unusable row, the reason."""
        bad = [row for row in self.rows if not isinstance(row, Row)]
        return tuple(row_invalid(self.path, row).message for row in bad)

    @property
    def was_slow(self) -> bool:
        return self._known is None and len(self.rows) >= MANY_ROWS

    @property
    def cache_entries(self) -> list[CacheEntry]:
        """The cache entries for the next look; none if a row is unusable."""
        if self._known is None and len(self.usable) == len(self.rows):
            self._known = kept.of_document(self.document)
        if self._known:
            return kept.cache_entries(self._known, stamp_of(self.content))
        return []

    @cached_property
    def _by_name(self) -> Mapping[str, Row]:
        return {row.name: row for row in self.usable}  # rows with a duplicate name are unusable

    def named(self, name: str) -> Row | None:
        return self._by_name.get(name)

    def bad_row(self, name: str) -> BadRow | None:
        """Find the bad row that may have this name: then the row must not be taken for gone."""
        bad = []
        for row in self.rows:
            if isinstance(row, BadRow) and row.name in (None, name):
                bad.append(row)
        return max(bad, key=lambda row: row.name == name, default=None)

    def text_of(self, row: Row) -> str:
        """Return the row's exact text in the file: the before-image of a change."""
        whole = "document" in vars(self)  # already parsed: cheaper than an excerpt for each row
        excerpt = None if whole else self._excerpt([row.index])
        if excerpt is None:
            document = self.document
        else:
            document = excerpt.document
        span = document.rows[row.index if excerpt is None else excerpt.place(row.index)]
        return document.text[span.start : span.end]

    def prepare_edit(self, names: Collection[str]) -> None:
        """Parse what an edit of these rows will need, before time matters."""
        if self._excerpt([row.index for row in self.usable if row.name in names]) is None:
            _ = self.document
        _ = self.digest

    # Edits: in a large registry, only the rows around the changed ones are parsed again.

    def edited(self, changes: Mapping[int, Changes]) -> str:
        """Return the text with these fields of these rows changed. The last edit is kept: one that
        was tried before the lock is not made again under it."""
        from tmuxreap.registry import edits

        def edit(document: Document, place: Place) -> str:
            moved = {place(index): fields for index, fields in changes.items()}
            return edits.edit_rows(document, moved)

        if self._edited is None or self._edited[0] != changes:
            self._edited = changes, self._edit(edit, changed=changes)
        return self._edited[1]

    def without(self, *indices: int) -> str:
        from tmuxreap.registry import edits

        def edit(document: Document, place: Place) -> str:
            return edits.remove_rows(document, *map(place, indices))

        return self._edit(edit, gone=indices)

    def with_row(self, row: Mapping[str, Value]) -> str:
        from tmuxreap.registry import edits

        def edit(document: Document, _place: Place) -> str:
            return edits.add_row(document, row)

        return self._edit(edit, added=True)

    def _edit(
        self,
        edit: Callable[[Document, Place], str],
        *,
        changed: Collection[int] = (),
        gone: Collection[int] = (),
        added: bool = False,
    ) -> str:
        """Make the edit in an excerpt. Otherwise parse the whole text, also for a proper error."""
        excerpt = self._excerpt([*changed, *gone])
        if excerpt is not None:
            with contextlib.suppress(ValueError):
                after = edit(excerpt.document, excerpt.place)
                change = excerpt.applied(after, changed, gone, added)
                if change and all(self._is_usable(change, index) for index in change.rows):
                    self._changes[change.text] = change
                    return change.text
        return edit(self.document, lambda index: index)

    def _is_usable(self, change: EditedText, index: int) -> bool:
        """Tell whether a changed row is readable and its name unique."""
        try:
            same_name = self.named(read_row(index, change.kept.rows[index]).name)
        except ValueError:
            return False
        return same_name is None or same_name.index == index

    def _excerpt(self, indices: Iterable[int]) -> Excerpt | None:
        if self._known is None:
            return None
        excerpt = Excerpt(self._known, self.text, indices)
        with contextlib.suppress(ValueError):
            if excerpt.is_worth_it and excerpt.matches_text:
                return excerpt
        return None

    def followed_by(self, text: str, content: Content, unsynced: OSError | None) -> RegistryLook:
        """Return the look at the text that was written in place of this one."""
        change = self._changes.get(text)
        if change is None:
            return RegistryLook(self.path, content, unsynced=unsynced)
        look = RegistryLook(self.path, content, change.kept, unsynced)
        look.change = change
        look.base = self.digest
        return look


def edited_where_safe(
    look: RegistryLook, changes: Mapping[str, Changes]
) -> tuple[str, dict[str, Failure]]:
    """Edit as `edited` does, but leave out the rows that cannot be edited safely, with their
    failures."""
    from tmuxreap.registry import edits

    wanted = dict(changes)
    refused: dict[str, Failure] = {}
    while True:
        try:
            return look.edited(_by_index(look, wanted)), refused
        except edits.Unsafe as error:
            name = next((row.name for row in look.rows if row.index == error.index), None)
            if name is None or name not in wanted:
                raise unsafe(look.path, error) from None
            refused[name] = unsafe(look.path, error)
            del wanted[name]


def not_editable(
    look: RegistryLook, changes: Callable[[Row], Changes], rows: Sequence[Row]
) -> dict[str, Failure]:
    """Find the rows that these changes could not be written into. The edit is tried only if a key
    has no colon on its line, or a value may stand for others: otherwise there are none."""
    if not re.search(_MAY_BE_REFUSED, look.content.data):
        return {}
    return edited_where_safe(look, {row.name: changes(row) for row in rows})[1]


def edited(look: RegistryLook, changes: Mapping[str, Changes]) -> str:
    """Return the registry's text with these fields of these rows changed; raise Failure for a row
    that cannot be edited safely."""
    from tmuxreap.registry import edits

    try:
        return look.edited(_by_index(look, changes))
    except edits.Unsafe as error:
        raise unsafe(look.path, error) from None


def stamp_of(content: Content) -> str:
    return cache_stamp(*content.marks)


def _by_index(look: RegistryLook, changes: Mapping[str, Changes]) -> dict[int, Changes]:
    return {row.index: changes[row.name] for row in look.usable if row.name in changes}


def _name_of(row: RowText) -> str | None:
    name = None
    if row.data is not None:
        name = row.data.get("name")
    return name if isinstance(name, str) else None


def _row(row: RowText, name: str | None, count: int) -> AnyRow:
    if row.data is None or row.trouble is not None:
        line = row.trouble_line or row.line
        column = row.trouble_column or row.column
        return BadRow(row.index, name, row.trouble or "it is not a mapping", line, column)
    if name is not None and count > 1:
        reason = f"the name {name!r} appears {count} times"
        return BadRow(row.index, name, reason, row.line, row.column)
    try:
        return read_row(row.index, row.data)
    except ValueError as error:
        return BadRow(row.index, name, str(error), row.line, row.column)
