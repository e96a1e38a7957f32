"""Makes the ledger's file and its tables, for hooks, heartbeats and every verb alike. Imports
nothing slow, as a hook uses it. Never knows what a row, an event or an intent is."""

from __future__ import annotations

import contextlib
import os
import sqlite3

from tmuxreap.ledger import schema

MODE = 0o600  # it contains drafts and screens


def create(path: str, now: float) -> None:
    """Give the path a ledger, unless it has one.

    It gets its name when it is complete, so that nobody finds a file without tables: agents that
    start at the same moment all report at once. On a file system without links it is empty, and
    whoever opens it makes the tables."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.{os.urandom(6).hex()}.tmp")  # noqa: PTH118 - pathlib is not worth its import here
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
    try:
        os.fchmod(descriptor, MODE)  # whatever the umask
        _fill(temporary, now)
        os.fsync(descriptor)
        _publish(temporary, path)
    finally:
        os.close(descriptor)
        os.unlink(temporary)  # noqa: PTH108
    from tmuxreap.system.files import sync_folder  # imported late, as a hook rarely needs it

    sync_folder(folder)


def _fill(path: str, now: float) -> None:
    with contextlib.closing(connect(path, 0)) as db:
        # Nobody else knows this file: it needs no journal, and is synced once, when it is complete.
        db.execute("PRAGMA journal_mode = MEMORY")
        db.execute("PRAGMA synchronous = OFF")
        bring_up_to_date(db, now)
        db.execute("PRAGMA journal_mode = WAL")


def _publish(temporary: str, path: str) -> None:
    try:
        os.link(temporary, path)
    except FileExistsError:  # another process was faster
        pass
    except OSError:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, MODE))


def open_ledger(path: str, busy_s: float, now: float) -> sqlite3.Connection:
    """Open an existing ledger to write to it."""
    db = connect(path, busy_s)
    try:
        prepare(db, now)
    except BaseException:
        db.close()
        raise
    return db


def connect(path: str, busy_s: float) -> sqlite3.Connection:
    """Open an existing file: SQLite must not create it, as it would not make it private."""
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(
        f"file://{quoted}?mode=rw", uri=True, timeout=busy_s, isolation_level=None
    )


def prepare(db: sqlite3.Connection, now: float) -> None:
    """Let commits not wait for the disk, and make the tables that an empty or older ledger does
    not have."""
    db.execute("PRAGMA synchronous = NORMAL")
    bring_up_to_date(db, now)


def bring_up_to_date(db: sqlite3.Connection, now: float) -> None:
    if version_of(db) < schema.VERSION:
        with db:  # which commits, or rolls back
            db.execute("BEGIN IMMEDIATE")
            _make_tables(db, now)


def _make_tables(db: sqlite3.Connection, now: float) -> None:
    if version_of(db) >= schema.VERSION:  # another process was faster
        return
    for statement in schema.TABLES:
        db.execute(statement)
    if not db.execute(schema.LIFECYCLE_IS_THEIRS).fetchone():
        for statement in schema.lifecycle(supports_json(db)):
            db.execute(statement)
    for table, columns in schema.SHARED_COLUMNS.items():
        present = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
        for column in columns:
            if column not in present:
                db.execute(f"ALTER TABLE {table} ADD COLUMN {column} TEXT")
    for table in schema.NUMBERED:
        db.execute(schema.FIRST_NUMBER, (table, int(now * 1000), table))
    db.execute(f"PRAGMA user_version = {schema.VERSION}")


def version_of(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def supports_json(db: sqlite3.Connection) -> bool:
    try:
        db.execute("SELECT json_valid('{}')")
    except sqlite3.OperationalError:
        return False
    return True
