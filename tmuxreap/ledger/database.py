"""The ledger's SQLite file: whether it is trusted, how it is opened when first needed, set aside,
and what SQLite's errors mean; and how it is read without being touched, by a checked copy
elsewhere. An unavailable one never fails a command. Never knows what a row, an event or an intent
is.

Commits are synchronous=NORMAL: in WAL mode they survive our SIGKILL, and a power failure loses the
last ones at most, never the file. Durable ones are FULL. A connection belongs to one thread and
must not be used across a fork."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tmuxreap.core.ports import Clock
from tmuxreap.ledger import schema
from tmuxreap.ledger.schema import MODE, connect, create, prepare, version_of
from tmuxreap.system.whereabouts import ledger_beside

T = TypeVar("T")
Connection = sqlite3.Connection
FileId = tuple[int, int]

SIDECARS = ("-wal", "-shm")
PAGES_KB = 512  # SQLite's cache: small, as `watch` runs for weeks and the kernel caches the rest


class LedgerUnavailable(Exception):  # noqa: N818 - a result: work goes on, with a warning
    """The ledger cannot be used now, and nothing was recorded."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"could not use the ledger {path}: {reason}")
        self.reason = reason


def ledger_path(registry: Path) -> Path:
    """Return `<registry stem>.db` next to it; never the registry itself, whatever its name is."""
    return Path(ledger_beside(str(registry)))


class _Unreadable(Exception):  # noqa: N818 - never leaves this module
    """The file is not a ledger that we can read."""


class Database:
    busy_s = 2.0  # how long it waits for another writer

    def __init__(self, path: Path, clock: Clock, warnings: list[str]) -> None:
        self.path = path
        self.clock = clock
        self.warnings = warnings
        self.was_open = False
        self._connection: Connection | None = None
        self._file: FileId | None = None
        self._failed = False  # it could not be opened

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):  # the next connection retries the checkpoint
                self._connection.close()
        self._connection = None

    def run(self, work: Callable[[Connection], T]) -> T:
        """Do the work on the current ledger file, or on a new one if that cannot be read."""
        try:
            return self._attempt(work)
        except _Unreadable as error:
            self._replace_broken(str(error))
        try:
            return self._attempt(work)
        except _Unreadable as error:
            raise LedgerUnavailable(self.path, str(error)) from error

    def _attempt(self, work: Callable[[Connection], T]) -> T:
        try:
            return work(self._current_connection())
        except sqlite3.Error as error:
            # Also for any error on a file that another process has set aside meanwhile: retry with
            # the new one.
            if _is_broken(error) or _identity(self.path) != self._file:
                raise _Unreadable(str(error)) from error
            raise LedgerUnavailable(self.path, str(error)) from error
        except OSError as error:
            raise LedgerUnavailable(self.path, error.strerror or str(error)) from error
        except (UnicodeEncodeError, OverflowError) as error:  # a value that SQLite cannot hold
            raise LedgerUnavailable(self.path, str(error)) from error

    def _current_connection(self) -> Connection:
        """Return a connection to the current file: another process may have set the open one
        aside."""
        if self._connection is None or _identity(self.path) != self._file:
            self.close()
            _create_or_check(self.path, self.clock.now())
            self._file = _identity(self.path)
            if self._file is None:
                raise _Unreadable("it was set aside by another process")
            self._connection = _connect(self.path, self.busy_s, self.clock.now())
            self.was_open = True
        return self._connection

    def _replace_broken(self, reason: str) -> None:
        self.close()
        try:
            aside = _set_aside(self.path, self._file, self.clock.now())
        except OSError as error:
            reason = f"{reason}, and it could not be set aside: {error.strerror}"
            raise LedgerUnavailable(self.path, reason) from error
        if aside is not None:
            self.warnings.append(
                f"could not read the ledger {self.path}: {reason}; it was kept as {aside.name}, and"
                " a new one was created"
            )

    @property
    def is_missing(self) -> bool:
        return not self.was_open and not self.path.exists()

    def use(self, warning: str, work: Callable[[Connection], T]) -> T | None:
        """Read or write; None, with this warning, if that is not possible."""
        if self._failed:
            return None
        try:
            return self.run(work)
        except (LedgerUnavailable, OSError) as reason:
            self._failed = not self.was_open
            self.warnings.append(f"{warning}: {reason}")
            return None

    def read(self, work: Callable[[Connection], T]) -> T | None:
        """Read from the ledger, but never create it."""
        if self.is_missing:
            return None
        return self.use("ledger_not_read", work)

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Read the rows of a query; none without a ledger."""
        return self.read(lambda db: db.execute(sql, values).fetchall()) or []

    def write(
        self, warning: str, work: Callable[[Connection], T], *, durable: bool = False
    ) -> T | None:
        """Do the work in one transaction."""
        return self.use(warning, lambda db: in_transaction(db, work, durable=durable))

    def write_silently(self, work: Callable[[Connection], object]) -> None:
        """Write what is good to have; creates the ledger. Without permission nothing is said."""
        if self._failed:
            return
        with contextlib.suppress(LedgerUnavailable, OSError):
            self.run(work)

    def retry(self) -> None:
        """Retry an unavailable ledger from now on, and keep none of its pages in memory: for
        commands that run for days."""
        self._failed = False
        self.warnings.clear()
        if self._connection is not None:
            self._connection.execute("PRAGMA shrink_memory")


def _connect(path: Path, busy_s: float, now: float) -> Connection:
    db = connect(str(path.absolute()), busy_s)
    try:
        _prepare(db, now)
    except BaseException:
        db.close()
        raise
    return db


def in_transaction(db: Connection, work: Callable[[Connection], T], *, durable: bool = False) -> T:
    if durable:
        db.execute("PRAGMA synchronous = FULL")
    try:
        db.execute("BEGIN IMMEDIATE")
        result = work(db)
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
        if durable:
            db.execute("PRAGMA synchronous = NORMAL")
    return result


def _prepare(db: Connection, now: float) -> None:
    version = version_of(db)
    if version > schema.VERSION:
        raise _Unreadable(
            f"it was written by a newer version (schema {version}, this one knows {schema.VERSION})"
        )
    # SQLite does not wait for this lock: if it fails, the next connection does it.
    with contextlib.suppress(sqlite3.OperationalError):
        db.execute("PRAGMA journal_mode = WAL")
    db.execute(f"PRAGMA cache_size = -{PAGES_KB}")
    prepare(db, now)


def _is_broken(error: sqlite3.Error) -> bool:
    """Tell whether the file is broken: a plain DatabaseError is "not a database" or "malformed",
    and a missing table means that the ledger was tampered with."""
    tampered = str(error).startswith(("no such table", "no such column"))
    return tampered or type(error) is sqlite3.DatabaseError


def _identity(path: Path) -> FileId | None:
    """Return which file has this name now. Never opens it: closing would drop SQLite's locks."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _create_or_check(path: Path, now: float) -> None:
    """Create a private file if there is none; an existing one must be ours or root's."""
    if not os.path.lexists(path):
        create(str(path.absolute()), now)
    for suffix in ("", *SIDECARS):
        _check(path, path.with_name(path.name + suffix))


