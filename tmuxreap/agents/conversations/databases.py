"""Owner of the databases in which some agents keep their conversations: asked one question, and never written."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

PATIENCE_S = 1.0
ENOUGH = 50


def finds(path: Path, query: str, conversation: str) -> bool:
    """Does the query, with the conversation's ID in it, have an answer? One that cannot be read has none."""
    return bool(_rows(path, query, (conversation,)))


def answers(path: Path, query: str, asked: Mapping[str, object]) -> list[str]:
    """The first column of what it finds."""
    return [str(row[0]) for row in _rows(path, query, asked)]


def _rows(path: Path, query: str, asked: Mapping[str, object] | tuple[str, ...]) -> list[tuple[object, ...]]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=PATIENCE_S)) as database:
            return database.execute(query, asked).fetchmany(ENOUGH)
    except sqlite3.Error:
        return []
