"""Validates every answer that a test reads against its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from tmuxreap.commands.schema import ANSWERING, document
from tmuxreap.core.results import Result
from tmuxreap.core.verbs import VERBS


@cache
def validator(verb: str | None) -> Any:
    return Draft202012Validator(document(verb))  # tests/core validates each against its own


def troubles(answer: Mapping[str, object], verb: str | None) -> list[str]:
    return [
        f"{'.'.join(map(str, one.path))}: {one.message[:200]}"
        for one in validator(verb).iter_errors(answer)
    ]


def checked(result: Result) -> Result:
    """Return the answer, validated."""
    check_answer(result.as_json())
    return result


def check_answer(answer: Mapping[str, Any]) -> None:
    """Validate an answer; for unreadable commands and those that answer in lines the envelope."""
    verb = answer["command"]
    known = verb if verb in ANSWERING and not VERBS[verb].is_endless else None
    found = troubles(json.loads(json.dumps(answer, default=str)), known)
    assert not found, f"{verb} is not as its schema says: {found}"


def check_line(verb: str, line: Mapping[str, Any]) -> None:
    """Validate one line of a command that answers in lines."""
    found = troubles(line, verb)
    assert not found, f"a line of {verb} is not as its schema says: {found}"
