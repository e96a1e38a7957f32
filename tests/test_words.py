"""The package's messages: each says what could not be done and why, in plain English.
`live/test_messages.py` provokes those that it can."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import tmuxreap

PACKAGE = Path(tmuxreap.__file__).parent
WHAT = re.compile(r"could not (?:be |have )?[a-z{]")
WHAT_AND_WHY = re.compile(r"could not [a-z{][^:]*(?:: ?.+|$)", re.DOTALL)
# Phrases of earlier messages that read like a translation.
STILTED = re.compile(
    r"\b(?:way out|mend(?:ed|s)?|such a one|such one|for want of|it is not known how|what is meant"
    r"|exclude each other|(?<!there )is no (?:verb|flag|span)|before that is|anew|under way"
    r"|all the same|stands? (?:there|in|before|after|beside|for|alone)|stands$|at work"
    r"|nobody can)\b"
)


def template(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(template(part) or "{}" for part in node.values)
    return None


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield all strings except docstrings and parts of f-strings."""
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and id(node) not in parts | docs:
            found = template(node)
            if found is not None:
                yield node.lineno, found


def said() -> list[tuple[str, str]]:
    return [
        (f"{path.relative_to(PACKAGE)}:{line}", text)
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, text in strings(ast.parse(path.read_text(encoding="utf-8")))
    ]


def test_a_message_says_what_and_why() -> None:
    messages = [(place, text) for place, text in said() if text.startswith("could not ")]
    assert len(messages) > 100
    wrong = [
        (place, text)
        for place, text in messages
        if not (WHAT.match(text) and WHAT_AND_WHY.fullmatch(text)) or text.endswith((".", "!"))
    ]
    assert not wrong


def test_no_message_reads_as_a_translation() -> None:
    stilted = [(place, text) for place, text in said() if " " in text and STILTED.search(text)]
    assert not stilted


def test_a_second_argument_of_a_failure_is_a_message_and_a_third_a_hint() -> None:
    """Checked for literal arguments only."""
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Failure"):
                continue
            message, *hint = [template(one) for one in node.args[1:3]]
            if message is not None and not message.startswith(("could not ", "{")):
                wrong.append((path.name, node.lineno, message))
            if hint and hint[0] is not None and (not hint[0] or hint[0].endswith(".")):
                wrong.append((path.name, node.lineno, hint[0]))
    assert not wrong


def test_a_failure_has_a_verb_a_thing_a_reason_and_a_hint() -> None:
    """Checked for literal arguments only."""
    calls, wrong = 0, []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "could_not"):
                continue
            calls += 1
            given = [template(one) for one in node.args]
            verb, _, reason, *hint = (*given, None)[:4]
            if verb is not None and not re.match(r"[a-z{]", verb):
                wrong.append((path.name, node.lineno, verb))
            wrong += [
                (path.name, node.lineno, text)
                for text in (reason, *hint)
                if text is not None and (not text.strip() or text.endswith((".", "!", ":", " ")))
            ]
    assert calls > 50
    assert wrong == []
