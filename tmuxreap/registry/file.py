"""The registry file: read into rows, changed under its lock, never half-written and never dumped
anew.

The truth is here; whoever wants to change it reads it again under the lock first."""

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

from tmuxreap.core.cache import Reading, Recall, stamped
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.faults import Step
from tmuxreap.core.model import BadRow, Row
from tmuxreap.core.values import frozen
from tmuxreap.registry import kept as kept
from tmuxreap.registry.kept import Change, Excerpt, Kept
from tmuxreap.registry.rows import known_row, read_row
from tmuxreap.registry.targets import AnyRow
from tmuxreap.registry.transitions import Changes
from tmuxreap.system import files
from tmuxreap.system.files import ChangedMeanwhile, Content

if TYPE_CHECKING:
    from tmuxreap.registry import (
        edits,
    )  # with YAML, which a registry that was read before does not need

_WITHOUT_COLON = rb"(?m)(?:^|[{,\[-])[ \t]*\?(?:\s|$)|^[ \t]*:"
ROOM_TO_GROW = 64 * 1024  # for new fields and screens, in the registry and beside it
MANY_ROWS = 100  # from here on parsing is what one waits for


class RegistryLook:
    """The registry as it was at one moment. `known`: its rows as they were read of this very
    content before. `written`: by which change it came to be, and from what."""

    def __init__(
        self,
        path: Path,
        content: Content,
        known: Kept | None = None,
        unsynced: OSError | None = None,
        written: Written | None = None,
    ) -> None:
        self.path = path
        self.content = content
        self._known = known
        self._changes: dict[str, Change] = {}  # by the text that they come to
        self._sound: set[str] = set()  # texts with no other rows than these, all of them usable
        self.unsynced = unsynced  # why a power cut could undo what was just written
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
        """Its text with the places of the rows: what edits stand on."""
        from tmuxreap.registry.yaml.parse import parse
        from tmuxreap.registry.yaml.places import Malformed

        try:
            return parse(self.text)
        except Malformed as error:
            raise _invalid(self.path, error.reason, error.line, error.column) from None

    @cached_property
    def rows(self) -> tuple[AnyRow, ...]:
        if self._known is not None:
            return tuple(known_row(index, data) for index, data in enumerate(self._known.rows))
        names = list(map(_name_of, self.document.rows))
        counts = Counter(names)
        rows = zip(self.document.rows, names, strict=True)
        return tuple([_row(row, name, counts[name]) for row, name in rows])

    @cached_property
    def usable(self) -> tuple[Row, ...]:
        """Without those that cannot be read or edited safely."""
        return tuple(row for row in self.rows if isinstance(row, Row))

    def differing(self, other: RegistryLook) -> set[str]:
        """Name the rows that are not the same in both, or stand in one alone."""
        then = {row.name: row.data for row in self.usable}
        now = {row.name: row.data for row in other.usable}
        return {name for name in then.keys() | now.keys() if then.get(name) != now.get(name)}

    @property
    def warnings(self) -> tuple[str, ...]:
        """Say of each row that cannot be used why."""
        bad = [row for row in self.rows if not isinstance(row, Row)]
        return tuple(row_invalid(self.path, row).message for row in bad)

    @property
    def was_slow(self) -> bool:
        return self._known is None and len(self.rows) >= MANY_ROWS

    @property
    def readings(self) -> list[Reading]:
        """For the next look; a registry with a row that cannot be used is read anew each time."""
        if self._known is None and len(self.usable) == len(self.rows):
            self._known = kept.of_document(self.document)
        return kept.readings(self._known, _stamp(self.content)) if self._known else []

    @cached_property
    def _by_name(self) -> Mapping[str, Row]:
        return {row.name: row for row in self.usable}  # of a name that stands twice none is usable

    def named(self, name: str) -> Row | None:
        return self._by_name.get(name)

    def spoilt(self, name: str) -> BadRow | None:
        """Find the bad row that may be the one of this name: as long as there is one, no row of it
        has gone."""
        bad = [row for row in self.rows if isinstance(row, BadRow) and row.name in (None, name)]
        return max(bad, key=lambda row: row.name == name, default=None)

    def text_of(self, row: Row) -> str:
        """The row exactly as it stands in the file: the before-image of a change."""
        whole = "document" in vars(self)  # read already: of thousands no excerpts are made
        excerpt = None if whole else self._excerpt([row.index])
        document = self.document if excerpt is None else excerpt.document
        span = document.rows[row.index if excerpt is None else excerpt.place(row.index)]
        return document.text[span.start : span.end]

    def make_ready(self, names: Collection[str]) -> None:
        """Read what an edit of these rows will stand on, while there is time."""
        if self._excerpt([row.index for row in self.usable if row.name in names]) is None:
            _ = self.document
        _ = self.digest

    # Edits: of many rows only those around the changed ones are read again.

    def edited(self, changes: Mapping[int, Changes]) -> str:
        """The text with these fields of these rows changed."""
        from tmuxreap.registry import edits

        def edit(excerpt: Excerpt) -> Change | None:
            here = {excerpt.place(index): fields for index, fields in changes.items()}
            return excerpt.changed(edits.edit_rows(excerpt.document, here), changes)

        text = self._changed(changes, edit)
        if text is None:
            text = edits.edit_rows(self.document, changes)
            if len(self.usable) == len(self.rows):
                self._sound.add(text)
        return text

    def without(self, index: int) -> str:
        from tmuxreap.registry import edits

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
        """None where the whole text has to be looked at: also what cannot be edited is told from
        there."""
        excerpt = self._excerpt(indices)
        change = None
        with contextlib.suppress(ValueError):
            change = None if excerpt is None else edit(excerpt)
        if change is None or not all(self._is_usable(change, index) for index in change.rows):
            return None
        self._changes[change.text] = change
        return change.text

    def _is_usable(self, change: Change, index: int) -> bool:
        """A row that is read as one of its name, and the only one of it."""
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
            if excerpt.is_worth_it and excerpt.agrees:
                return excerpt
        return None

    def followed_by(self, text: str, content: Content, unsynced: OSError | None) -> RegistryLook:
        """The look at what was made of this one."""
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
    """What became of the registry of this digest: rows that are new or others now, and names that
    are gone."""

    base: str
    rows: tuple[int, ...]
    gone: tuple[str, ...]


