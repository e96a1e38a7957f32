"""Opens the ledger when it is first needed. An unavailable one never fails a command: work goes on
with a warning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tmuxreap.core.ports import Clock
from tmuxreap.ledger.database import Connection, LedgerUnavailable
from tmuxreap.ledger.ledger import Ledger

T = TypeVar("T")


class LedgerAccess:
    def __init__(self, path: Path, clock: Clock, warnings: list[str]) -> None:
        self.path = path
        self._clock = clock
        self._warnings = warnings
        self._ledger: Ledger | None = None
        self._failed = False

    @property
    def is_missing(self) -> bool:
        return self._ledger is None and not self.path.exists()

    def read(self, work: Callable[[Ledger], T]) -> T | None:
        """Read from the ledger, but never create it."""
        return None if self.is_missing else self.use("ledger_not_read", work)

    def use(self, warning: str, work: Callable[[Ledger], T]) -> T | None:
        """Read or write; None, with this warning, if that is not possible."""
        try:
            ledger = self._open()
            return None if ledger is None else work(ledger)
        except (LedgerUnavailable, OSError) as reason:
            self._warnings.append(f"{warning}: {reason}")
            return None

    def transact(self, warning: str, work: Callable[[Connection], T]) -> T | None:
        """Do durable work on a table that few ledgers have: see `requests` and `surroundings`."""
        return self.use(warning, lambda ledger: ledger.transact(work, durable=True))

    def retry(self) -> None:
        """Retry an unavailable ledger from now on, for commands that run for days."""
        self._failed = False
        self._warnings.clear()

    def close(self) -> None:
        if self._ledger is not None:
            self._ledger.close()

    def _open(self) -> Ledger | None:
        if self._ledger is None and not self._failed:
            self._failed = True
            self._ledger = Ledger.open(self.path, now=self._clock.now())
            self._failed = False
            self._warnings.extend(self._ledger.warnings)
        return self._ledger
