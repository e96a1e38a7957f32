"""The requests of other hosts by the IDs they chose, and their answers.

The table is created with the first request, as most registries never get one. An ID is used once.
Asking for the outcome of a request that never arrived uses its ID, too, so that it cannot begin
later. Never runs a request."""

from __future__ import annotations

from tmuxreap.core.model import ProcessId
from tmuxreap.core.values import frozen
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.database import Connection, in_transaction

KEPT_S = 7 * 86400.0
TABLE = """CREATE TABLE IF NOT EXISTS requests (
    id TEXT PRIMARY KEY, verb TEXT NOT NULL, at REAL NOT NULL,
    owner_pid INTEGER NOT NULL, owner_start INTEGER NOT NULL, boot_id TEXT NOT NULL, answer TEXT)"""
ADD = """INSERT OR IGNORE INTO requests (id, verb, at, owner_pid, owner_start, boot_id)
    VALUES (?, ?, ?, ?, ?, ?)"""
QUERY = "SELECT verb, owner_pid, owner_start, boot_id, answer FROM requests WHERE id = ?"
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


def begin(books: Books, number: str, verb: str, owner: ProcessId, boot_id: str) -> bool | None:
    """Claim the ID for this request; tell whether it was free, or None if that could not be
    recorded."""
    now = books.clock.now()

    def work(db: Connection) -> bool:
        db.execute(TABLE)
        db.execute("DELETE FROM requests WHERE at < ?", (now - KEPT_S,))
        values = (number, verb, now, owner.pid, owner.start, boot_id)
        return db.execute(ADD, values).rowcount == 1

    return books.write("request_not_recorded", work, durable=True)


def forbid(books: Books, number: str, owner: ProcessId, boot_id: str) -> bool | None:
    """Tell whether the request has never arrived; from now on it is refused."""
    return begin(books, number, NEVER, owner, boot_id)


def end(books: Books, number: str, answer: str) -> None:
    change = "UPDATE requests SET answer = ? WHERE id = ?"
    values = (answer, number)
    books.write("request_not_recorded", lambda db: db.execute(change, values), durable=True)


def find(books: Books, number: str) -> StoredRequest | None:
    def work(db: Connection) -> StoredRequest | None:
        db.execute(TABLE)
        row = db.execute(QUERY, (number,)).fetchone()
        return row and StoredRequest(row[0], ProcessId(row[1], row[2]), row[3], row[4])

    return books.read(lambda db: in_transaction(db, work, durable=True))
