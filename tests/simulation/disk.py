"""What a file system may have kept when the power fails: any part of what was not synced, in any
order. Follows the files of one folder, at the level of the calls to the system."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from tmuxreap.ledger import schema

SIDECAR = "-wal"
State = dict[str, bytes]


@dataclass
class Disk:
    """The folder as it is, and what of it is durable."""

    folder: Path
    happened: Callable[[], None] = lambda: None  # called after each change and each sync
    synced: dict[int, bytes] = field(default_factory=dict)  # data by inode
    names: dict[str, int] = field(default_factory=dict)  # the folder's entries when it was synced
    moved: list[tuple[str, str, int]] = field(default_factory=list)  # renames since then
    kept: dict[int, bytes] = field(default_factory=dict)  # data of replaced files, by inode
    floor: tuple[bytes, bytes] = (b"", b"")  # the ledger and its log when they were synced

    def __post_init__(self) -> None:
        for path in self.files():
            self.synced[path.stat().st_ino] = path.read_bytes()
        self._sync_folder()
        self.floor = self.ledger()

    def files(self) -> list[Path]:
        """Return the files that no database writes."""
        found = [path for path in self.folder.iterdir() if path.is_file()]
        return [path for path in found if ".db" not in path.name]

    def ledger(self) -> tuple[bytes, bytes]:
        path = self.folder / "agent-sessions.db"
        log = path.with_name(path.name + SIDECAR)
        return tuple(it.read_bytes() if it.exists() else b"" for it in (path, log))  # type: ignore[return-value]

    def states(self) -> Iterator[State]:
        """Yield what may be found after the power came back, each as the files by name."""
        for entries in self._folders():
            for torn in (False, True):
                files = {name: self._data(inode, torn=torn) for name, inode in entries.items()}
                for ledger in self._ledgers():
                    yield {**files, **ledger}

    def _folders(self) -> Iterator[dict[str, int]]:
        for count in range(len(self.moved) + 1):
            for done in combinations(self.moved, count):
                entries = dict(self.names)
                for source, target, inode in done:
                    entries.pop(source, None)
                    entries[target] = inode
                yield entries

    def _data(self, inode: int, *, torn: bool) -> bytes:
        if inode in self.synced:
            return self.synced[inode]
        data = self.kept.get(inode, b"")
        return data[: len(data) // 2] if torn else b""

    def _ledgers(self) -> Iterator[State]:
        name = "agent-sessions.db"
        now, floor = self.ledger(), self.floor
        for database, log in dict.fromkeys((now, floor)):
            yield {name: database, name + SIDECAR: log}
        if now[0] == floor[0] and now[1].startswith(floor[1]):
            middle = (len(now[1]) + len(floor[1])) // 2
            for end in {middle, max(len(now[1]) - 1, len(floor[1]))}:  # a torn commit
                yield {name: now[0], name + SIDECAR: now[1][:end]}

    # What the system is told

    def sync(self, descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if path == self.folder:
            self._sync_folder()
        elif path.parent == self.folder:
            self.synced[os.fstat(descriptor).st_ino] = path.read_bytes()
        self.happened()

    def _sync_folder(self) -> None:
        self.names = {path.name: path.stat().st_ino for path in self.files()}
        self.moved.clear()

    def renamed(self, source: Path, target: Path) -> None:
        inode = target.stat().st_ino
        self.kept[inode] = target.read_bytes()
        self.moved.append((source.name, target.name, inode))
        self.happened()

    def committed(self) -> None:
        self.floor = self.ledger()
        self.happened()


@contextlib.contextmanager
def followed(disk: Disk) -> Iterator[None]:
    """Tell the disk of each sync, rename and durable commit in its folder."""
    fsync, replace, connect = os.fsync, os.replace, sqlite3.connect

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        disk.sync(descriptor)

    def replaced(source: Any, target: Any, **more: Any) -> None:
        replace(source, target, **more)
        if Path(target).parent == disk.folder:
            disk.renamed(Path(source), Path(target))

    class Followed(sqlite3.Connection):
        full = False

        def execute(self, sql: str, *more: Any) -> sqlite3.Cursor:
            done = super().execute(sql, *more)
            if sql.startswith("PRAGMA synchronous ="):
                self.full = sql.endswith("FULL")
            elif sql == "COMMIT" and self.full:
                disk.committed()
            elif sql == "COMMIT" or (sql.startswith("INSERT") and not self.in_transaction):
                disk.happened()
            return done

    os.fsync, os.replace = synced, replaced  # type: ignore[assignment]
    schema.sqlite3.connect = lambda *words, **more: connect(*words, factory=Followed, **more)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        os.fsync, os.replace = fsync, replace
        schema.sqlite3.connect = connect  # type: ignore[attr-defined]
