"""Reads the files in which agents keep their conversations: lines of text, JSON, or databases of
SQLite. Never writes to them."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
from collections.abc import Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path

from tmuxreap.agents.profiles import Profile

PATIENCE_S = 1.0
MAX_ROWS = 50
MAX_LINES = 200
MAGIC = b"SQLite format 3\0"
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
# Tables about the database itself.
_INTERNAL_TABLES = re.compile("migration|version|meta|setting|config", re.IGNORECASE)


def has_message(path: Path, profile: Profile, conversation: str) -> bool:
    """Tell whether the file has a message: without one it is no conversation. A half-written last
    line does not count."""
    if profile.query is not None:
        return bool(_rows(path, profile.query, (conversation,)))
    if profile.message is None:
        return _size(path) > 0 and _may_hold_message(path)
    return holds(path, profile.message)


def holds(path: Path, pattern: re.Pattern[str]) -> bool:
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            return any(pattern.search(line) and line.endswith("\n") for line in lines)
    except OSError:
        return False


def first_match(path: Path, pattern: re.Pattern[str], group: str) -> str | None:
    """Return the group from the first line that matches."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            match = next(
                (m for line in islice(lines, MAX_LINES) if (m := pattern.search(line))), None
            )
    except OSError:
        return None
    return match[group] if match else None


def same_folder(quoted: str, cwd: str) -> bool:
    try:
        folder = json.loads(f'"{quoted}"')
    except ValueError:
        return False
    return os.path.realpath(str(folder)) == os.path.realpath(cwd)


def read_json(path: Path) -> object:
    """Read a JSON file; None if it is no regular file, cannot be read, or is half-written."""
    try:
        return json.loads(path.read_text("utf-8")) if os.path.isfile(path) else None  # noqa: PTH113
    except (OSError, ValueError, RecursionError):
        return None


def written_since(path: Path, started: float) -> bool:
    """Tell whether it was written since, and is a regular file: opening a pipe would block."""
    try:
        status = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_mtime >= started


def first_column(path: Path, query: str, parameters: Mapping[str, object]) -> list[str]:
    """Return the first column of the query's rows."""
    return [str(row[0]) for row in _rows(path, query, parameters)]


def _may_hold_message(path: Path) -> bool:
    """Tell whether a file of unknown format can hold a message: a database with only empty tables
    cannot."""
    if not _is_database(path):
        return True
    tables = [str(name) for (name,) in _rows(path, TABLES, ())]
    quoted = (name.replace('"', '""') for name in tables if not _INTERNAL_TABLES.search(name))
    return any(_rows(path, f'SELECT 1 FROM "{name}" LIMIT 1', ()) for name in quoted)  # noqa: S608 - its own names


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _rows(
    path: Path, query: str, parameters: Mapping[str, object] | tuple[str, ...]
) -> list[tuple[object, ...]]:
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=PATIENCE_S)
        ) as database:
            return database.execute(query, parameters).fetchmany(MAX_ROWS)
    except sqlite3.Error:
        return []


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
