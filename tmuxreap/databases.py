"""Owner of the databases in which some agents keep their conversations: asked one question, and never written."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

PATIENCE_S = 1.0


def finds(path: Path, query: str, conversation: str) -> bool:
    """Does the query, with the conversation's ID in it, have an answer? One that cannot be read has none."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=PATIENCE_S)) as database:
            return database.execute(query, (conversation,)).fetchone() is not None
    except sqlite3.Error:
        return False
