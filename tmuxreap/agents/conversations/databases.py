"""Queries the SQLite databases in which some agents keep their conversations. Never writes to
them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

PATIENCE_S = 1.0
MAX_ROWS = 50
MAGIC = b"SQLite format 3\0"
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
# Tables about the database itself.
_INTERNAL_TABLES = re.compile("migration|version|meta|setting|config", re.IGNORECASE)


def finds_conversation(path: Path, query: str, conversation: str) -> bool:
    """Tell whether the query finds the conversation; an unreadable database has none."""
    return bool(_rows(path, query, (conversation,)))


def first_column(path: Path, query: str, parameters: Mapping[str, object]) -> list[str]:
    """Return the first column of the query's rows."""
    return [str(row[0]) for row in _rows(path, query, parameters)]


def may_hold_message(path: Path) -> bool:
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
