"""A failure of the registry names the row and its place."""

from __future__ import annotations

import pytest

from tmuxreap.core.errors import Code
from tmuxreap.registry.file import RegistryFile
from tmuxreap.registry.rows import BadRow, row_invalid


def bad(registry: RegistryFile, index: int) -> BadRow:
    row = registry.look().rows[index]
    assert isinstance(row, BadRow)
    return row


@pytest.mark.parametrize(
    ("index", "reason", "line"),
    [
        (2, "there is a tag", 5),
        (3, "'odd' is not one of", 8),
        (4, "appears 2 times", 10),
        (5, "appears 2 times", 12),
    ],
)
def test_a_bad_row_says_why_and_where(
    index: int, reason: str, line: int, registry: RegistryFile
) -> None:
    row = bad(registry, index)
    assert reason in row.reason
    assert row.line == line
    failure = row_invalid(registry.path, row)
    assert failure.code is Code.ROW_INVALID
    assert failure.message.startswith(f"could not use the row '{row.name}': ")
    assert f"line {line}, column {row.column}" in failure.message
    assert str(line) in failure.hint


def test_a_row_without_a_name_is_reported_by_its_number(registry: RegistryFile) -> None:
    assert row_invalid(registry.path, bad(registry, 6)).message.startswith(
        "could not use the row number 7: it has no"
    )
