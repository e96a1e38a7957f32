"""Holds answers against their schemas: every one that a test reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from tmuxreap.core.answers.shapes import SHAPES
from tmuxreap.core.results import Result
from tmuxreap.core.schema import document


@cache
def validator(verb: str | None) -> Any:
    return Draft202012Validator(document(verb))  # each is held against its own in tests/core


def troubles(answer: Mapping[str, object], verb: str | None) -> list[str]:
    return [
        f"{'.'.join(map(str, one.path))}: {one.message[:200]}"
        for one in validator(verb).iter_errors(answer)
    ]


def checked(result: Result) -> Result:
    """As its schema says."""
    check_answer(result.as_json())
    return result


def check_answer(answer: Mapping[str, Any]) -> None:
    """Of a command that could not be read, and of one that answers in lines, the envelope."""
    verb = answer["command"]
    known = verb if verb in SHAPES and not SHAPES[verb].lines else None
    found = troubles(json.loads(json.dumps(answer, default=str)), known)
    assert not found, f"{verb} is not as its schema says: {found}"


def check_line(verb: str, line: Mapping[str, Any]) -> None:
    """Of a command that answers in lines, one."""
    found = troubles(line, verb)
    assert not found, f"a line of {verb} is not as its schema says: {found}"
