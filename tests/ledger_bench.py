"""A registry and its ledger, without tmux."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tests.fakes import FakeClock
from tmuxreap.core.model import ProcessId
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Begun, Busy, Closing, NewEvent, NewIntent
from tmuxreap.registry.file import RegistryFile, RegistryLook, edited
from tmuxreap.registry.transitions import Changes

TEXT = (
    "tmux_sessions:\n  - name: a\n    status: running\n    pane: {cwd: /x}\n  - name: b\n   "
    " status: stopped\n"
)


class Bench:
    def __init__(self, folder: Path) -> None:
        self.registry = RegistryFile(folder / "rows.yaml")
        self.registry.path.write_text(TEXT)
        self.warnings: list[str] = []
        self.books = Books(self.registry, FakeClock(), self.warnings)

    def stop_a(self, *closings: Closing) -> RegistryLook:
        def changes(_look: RegistryLook) -> dict[str, Changes]:
            return {"a": {("status",): "stopped"}}

        def events(before: RegistryLook) -> list[NewEvent]:
            row = before.named("a")
            assert row is not None
            return [NewEvent("a", "stopped", {"why": "x"}, before.text_of(row))]

        return self.books.change(lambda look: edited(look, changes(look)), events, lambda: closings)

    def sql(self, question: str) -> list[tuple[object, ...]]:
        db = sqlite3.connect(self.books.path)
        found = db.execute(question).fetchall()
        db.close()
        return found

    def begin(
        self, name: str = "a", *, alive: bool = False, take_over: bool = False
    ) -> Begun | Busy | None:
        return self.books.begin([new_intent(name)], lambda _intent: alive, take_over=take_over)[0]


def new_intent(name: str) -> NewIntent:
    return NewIntent(name, "stop", "r", "agent", ProcessId(7, 8), "boot", 1_795_000_100.0, (), "{}")
