"""The environments of sessions that are to be restarted when they are lost.

The table is created on first use. It holds the secrets in these environments, too: the ledger is
private to its owner (0600). Never keeps an environment once its row is forgotten."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tmuxreap.ledger.books import Books
from tmuxreap.ledger.database import Connection, in_transaction
from tmuxreap.ledger.records import from_json

TABLE = "CREATE TABLE IF NOT EXISTS surroundings (name TEXT PRIMARY KEY, environ TEXT NOT NULL)"


def keep(books: Books, name: str, environ: Mapping[str, str] | None) -> None:
    """Store a session's environment, replacing the previous one; None deletes it, for a session
    that is not restarted."""

    def work(db: Connection) -> None:
        db.execute(TABLE)
        db.execute("DELETE FROM surroundings WHERE name = ?", (name,))
        if environ is not None:
            values = (name, json.dumps(dict(environ)))
            db.execute("INSERT INTO surroundings (name, environ) VALUES (?, ?)", values)

    books.write("surroundings_not_recorded", work, durable=True)


def kept(books: Books, name: str) -> dict[str, str] | None:
    def work(db: Connection) -> dict[str, str] | None:
        db.execute(TABLE)
        query = "SELECT environ FROM surroundings WHERE name = ?"
        row = db.execute(query, (name,)).fetchone()
        if row:
            return {key: str(one) for key, one in from_json(row[0]).items()}
        return None

    return books.read(lambda db: in_transaction(db, work, durable=True))
