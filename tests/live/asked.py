"""Shared by the tests of the documents in docs/reports/requirements.md: a real tmux, and the
command line as a user types it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.command_line import Answer, tmuxreap
from tests.real import DEMO, Real, until
from tmuxreap.ledger.database import ledger_path


class Typed(Real):
    """A registry used by every command line of the test."""

    def type(self, *words: str) -> Answer:
        verb, *rest = words
        return tmuxreap(verb, "--json", "--registry", str(self.registry), *rest)

    def result(self, *words: str) -> dict[str, Any]:
        (one,) = self.type(*words).json["results"]
        found: dict[str, Any] = one
        return found

    def begin(self, name: str, *words: str) -> int:
        """Start a demo agent through the command line; return its pid."""
        where = () if "none" in words else ("--server", self.socket)
        options = ("--agent", "demo", "--confirm", "0.02", "--cwd", str(self.folder))
        begun = self.result("start", name, *options, *where, *words, "--", *DEMO)
        if where:
            self.shows(name, "demo agent · conversation")
        else:
            log = self.folder / "agent-sessions.logs" / f"{name}.log"
            until("its screen", lambda: "demo agent" in log.read_text())
        pid: int = begun["pid"]
        return pid

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        ledger = ledger_path(self.registry)
        with contextlib.closing(sqlite3.connect(ledger, isolation_level=None)) as db:
            return db.execute(statement, values).fetchall()


def descriptors(pid: int) -> list[Path]:
    home = Path(f"/proc/{pid}/fd")
    with contextlib.suppress(FileNotFoundError):
        return [Path(os.readlink(one)) for one in home.iterdir()]
    return []


def marked(mark: str) -> Iterator[int]:
    """Return the processes with the mark in their environment."""
    for home in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"TMUXREAP_ID={mark}".encode() in (home / "environ").read_bytes():
                yield int(home.name)