def _set_aside(path: Path, broken: FileId | None, now: float) -> Path | None:
    """Rename the unreadable file and its sidecars; return None if another process already has."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        # Locks the broken file itself, so that the new one can never be renamed.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _identity(path) != broken:
            return None
        return _rename(path, now)
    finally:
        os.close(descriptor)


def _rename(path: Path, now: float) -> Path:
    target = _free_name(path, now)
    # The file itself comes last: a new one must never find the old one's WAL.
    for suffix in (*SIDECARS, ""):
        source = path.with_name(path.name + suffix)
        if source.exists():
            source.rename(target.with_name(target.name + suffix))
    return target


def _free_name(path: Path, now: float) -> Path:
    target = first = path.with_name(f"{path.name}.broken-{int(now)}")
    number = 0
    while target.exists():
        number += 1
        target = first.with_name(f"{first.name}.{number}")
    return target


def _check(ledger: Path, path: Path) -> None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        raise LedgerUnavailable(ledger, f"{path.name} is not a regular file")
    if status.st_uid not in (os.geteuid(), 0):
        reason = f"{path.name} belongs to another user (uid {status.st_uid})"
        raise LedgerUnavailable(ledger, reason)
    if status.st_uid == os.geteuid() and status.st_mode & 0o077:
        path.chmod(MODE)


TRIES = 3  # a writer may change the files while they are copied


def copy_of(ledger: Path, folder: Path) -> tuple[Path, str | None]:
    """Copy a ledger into a folder; return the copy's path, and what is wrong with it. Either file
    may be missing."""
    copy = folder / "ledger.db"
    reason: str | None = None
    for _ in range(TRIES):
        try:
            _copy(ledger, copy)
        except OSError as error:
            return folder / "none.db", error.strerror or str(error)
        reason = _problem(copy)
        if reason is None:
            return copy, None
    return folder / "none.db", reason


def _copy(ledger: Path, copy: Path) -> None:
    for suffix in ("", "-wal"):
        source, target = (path.with_name(path.name + suffix) for path in (ledger, copy))
        target.unlink(missing_ok=True)
        if suffix == "" or source.exists():
            shutil.copyfile(source, target)
    copy.with_name(copy.name + "-shm").unlink(missing_ok=True)


def _problem(copy: Path) -> str | None:
    try:
        with contextlib.closing(sqlite3.connect(copy)) as db:
            (problem,) = db.execute("PRAGMA quick_check(1)").fetchone()
            (version,) = db.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error as error:
        return str(error)
    if problem != "ok":
        return str(problem)
    is_newer = version > schema.VERSION
    if is_newer:
        return f"it was written by a newer version (schema {version})"
    return None


def mark_in(copy: Path, name: str) -> str | None:
    """Return the mark of the latest start under that name."""
    query = "SELECT mark FROM marks WHERE name = ? ORDER BY created_at DESC, rowid DESC"
    try:
        with contextlib.closing(sqlite3.connect(copy)) as db:
            row = db.execute(query, (name,)).fetchone()
    except sqlite3.Error:
        return None
    return str(row[0]) if row else None
