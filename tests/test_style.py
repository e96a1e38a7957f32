"""What no rule of ruff holds of the style: one thought a line."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tmuxreap

PACKAGE = Path(tmuxreap.__file__).parent
FILES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


def nested(source: str) -> list[int]:
    """The lines where a conditional expression stands within another."""
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.IfExp)]
    return [
        node.lineno
        for node in found
        if any(isinstance(part, ast.IfExp) for part in (node.test, node.body, node.orelse))
    ]


@pytest.mark.parametrize("path", FILES)
def test_no_conditional_expression_stands_within_another(path: str) -> None:
    assert nested((PACKAGE / path).read_text(encoding="utf-8")) == []


def test_one_is_seen() -> None:
    assert nested("a = 1 if b else 2 if c else 3") == [1]
    assert nested("a = f(1 if b else 2) if c else 3") == []
