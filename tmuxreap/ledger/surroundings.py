"""The environments of the sessions that are to be started again when they are lost.

The table is made when the first one comes. It holds what these environments hold, secrets too: the
ledger is its owner's alone (0600), and what is forgotten is dropped."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tmuxreap.ledger.database import Connection
from tmuxreap.ledger.records import from_json

TABLE = "CREATE TABLE IF NOT EXISTS surroundings (name TEXT PRIMARY KEY, environ TEXT NOT NULL)"


def keep(db: Connection, name: str, environ: Mapping[str, str] | None) -> None:
    """In the place of what was kept before."""
    db.execute(TABLE)
    db.execute("DELETE FROM surroundings WHERE name = ?", (name,))
    if environ is not None:
        values = (name, json.dumps(dict(environ)))
        db.execute("INSERT INTO surroundings (name, environ) VALUES (?, ?)", values)


def kept(db: Connection, name: str) -> dict[str, str] | None:
    db.execute(TABLE)
    query = "SELECT environ FROM surroundings WHERE name = ?"
    found = db.execute(query, (name,)).fetchone()
    return {key: str(one) for key, one in from_json(found[0]).items()} if found else None
