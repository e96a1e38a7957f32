"""What looks saw of each row: its processes, and the pane that its agent was in. After that pane
is gone, often nothing else ties them to the row.

Only new things are written, in one transaction for each look, and never a warning: a look may be
unable to write. Dead processes are dropped with the next write of their row. Never decides whose a
process is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tmuxreap.core.model import ProcessId
from tmuxreap.core.values import field, frozen
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.database import Connection, in_transaction

FEW_NAMES = 100  # at most these are named in a query; for more, all rows are read
RECALL = "SELECT name, pid, start, tmux, pane, mark FROM seen WHERE boot_id = ?"
REMEMBER = """INSERT OR REPLACE INTO seen (name, pid, start, boot_id, tmux, pane, mark)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""
DROP = "DELETE FROM seen WHERE name = ? AND pid = ? AND start = ? AND boot_id = ?"


@frozen
class SeenPane:
    """The pane that a process led: "socket,server pid", the pane's ID, and our mark."""

    tmux: str
    pane: str
    mark: str | None = None


@frozen
class Memory:
    """What was seen of one row: its processes, with the pane of those that led one."""

    processes: Mapping[ProcessId, SeenPane | None] = field(default_factory=dict)

    @property
    def leaders(self) -> frozenset[ProcessId]:
        return frozenset(one for one, pane in self.processes.items() if pane is not None)

    @property
    def pane(self) -> SeenPane | None:
        """The pane of the agent that was started last."""
        newest = max(self.leaders, key=lambda leader: leader.start, default=None)
        return None if newest is None else self.processes[newest]


NOTHING = Memory()


@frozen
class News:
    """What one look saw of a row for the first time, and what it saw to be dead."""

    name: str
    processes: Mapping[ProcessId, SeenPane | None]
    dead: Collection[ProcessId] = ()


def recall(books: Books, boot_id: str, names: Sequence[str]) -> dict[str, Memory]:
    """Return what was seen of these rows since the machine started."""
    few = tuple(names) if len(names) <= FEW_NAMES else ()
    only = f" AND name IN ({', '.join('?' * len(few))})" if few else ""
    seen: dict[str, dict[ProcessId, SeenPane | None]] = {}
    for name, pid, start, tmux, pane, mark in books.rows(RECALL + only, (boot_id, *few)):
        led = None if tmux is None else SeenPane(tmux, pane, mark)
        seen.setdefault(name, {})[ProcessId(pid, start)] = led
    return {name: Memory(processes) for name, processes in seen.items()}


def remember(books: Books, boot_id: str, news: Sequence[News]) -> None:
    fresh: list[tuple[object, ...]] = []
    dead: list[tuple[object, ...]] = []
    for one in news:
        fresh += [_values(one.name, it, boot_id, pane) for it, pane in one.processes.items()]
        dead += [(one.name, *process, boot_id) for process in one.dead]

    def work(db: Connection) -> None:
        db.execute("DELETE FROM seen WHERE boot_id <> ?", (boot_id,))
        db.executemany(DROP, dead)
        db.executemany(REMEMBER, fresh)

    if fresh and books.registry.is_ours:
        books.write_silently(lambda db: in_transaction(db, work))


def forget(books: Books, names: Sequence[str]) -> None:
    """Drop what was seen of rows that are removed: a later row of that name is another session."""
    drop = "DELETE FROM seen WHERE name = ?"
    books.read(
        lambda db: in_transaction(db, lambda db: db.executemany(drop, [(it,) for it in names]))
    )


def _values(
    name: str, process: ProcessId, boot_id: str, pane: SeenPane | None
) -> tuple[object, ...]:
    place = (None, None, None) if pane is None else (pane.tmux, pane.pane, pane.mark)
    return (name, *process, boot_id, *place)
