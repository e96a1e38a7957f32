"""Opens the ledger when it is first needed. An unavailable one never fails a command: work goes on
with a warning."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tmuxreap.core.ports import Clock
from tmuxreap.ledger.database import Connection, Database, LedgerUnavailable, in_transaction

T = TypeVar("T")


class LedgerAccess(Database):
    def __init__(self, path: Path, clock: Clock, warnings: list[str]) -> None:
        super().__init__(path, clock, warnings)
        self._failed = False  # it could not be opened

    @property
    def is_missing(self) -> bool:
        return not self.was_open and not self.path.exists()

    def use(self, warning: str, work: Callable[[Connection], T]) -> T | None:
        """Read or write; None, with this warning, if that is not possible."""
        if self._failed:
            return None
        try:
            return self.run(work)
        except (LedgerUnavailable, OSError) as reason:
            self._failed = not self.was_open
            self.warnings.append(f"{warning}: {reason}")
            return None

    def read(self, work: Callable[[Connection], T]) -> T | None:
        """Read from the ledger, but never create it."""
        return None if self.is_missing else self.use("ledger_not_read", work)

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Read the rows of a query; none without a ledger."""
        return self.read(lambda db: db.execute(sql, values).fetchall()) or []

    def write(
        self, warning: str, work: Callable[[Connection], T], *, durable: bool = False
    ) -> T | None:
        """Do the work in one transaction."""
        return self.use(warning, lambda db: in_transaction(db, work, durable=durable))

    def write_silently(self, work: Callable[[Connection], object]) -> None:
        """Write what is good to have; creates the ledger. Without permission nothing is said."""
        if self._failed:
            return
        with contextlib.suppress(LedgerUnavailable, OSError):
            self.run(work)

    def retry(self) -> None:
        """Retry an unavailable ledger from now on, for commands that run for days."""
        self._failed = False
        self.warnings.clear()
