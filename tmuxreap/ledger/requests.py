"""The requests of other hosts by the IDs they chose, and their answers.

The table is created with the first request, as most registries never get one. An ID is used once.
Asking for the outcome of a request that never arrived uses its ID, too, so that it cannot begin
later. Never runs a request."""

from __future__ import annotations

from tmuxreap.core.model import ProcessId
from tmuxreap.core.values import frozen
from tmuxreap.ledger.database import Connection

KEPT_S = 7 * 86400.0
TABLE = """CREATE TABLE IF NOT EXISTS requests (
    id TEXT PRIMARY KEY, verb TEXT NOT NULL, at REAL NOT NULL,
    owner_pid INTEGER NOT NULL, owner_start INTEGER NOT NULL, boot_id TEXT NOT NULL, answer TEXT)"""
NEVER = "never"  # the verb of a request that never arrived


@frozen
class StoredRequest:
    verb: str
    owner: ProcessId
    boot_id: str
    answer: str | None

    @property
    def is_void(self) -> bool:
        """Whether the request never arrived, and is refused from now on."""
        return self.verb == NEVER


def begin(
    db: Connection, number: str, verb: str, owner: ProcessId, boot_id: str, now: float
) -> bool:
    """Claim the ID for this request; tell whether it was free."""
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


def find(db: Connection, number: str) -> StoredRequest | None:
    db.execute(TABLE)
    query = "SELECT verb, owner_pid, owner_start, boot_id, answer FROM requests WHERE id = ?"
    row = db.execute(query, (number,)).fetchone()
    return None if row is None else StoredRequest(row[0], ProcessId(row[1], row[2]), row[3], row[4])
