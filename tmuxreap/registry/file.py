"""The registry file: parses its rows, and changes them under its lock. Never writes it partially,
and never dumps it.

It is the source of truth: to change it, callers read it again under the lock first."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tmuxreap.core.cache import CacheEntry, Recall, cache_stamp
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.faults import Step
from tmuxreap.core.model import BadRow, Row
from tmuxreap.core.values import frozen
from tmuxreap.registry import kept as kept
from tmuxreap.registry.kept import CachedRows, Change, Excerpt
from tmuxreap.registry.rows import cached_row, read_row
from tmuxreap.registry.targets import AnyRow
from tmuxreap.registry.transitions import Changes
from tmuxreap.system import files
from tmuxreap.system.files import ChangedMeanwhile, Content

if TYPE_CHECKING:
    from tmuxreap.registry import edits  # at runtime imported late, as it loads YAML

_WITHOUT_COLON = rb"(?m)(?:^|[{,\[-])[ \t]*\?(?:\s|$)|^[ \t]*:"
SPARE_BYTES = 64 * 1024  # bytes for new fields and screens, in the registry and the ledger
MANY_ROWS = 100  # from here on parsing takes noticeable time


class RegistryLook:
    """A snapshot of the registry. `known`: the cached rows of exactly this content. `written`: the
    change that produced it, and its base."""

    def __init__(
        self,
        path: Path,
        content: Content,
        known: CachedRows | None = None,
        unsynced: OSError | None = None,
        written: Written | None = None,
    ) -> None:
        self.path = path
        self.content = content
        self._known = known
        self._changes: dict[str, Change] = {}  # by the resulting text
        self._edited: tuple[Mapping[int, Changes], str] | None = None  # the last edit
        self._sound: set[str] = set()  # edited texts with the same rows, all of them usable
        self.unsynced = unsynced  # why a power failure could undo the last write
        self.written = written

    @cached_property
    def text(self) -> str:
        data = self.content.data
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise _invalid(self.path, "it is not UTF-8 text", line, 1) from None

    @cached_property
    def digest(self) -> str:
        return self.content.digest

    @cached_property
    def document(self) -> edits.Document:
        """The parsed text with the rows' positions, which edits need."""
        from tmuxreap.registry.yaml.parse import parse
        from tmuxreap.registry.yaml.places import Malformed

        try:
            return parse(self.text)
        except Malformed as error:
            raise _invalid(self.path, error.reason, error.line, error.column) from None

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
        return {name for name in then.keys() | now.keys() if then.get(name) != now.get(name)}

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
        return kept.cache_entries(self._known, _stamp(self.content)) if self._known else []

    @cached_property
    def _by_name(self) -> Mapping[str, Row]:
        return {row.name: row for row in self.usable}  # rows with a duplicate name are unusable

    def named(self, name: str) -> Row | None:
        return self._by_name.get(name)

    def bad_row(self, name: str) -> BadRow | None:
        """Find the bad row that may have this name: then the row must not be taken for gone."""
        bad = [row for row in self.rows if isinstance(row, BadRow) and row.name in (None, name)]
        return max(bad, key=lambda row: row.name == name, default=None)

    def text_of(self, row: Row) -> str:
        """Return the row's exact text in the file: the before-image of a change."""
        whole = "document" in vars(self)  # already parsed: cheaper than an excerpt for each row
        excerpt = None if whole else self._excerpt([row.index])
        document = self.document if excerpt is None else excerpt.document
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
        if self._edited is None or self._edited[0] != changes:
            self._edited = changes, self._edit(changes)
        return self._edited[1]

    def _edit(self, changes: Mapping[int, Changes]) -> str:
        from tmuxreap.registry import edits

        def edit(excerpt: Excerpt) -> Change | None:
            moved = {excerpt.place(index): fields for index, fields in changes.items()}
            return excerpt.changed(edits.edit_rows(excerpt.document, moved), changes)

        text = self._changed(changes, edit)
        if text is None:
            text = edits.edit_rows(self.document, changes)
            if len(self.usable) == len(self.rows):
                self._sound.add(text)
        return text

    def without(self, *indices: int) -> str:
        from tmuxreap.registry import edits

        if len(indices) > 1:
            return edits.remove_rows(self.document, indices)
        (index,) = indices

        def edit(excerpt: Excerpt) -> Change | None:
            after = edits.remove_row(excerpt.document, excerpt.place(index))
            return excerpt.without(after, index)

        return self._changed([index], edit) or edits.remove_row(self.document, index)

    def with_row(self, row: Mapping[str, edits.Value]) -> str:
        from tmuxreap.registry import edits

        def edit(excerpt: Excerpt) -> Change | None:
            return excerpt.with_another(edits.add_row(excerpt.document, row))

        return self._changed([], edit) or edits.add_row(self.document, row)

    def _changed(
        self, indices: Iterable[int], edit: Callable[[Excerpt], Change | None]
    ) -> str | None:
        """Edit an excerpt and return the whole text; None if the whole must be parsed, also for a
        proper error if it cannot be edited."""
        excerpt = self._excerpt(indices)
        change = None
        with contextlib.suppress(ValueError):
            change = None if excerpt is None else edit(excerpt)
        if change is None or not all(self._is_usable(change, index) for index in change.rows):
            return None
        self._changes[change.text] = change
        return change.text

    def _is_usable(self, change: Change, index: int) -> bool:
        """Tell whether a changed row is readable and its name unique."""
        try:
            name = read_row(index, change.kept.rows[index]).name
        except ValueError:
            return False
        if index < len(self.rows) and self.rows[index].name == name:
            return True
        return all(row.name != name for row in self.rows)

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
        if change is None and text in self._sound:
            from tmuxreap.registry import edits

            known = kept.of_document(edits.parse(text))
            return RegistryLook(self.path, content, known, unsynced)
        if change is None:
            return RegistryLook(self.path, content, unsynced=unsynced)
        written = Written(self.digest, change.rows, change.gone)
        return RegistryLook(self.path, content, change.kept, unsynced, written)


