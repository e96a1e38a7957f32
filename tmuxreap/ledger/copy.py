"""Reads a ledger without touching it: SQLite leaves files beside what it opens, and heals or sets
aside what is broken. So a copy is made elsewhere, checked, and looked at."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path

from tmuxreap.ledger import schema as schema

TRIES = 3  # a writer may be at it while its files are copied


def copy_of(ledger: Path, folder: Path) -> tuple[Path, str | None]:
    """The copy, and what is wrong with it; ledger and copy may be missing."""
    copy = folder / "ledger.db"
    reason: str | None = None
    for _ in range(TRIES):
        try:
            _copy(ledger, copy)
        except OSError as error:
            return folder / "none.db", error.strerror or str(error)
        reason = _trouble(copy)
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


def _trouble(copy: Path) -> str | None:
    try:
        with contextlib.closing(sqlite3.connect(copy)) as db:
            (said,) = db.execute("PRAGMA quick_check(1)").fetchone()
            (version,) = db.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error as error:
        return str(error)
    if said != "ok":
        return str(said)
    return (
        f"it was written by a newer version (schema {version})"
        if version > schema.VERSION
        else None
    )


def marked_in(copy: Path, name: str) -> str | None:
    """Find the mark of the latest start of that name."""
    wanted = "SELECT mark FROM marks WHERE name = ? ORDER BY created_at DESC, rowid DESC"
    try:
        with contextlib.closing(sqlite3.connect(copy)) as db:
            found = db.execute(wanted, (name,)).fetchone()
    except sqlite3.Error:
        return None
    return str(found[0]) if found else None