class Registry:
    def __init__(
        self, path: Path, recall: Recall = lambda what, stamp: None, *, held: bool = False
    ) -> None:
        """`held`: whoever calls holds the lock already."""
        self.path = path
        self._held = held
        self.resolved = Path(os.path.realpath(path))
        self._recall = recall
        self._last: RegistryLook | None = None  # as long as the file stays as it is

    def look(self) -> RegistryLook:
        content = self._read()
        if self._last is not None and self._last.content == content:
            return self._last
        known = kept.recall(self._recall, _stamp(content))
        look = RegistryLook(self.path, content, known)
        if known is None:
            _ = look.document  # what cannot be read is told now
        self._last = look
        return look

    @contextlib.contextmanager
    def locked(self, step: Step = Step.LOCK) -> Iterator[None]:
        """Hold the lock; what is read inside stays true but for writers that take none."""
        with contextlib.ExitStack() as held:
            try:
                if not self._held:
                    held.enter_context(files.locked(self.resolved, step=step))
            except OSError as error:
                raise _unwritable(self.path, error) from None
            yield

    def check_writable(self) -> None:
        """Better before the first key than after the last."""
        if not os.access(self.resolved.parent, os.W_OK):
            raise _unwritable(
                self.path, PermissionError(errno.EACCES, "its folder cannot be written")
            )
        if not os.access(self.resolved, os.W_OK):
            raise _unwritable(self.path, PermissionError(errno.EACCES, "it is write-protected"))

    def check_room(self, look: RegistryLook) -> None:
        """One more copy, with what an ending adds to it."""
        try:
            files.check_room(self.resolved.parent, len(look.content.data) + ROOM_TO_GROW)
        except OSError as error:
            raise _unwritable(self.path, error) from None

    @property
    def is_ours(self) -> bool:
        """Who only looks leaves nothing in another's folder."""
        try:
            owner = self.resolved.stat().st_uid
        except OSError:  # away since it was read
            return False
        return owner == os.getuid() and os.access(self.resolved.parent, os.W_OK)

    def is_still(self, look: RegistryLook) -> bool:
        """Nobody wrote the file since this look."""
        try:
            return files.stamp_of(self.resolved) == look.content.stamp
        except OSError:
            return False

    def replace(self, look: RegistryLook, text: str) -> RegistryLook:
        """Write under the lock what was edited from this look; ChangedMeanwhile when it is no
        longer the file."""
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
        """Lock, read again, edit, write: before and after. Once more when another wrote without the
        lock."""
        with self.locked(Step.WRITE_LOCK):
            for last in (False, True):
                before = self.look()
                self.check_writable()  # a rename would not ask for it
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
        """Take away what writers left that were killed in the middle."""
        for path, pid in files.left_behind(self.resolved):
            if not is_alive(pid):
                path.unlink(missing_ok=True)

    def create(self) -> None:
        """An empty registry where there is none."""
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
    """As `edited`, but a row that cannot be edited safely stands in nobody else's way."""
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
    """Find the rows that these changes could not be written into. Of most texts a glance tells that
    there is none: only a key without its colon on the same line, which is rare, has the edit itself
    tried."""
    if not re.search(_WITHOUT_COLON, look.content.data):
        return {}
    return edited_where_safe(look, {row.name: changes(row) for row in rows})[1]


def edited(look: RegistryLook, changes: Mapping[str, Changes]) -> str:
    """The registry's text with these fields of these rows changed; a row that cannot be edited
    safely is refused."""
    from tmuxreap.registry import edits

    try:
        return look.edited(_by_index(look, changes))
    except edits.Unsafe as error:
        raise unsafe(look.path, error) from None


def _stamp(content: Content) -> str:
    return stamped(*content.marks)


def _by_index(look: RegistryLook, changes: Mapping[str, Changes]) -> dict[int, Changes]:
    return {row.index: changes[row.name] for row in look.usable if row.name in changes}


def unsafe(path: Path, error: edits.Unsafe) -> Failure:
    place = f"could not edit the registry {path}: line {error.line}, column {error.column}"
    if "surrogate" in error.reason:  # bytes of a file's name, as Python reads them
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
    what = repr(row.name) if row.name else f"number {row.index + 1}"
    return Failure(
        Code.ROW_INVALID,
        f"could not use the row {what}: {row.reason} ({path}, line {row.line}, column"
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