@frozen
class Written:
    """What changed since the registry with the digest `base`: new or changed rows, and names that
    are gone."""

    base: str
    rows: tuple[int, ...]
    gone: tuple[str, ...]


class Registry:
    def __init__(
        self, path: Path, recall: Recall = lambda what, stamp: None, *, held: bool = False
    ) -> None:
        """`held`: the caller already holds the lock."""
        self.path = path
        self._held = held
        self.resolved = Path(os.path.realpath(path))
        self._recall = recall
        self._last: RegistryLook | None = None  # valid while the file is unchanged

    def look(self) -> RegistryLook:
        content = self._read()
        if self._last is not None and self._last.content == content:
            return self._last
        known = kept.recall(self._recall, _stamp(content))
        look = RegistryLook(self.path, content, known)
        if known is None:
            _ = look.document  # report a malformed file now
        self._last = look
        return look

    @contextlib.contextmanager
    def locked(self, step: Step = Step.LOCK) -> Iterator[None]:
        """Hold the lock: what is read inside cannot change, except by writers that ignore it."""
        with contextlib.ExitStack() as stack:
            try:
                if not self._held:
                    stack.enter_context(files.locked(self.resolved, step=step))
            except OSError as error:
                raise _unwritable(self.path, error) from None
            yield

    def check_writable(self) -> None:
        """Fail before the first key is sent rather than after the last."""
        if not os.access(self.resolved.parent, os.W_OK):
            raise _unwritable(
                self.path, PermissionError(errno.EACCES, "its folder cannot be written")
            )
        if not os.access(self.resolved, os.W_OK):
            raise _unwritable(self.path, PermissionError(errno.EACCES, "it is write-protected"))

    def check_space(self, look: RegistryLook) -> None:
        """Check for room for one more copy of it, with what an ending adds."""
        try:
            files.check_space(self.resolved.parent, len(look.content.data) + SPARE_BYTES)
        except OSError as error:
            raise _unwritable(self.path, error) from None

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
            raise _unwritable(self.path, error) from None
        self._last = look.followed_by(text, Content(data, stamp), unsynced)
        return self._last

    def change(self, edit: Callable[[RegistryLook], str]) -> tuple[RegistryLook, RegistryLook]:
        """Lock, read again, edit, write; return the looks before and after. Retry once if another
        program wrote without the lock."""
        with self.locked(Step.WRITE_LOCK):
            for last in (False, True):
                before = self.look()
                self.check_writable()  # a rename ignores the file's own permissions
                try:
                    return before, self.replace(before, edit(before))
                except ChangedMeanwhile:
                    if last:
                        break
        raise Failure(
            Code.REGISTRY_UNWRITABLE,
            f"could not write the registry {self.path}: another program changes it without the"
            " lock",
            f"make that program take the lock {self.resolved}.lock, then run: tmuxreap reconcile",
        )

    def sweep(self, is_alive: Callable[[int], bool]) -> None:
        """Delete the temporary files of writers that were killed."""
        for path, pid in files.temporary_files(self.resolved):
            if not is_alive(pid):
                path.unlink(missing_ok=True)

    def create(self) -> None:
        """Create an empty registry unless it exists."""
        from tmuxreap.registry import edits

        try:
            files.create(self.resolved, edits.new_document().encode(), files.PRIVATE)
        except FileExistsError:
            return
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def _read(self) -> Content:
        try:
            return files.read(self.resolved)
        except FileNotFoundError:
            raise Failure(
                Code.REGISTRY_NOT_FOUND,
                f"could not read the registry {self.path}: {_missing(self)}",
                "check the path, or make one with: tmuxreap start NAME --agent AGENT",
            ) from None
        except (IsADirectoryError, NotADirectoryError):
            raise _invalid(self.path, "it is a folder, not a file", 0, 0) from None
        except PermissionError:
            raise Failure(
                Code.PERMISSION_DENIED,
                f"could not read the registry {self.path}: permission denied",
                f"see who may: ls -l {self.resolved}",
            ) from None
        except OSError as error:
            raise Failure(
                Code.REGISTRY_INVALID,
                f"could not read the registry {self.path}: {error.strerror}",
                "check the file and its disk",
            ) from None


