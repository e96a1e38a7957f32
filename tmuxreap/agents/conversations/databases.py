"""Owner of the databases in which some agents keep their conversations: asked one question, and
never written."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

PATIENCE_S = 1.0
ENOUGH = 50
MAGIC = b"SQLite format 3\0"
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
_OF_ITSELF = re.compile(
    "migration|version|meta|setting|config", re.IGNORECASE
)  # tables that tell of the file


def finds(path: Path, query: str, conversation: str) -> bool:
    """Does the query, with the conversation's ID in it, have an answer? One that cannot be read has
    none."""
    return bool(_rows(path, query, (conversation,)))


def answers(path: Path, query: str, asked: Mapping[str, object]) -> list[str]:
    """The first column of what it finds."""
    return [str(row[0]) for row in _rows(path, query, asked)]


def says_something(path: Path) -> bool:
    """Whether a file of unknown form can hold a message: a database that only has its tables holds
    none."""
    if not _is_database(path):
        return True
    tables = [str(name) for (name,) in _rows(path, TABLES, ())]
    quoted = (name.replace('"', '""') for name in tables if not _OF_ITSELF.search(name))
    return any(_rows(path, f'SELECT 1 FROM "{name}" LIMIT 1', ()) for name in quoted)  # noqa: S608 - its own names


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _rows(
    path: Path, query: str, asked: Mapping[str, object] | tuple[str, ...]
) -> list[tuple[object, ...]]:
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=PATIENCE_S)
        ) as database:
            return database.execute(query, asked).fetchmany(ENOUGH)
    except sqlite3.Error:
        return []
