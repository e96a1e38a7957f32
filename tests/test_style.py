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
TESTS = Path(__file__).parent
LONGEST = 500
WIDEST = 60  # columns of a conditional expression


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
    for path in sorted(TESTS.rglob("*.py")):
        name = str(path.relative_to(TESTS.parent))
        lengths[name] = len(path.read_text(encoding="utf-8").splitlines())
    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}


def packed(source: str) -> list[int]:
    """Return the lines of assignments to several names at once. Values that change places belong
    together: there a name on the left stands on the right too."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Assign):
            continue
        target = node.targets[0]
        if not isinstance(target, ast.Tuple) or not isinstance(node.value, ast.Tuple):
            continue
        names = {ast.unparse(one) for one in target.elts}
        if not names & {ast.unparse(one) for one in node.value.elts}:
            found.append(node.lineno)
    return found


def test_each_assignment_has_a_line_of_its_own() -> None:
    assert {path: found for path, source in SOURCES.items() if (found := packed(source))} == {}


def test_two_assignments_in_one_line_are_seen() -> None:
    assert packed("a, b = c, d") == [1]
    assert packed("a, b = b, a") == []
    assert packed("a, b = c()") == []


def long_conditionals(source: str) -> list[int]:
    """Return the lines of conditional expressions that are hard to read at a glance."""
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.IfExp)]
    return [
        node.lineno
        for node in found
        if node.end_lineno != node.lineno or (node.end_col_offset or 0) - node.col_offset > WIDEST
    ]


def test_a_long_conditional_expression_is_an_if() -> None:
    found = {
        path: lines for path, source in SOURCES.items() if (lines := long_conditionals(source))
    }
    assert found == {}


def test_a_long_conditional_expression_is_seen() -> None:
    assert long_conditionals(f"a = {'b' * 50} if c else d") == [1]
    assert long_conditionals("a = b if c else d") == []


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


def test_a_nested_conditional_expression_is_seen() -> None:
    assert nested("a = 1 if b else 2 if c else 3") == [1]
    assert nested("a = f(1 if b else 2) if c else 3") == []
