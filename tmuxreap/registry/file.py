"""The registry file: read, and changed under its lock. Never writes it partially,
and never dumps it.

It is the source of truth: to change it, callers read it again under the lock first."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from tmuxreap.core.cache import Recall
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.faults import Step
from tmuxreap.registry import excerpts as kept
from tmuxreap.registry.look import RegistryLook, stamp_of
from tmuxreap.registry.rows import invalid, unwritable
from tmuxreap.system import files
from tmuxreap.system.files import ChangedMeanwhile, Content
from tmuxreap.system.whereabouts import ledger_beside

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
            raise invalid(self.path, "it is a folder, not a file", 0, 0) from None
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
