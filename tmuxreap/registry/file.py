"""The registry file: read, and changed under its lock; and a look at it: its rows, and its text
with an edit of them. Never writes it partially, and never dumps it.

It is the source of truth: to change it, callers read it again under the lock first."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tmuxreap.core.cache import CacheEntry, Recall, cache_stamp
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.faults import Step
from tmuxreap.core.model import Row
from tmuxreap.registry import excerpts as kept
from tmuxreap.registry.excerpts import CachedRows, EditedText, Excerpt
from tmuxreap.registry.rows import (
    FOLDER,
    BadRow,
    cached_row,
    invalid,
    read_row,
    row_invalid,
    unwritable,
)
from tmuxreap.registry.targets import AnyRow
from tmuxreap.registry.transitions import Changes
from tmuxreap.system import files
from tmuxreap.system.files import ChangedMeanwhile, Content
from tmuxreap.system.whereabouts import ledger_beside

if TYPE_CHECKING:
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
                raise error.failure(look.path) from None
            refused[name] = error.failure(look.path)
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
        raise error.failure(look.path) from None


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


SPARE_BYTES = 64 * 1024  # bytes for new fields and screens, in the registry and the ledger


class RegistryFile:
    def __init__(self, path: Path, recall: Recall = lambda what, stamp: None) -> None:
        self.path = path
        self.resolved = Path(os.path.realpath(path))
        self._recall = recall
        self._last: RegistryLook | None = None  # valid while the file is unchanged

    def look(self) -> RegistryLook:
        content = self._read()
        try:
            return self._look_at(content)
        except Failure as failure:
            return self._look_again(content, failure)

    def _look_again(self, content: Content, failure: Failure) -> RegistryLook:
        """Read again what was written just now: who writes in place leaves the file empty or torn
        for a moment."""
        for _ in files.while_it_settles(self.resolved):
            later = self._read()
            if later == content:
                continue
            content = later
            try:
                return self._look_at(content)
            except Failure as again:
                failure = again
        raise failure

    def _look_at(self, content: Content) -> RegistryLook:
        if self._last is not None and self._last.content == content:
            return self._last
        known = kept.recall(self._recall, stamp_of(content))
        look = RegistryLook(self.path, content, known)
        if known is None:
            _ = look.document  # report a malformed file now
        self._last = look
        return look

    @contextlib.contextmanager
    def locked(self, step: Step = Step.LOCK) -> Iterator[None]:
        """Hold the lock: what is read inside cannot change, except by writers that ignore it. The
        thread that holds it already takes it once more."""
        from tmuxreap.system.lock import locked  # late: most commands only read

        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(locked(self.resolved, step))
            except OSError as error:
                raise unwritable(self.path, error) from None
            yield

    def check_writable(self) -> None:
        """Fail before the first key is sent rather than after the last."""
        places = {
            self.resolved.parent: "its folder cannot be written",
            self.resolved: "it is write-protected",
        }
        for place, reason in places.items():
            if not os.access(place, os.W_OK):
                raise unwritable(self.path, PermissionError(errno.EACCES, reason))

    def check_space(self, look: RegistryLook) -> None:
        """Check, by a trial, for room for one more copy of it, with what an ending adds."""
        try:
            files.check_space(self.resolved, len(look.content.data) + SPARE_BYTES)
        except OSError as error:
            raise unwritable(self.path, error) from None

    @property
    def is_ours(self) -> bool:
        """Whether it is our user's: a read must leave no files in another user's folder."""
        try:
            owner = self.resolved.stat().st_uid
        except OSError:  # deleted since it was read
            return False
        return owner == os.getuid() and os.access(self.resolved.parent, os.W_OK)

    def is_unchanged_since(self, look: RegistryLook) -> bool:
        """Tell whether the file is unchanged since this look."""
        try:
            return files.stamp_of(self.resolved) == look.content.stamp
        except OSError:
            return False

    def replace(self, look: RegistryLook, text: str) -> RegistryLook:
        """Write an edit of this look, under the lock; raise ChangedMeanwhile if the file has
        changed."""
        data = text.encode("utf-8")
        if data == look.content.data:
            return look
        try:
            stamp, unsynced = files.replace(self.resolved, data, look.content.stamp)
        except OSError as error:
            raise unwritable(self.path, error) from None
        self._last = look.followed_by(text, Content(data, stamp), unsynced)
        return self._last

    def change(self, edit: Callable[[RegistryLook], str]) -> tuple[RegistryLook, RegistryLook]:
        """Lock, read again, edit, write; return the looks before and after. Retry once if another
        program wrote without the lock."""
        with self.locked(Step.WRITE_LOCK):
            for _ in range(2):
                before = self.look()
                self.check_writable()  # a rename ignores the file's own permissions
                with contextlib.suppress(ChangedMeanwhile):
                    return before, self.replace(before, edit(before))
        raise Failure(
            Code.REGISTRY_UNWRITABLE,
            f"could not write the registry {self.path}: another program changes it without the"
            " lock",
            f"make that program take the lock {self.resolved}.lock, then run: tmuxreap reconcile",
        )

    def left_by_dead(self, identify: Callable[[int], object | None]) -> list[Path]:
        """Return the temporary files of the registry and its ledger whose writers were killed."""
        ledger = Path(ledger_beside(str(self.resolved)))
        found = [*files.temporary_files(self.resolved), *files.temporary_files(ledger)]
        return [path for path, pid in found if identify(pid) is None]

    def create(self) -> None:
        """Create an empty registry unless it exists."""
        from tmuxreap.registry import edits

        try:
            files.create(self.resolved, edits.new_document().encode(), files.PRIVATE)
        except FileExistsError:
            return
        except OSError as error:
            raise unwritable(self.path, error) from None

    def _read(self) -> Content:
        try:
            return files.read(self.resolved)
        except FileNotFoundError:
            reason = "there is no such file"
            if self.path.is_symlink():
                reason = f"it is a link to {self.resolved}, and nothing is there"
            raise Failure(
                Code.REGISTRY_NOT_FOUND,
                f"could not read the registry {self.path}: {reason}",
                "check the path, or create one with: tmuxreap start NAME --agent AGENT",
            ) from None
        except (IsADirectoryError, NotADirectoryError):
            raise invalid(self.path, FOLDER, 0, 0) from None
        except PermissionError:
            raise Failure(
                Code.PERMISSION_DENIED,
                f"could not read the registry {self.path}: permission denied",
                f"see who may: ls -l {self.resolved}",
            ) from None
        except OSError as error:
            if error.errno == errno.EFBIG:
                hint = f"see what fills it: head -c 1000 {shlex.quote(str(self.resolved))}"
            else:
                hint = "check the file and its disk"
            raise Failure(
                Code.REGISTRY_INVALID,
                f"could not read the registry {self.path}: {error.strerror}",
                hint,
            ) from None
