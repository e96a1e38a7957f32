"""Fields are read from the row, never from the YAML that it was parsed from."""

from __future__ import annotations

import re
from pathlib import Path

import tmuxreap
from tmuxreap.core.model import StoppedBy
from tmuxreap.registry.rows import fields_of, has_field, read_row

PACKAGE = Path(tmuxreap.__file__).parent
# The ledger's mirror holds rows verbatim, for its own readers.
MAY = ("registry/", "core/model.py", "ledger/books.py")
FIELDS = re.compile(r"\b(row|other|twin|there|now|old)\.data\b")
FILES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


def test_only_the_registry_reads_raw_rows() -> None:
    others = [path for path in FILES if not path.startswith(MAY)]
    readers = [
        path for path in others if FIELDS.search((PACKAGE / path).read_text(encoding="utf-8"))
    ]
    assert readers == []


def test_a_field_in_the_form_of_another_tool_is_read_as_far_as_possible() -> None:
    row = read_row(
        0,
        {
            "name": "a",
            "status": "stopped",
            "ttl": 7,
            "store": ["x"],
            "stopped_at": "",
            "terminated_at": "noon",
            "stopped_by": "magic",
            "pane": {"pid": None},
        },
    )
    assert (row.ttl, row.store, row.ended_at, row.stopped_by) == ("7", None, "noon", None)
    assert has_field(row, "pane", "pid")
    assert not has_field(row, "pane", "cwd")
    assert not has_field(row, "name", "pane")
    assert "store" in fields_of(row)


def test_ended_by_is_a_field_of_tmuxreap() -> None:
    row = read_row(0, {"name": "a", "status": "stopped", "stopped_by": "hangup"})
    assert row.stopped_by is StoppedBy.HANGUP
