"""Checks docs/reports/requirements.md: each requirement names tests, and each named test exists."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "reports" / "requirements.md"


def demands() -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("| ")
    ]
    return [row for row in cells if row[0] != "asked for"]


def test_every_demand_has_an_answer_and_a_test_that_is_there() -> None:
    known = {
        name
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(
            r"^ *(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE
        )
    }
    assert len(demands()) > 150
    for asked, does, tests in demands():
        named = re.findall(r"`(test_\w+)`", tests)
        assert does, asked
        assert named or "](mcp.md)" in tests, asked
        assert set(named) <= known, (asked, sorted(set(named) - known))
