"""Reads a ledger without touching it, through a checked copy elsewhere: SQLite creates files next
to a database that it opens, and we would replace a broken one."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path

from tmuxreap.ledger import schema

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
