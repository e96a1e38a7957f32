"""A ledger on a real file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ledger_bench import Bench
from tests.ledger_records import NOW, Ledger
from tmuxreap.core import faults


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent-sessions.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger.open(path, now=NOW, busy_s=0.1) as opened:
        yield opened


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    faults.arm("")
    made.books.close()
