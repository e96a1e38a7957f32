"""The mirror of the registry's rows in the ledger, for readers of SQL. Never decides what is true
of a row."""

from __future__ import annotations

from tmuxreap.ledger import schema
from tmuxreap.ledger.database import Connection
from tmuxreap.ledger.records import Mirror, to_json
from tmuxreap.ledger.tables import supports_json


def update(db: Connection, mirror: Mirror) -> None:
    """Update the mirror. A partial change to a state that it does not show is skipped: the digests
    differ then, and the mirror is rebuilt."""
    partial = mirror.base is not None
    shown = db.execute(schema.SHOWN_DIGEST).fetchone()
    if (partial and shown != (mirror.base,)) or not mirror.is_current():
        return
    wanted: dict[str, tuple[str, str, str | None, str]] = {}
    for row in mirror.rows:
        wanted.setdefault(row.name, (row.name, row.status, row.pane_cwd, to_json(row.data)))
    all_rows = "SELECT name, status, pane_cwd, data FROM sessions"
    if partial:
        present = {}
    else:
        present = {row[0]: row for row in db.execute(all_rows)}
    changed = [row for name, row in wanted.items() if present.get(name) != row]
    gone = [*mirror.gone, *(name for name in present if name not in wanted)]
    stale = [(name,) for name in (*gone, *(row[0] for row in changed))]
    db.executemany("DELETE FROM sessions WHERE name = ?", stale)
    add = "INSERT INTO sessions (name, status, pane_cwd, data) VALUES (?, ?, ?, ?)"
    db.executemany(add, changed)
    names = [row[0] for row in changed]
    if db.execute("SELECT 1 FROM lifecycle_words LIMIT 1").fetchone():
        words = [(name,) for name in names]
        db.executemany("DELETE FROM lifecycle_words WHERE agent_id = ?", words)
    if db.execute(schema.LIFECYCLE_IS_TABLE).fetchone():
        schema.follow(db, names, with_json=supports_json(db))
    db.execute("INSERT OR REPLACE INTO mirrored (id, digest) VALUES (1, ?)", (mirror.digest,))
