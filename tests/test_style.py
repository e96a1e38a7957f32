"""Checks the style rule that ruff does not have: one thought per line."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tmuxreap

PACKAGE = Path(tmuxreap.__file__).parent
FILES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


LONGEST = 500


def nested(source: str) -> list[int]:
    """Return the lines with nested conditional expressions."""
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.IfExp)]
    return [
        node.lineno
        for node in found
        if any(isinstance(part, ast.IfExp) for part in (node.test, node.body, node.orelse))
    ]


@pytest.mark.parametrize("path", FILES)
def test_no_conditional_expression_stands_within_another(path: str) -> None:
    assert nested((PACKAGE / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", FILES)
def test_a_file_has_no_more_than_500_lines(path: str) -> None:
    lines = len((PACKAGE / path).read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST


def doubled(source: str) -> list[int]:
    """Return the lines of comprehensions with a second `for`."""
    kinds = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    return [node.lineno for node in found if len(node.generators) > 1]


@pytest.mark.parametrize("path", FILES)
def test_a_comprehension_has_one_for(path: str) -> None:
    assert doubled((PACKAGE / path).read_text(encoding="utf-8")) == []


def test_a_second_for_is_seen() -> None:
    assert doubled("a = {d for b in c for d in b}") == [1]
    assert doubled("a = {d for d in (b for b in c)}") == []


def test_one_is_seen() -> None:
    assert nested("a = 1 if b else 2 if c else 3") == [1]
    assert nested("a = f(1 if b else 2) if c else 3") == []