def edited_where_safe(
    look: RegistryLook, changes: Mapping[str, Changes]
) -> tuple[str, dict[str, Failure]]:
    """Edit as `edited` does, but leave out the rows that cannot be edited safely, with their
    failures."""
    from tmuxreap.registry import edits

    wanted, refused = dict(changes), dict[str, Failure]()
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
    has no colon on its line, which is rare: otherwise there are none."""
    if not re.search(_WITHOUT_COLON, look.content.data):
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


def _stamp(content: Content) -> str:
    return cache_stamp(*content.marks)


def _by_index(look: RegistryLook, changes: Mapping[str, Changes]) -> dict[int, Changes]:
    return {row.index: changes[row.name] for row in look.usable if row.name in changes}


def unsafe(path: Path, error: edits.Unsafe) -> Failure:
    place = f"could not edit the registry {path}: line {error.line}, column {error.column}"
    if "surrogate" in error.reason:  # undecodable bytes of a file name
        reason = f"{place}: a word for it is not UTF-8, and the registry is"
        return Failure(
            Code.REGISTRY_UNWRITABLE,
            reason,
            "give it in UTF-8, or rename that folder, then try again",
        )
    hint = (
        "write that row plainly (keys before their colons on one line, no anchors, aliases or"
        " tags), then try again"
    )
    return Failure(Code.ROW_INVALID, f"{place}: {error.reason}", hint)


def _name_of(row: edits.RowText) -> str | None:
    name = row.data.get("name") if row.data is not None else None
    return name if isinstance(name, str) else None


def _row(row: edits.RowText, name: str | None, count: int) -> AnyRow:
    if row.data is None or row.trouble is not None:
        line, column = row.trouble_line or row.line, row.trouble_column or row.column
        return BadRow(row.index, name, row.trouble or "it is not a mapping", line, column)
    if name is not None and count > 1:
        return BadRow(
            row.index, name, f"the name {name!r} stands {count} times", row.line, row.column
        )
    try:
        return read_row(row.index, row.data)
    except ValueError as error:
        return BadRow(row.index, name, str(error), row.line, row.column)


def row_invalid(path: Path, row: BadRow) -> Failure:
    label = repr(row.name) if row.name else f"number {row.index + 1}"
    return Failure(
        Code.ROW_INVALID,
        f"could not use the row {label}: {row.reason} ({path}, line {row.line}, column"
        f" {row.column})",
        f"edit line {row.line} of {path}, then try again",
    )


def _invalid(path: Path, reason: str, line: int, column: int) -> Failure:
    where = f", line {line}, column {column}" if line else ""
    edit = f"edit line {line}" if line else "edit the file"
    return Failure(
        Code.REGISTRY_INVALID,
        f"could not read the registry {path}{where}: {reason}",
        f"{edit}, or restore it, as from git; nothing was written to it",
    )


def _unwritable(path: Path, error: OSError) -> Failure:
    return Failure(
        Code.REGISTRY_UNWRITABLE,
        f"could not write the registry {path}: {error.strerror or error}",
        "make room or fix the permissions of its folder, then run: tmuxreap reconcile",
    )


def _missing(registry: Registry) -> str:
    if registry.path.is_symlink():
        return f"it is a link to {registry.resolved}, and nothing is there"
    return "there is no such file"
