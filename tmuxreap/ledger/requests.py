"""What other hosts asked for here, by the ID that they gave it, and what came of it.

The table is made when the first one comes: most registries never see one. An ID is taken once; who
asks for the outcome of one that never came takes it, too, so that it cannot begin afterwards."""

from __future__ import annotations

from tmuxreap.core.model import ProcessId
from tmuxreap.core.values import frozen
from tmuxreap.ledger.database import Connection

KEPT_S = 7 * 86400.0
TABLE = """CREATE TABLE IF NOT EXISTS requests (
    id TEXT PRIMARY KEY, verb TEXT NOT NULL, at REAL NOT NULL,
    owner_pid INTEGER NOT NULL, owner_start INTEGER NOT NULL, boot_id TEXT NOT NULL, answer TEXT)"""
NEVER = "never"  # the verb of one that never came


@frozen
class Asked:
    verb: str
    owner: ProcessId
    boot_id: str
    answer: str | None

    @property
    def is_void(self) -> bool:
        """It never came, and may not come any more."""
        return self.verb == NEVER


def begin(
    db: Connection, number: str, verb: str, owner: ProcessId, boot_id: str, now: float
) -> bool:
    """Whether the ID is taken by this one."""
    db.execute(TABLE)
    db.execute("DELETE FROM requests WHERE at < ?", (now - KEPT_S,))
    values = (number, verb, now, owner.pid, owner.start, boot_id)
    add = (
        "INSERT OR IGNORE INTO requests (id, verb, at, owner_pid, owner_start, boot_id) VALUES (?,"
        " ?, ?, ?, ?, ?)"
    )
    return db.execute(add, values).rowcount == 1


def end(db: Connection, number: str, answer: str) -> None:
    db.execute("UPDATE requests SET answer = ? WHERE id = ?", (answer, number))


def asked(db: Connection, number: str) -> Asked | None:
    db.execute(TABLE)
    query = "SELECT verb, owner_pid, owner_start, boot_id, answer FROM requests WHERE id = ?"
    found = db.execute(query, (number,)).fetchone()
    return (
        None
        if found is None
        else Asked(found[0], ProcessId(found[1], found[2]), found[3], found[4])
    )
