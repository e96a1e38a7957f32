"""Checks the style rule that ruff does not have: one thought per line."""

from __future__ import annotations

import ast
from pathlib import Path

import tmuxreap

PACKAGE = Path(tmuxreap.__file__).parent
SOURCES = {
    str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8")
    for path in sorted(PACKAGE.rglob("*.py"))
}
LONGEST = 500


def nested(source: str) -> list[int]:
    """Return the lines with nested conditional expressions."""
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.IfExp)]
    return [
        node.lineno
        for node in found
        if any(isinstance(part, ast.IfExp) for part in (node.test, node.body, node.orelse))
    ]


def test_no_conditional_expression_stands_within_another() -> None:
    assert {path: found for path, source in SOURCES.items() if (found := nested(source))} == {}


def test_a_file_has_no_more_than_500_lines() -> None:
    lengths = {path: len(source.splitlines()) for path, source in SOURCES.items()}
    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}


def doubled(source: str) -> list[int]:
    """Return the lines of comprehensions with a second `for`."""
    kinds = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    return [node.lineno for node in found if len(node.generators) > 1]


def test_a_comprehension_has_one_for() -> None:
    assert {path: found for path, source in SOURCES.items() if (found := doubled(source))} == {}


def test_a_second_for_is_seen() -> None:
    assert doubled("a = {d for b in c for d in b}") == [1]
    assert doubled("a = {d for d in (b for b in c)}") == []


def test_one_is_seen() -> None:
    assert nested("a = 1 if b else 2 if c else 3") == [1]
    assert nested("a = f(1 if b else 2) if c else 3") == []
