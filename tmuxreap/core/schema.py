"""The answer types of each verb, and the envelope that they share.

JSON Schema 2020-12 for the documents that `--json` prints, derived from their types.

Never names a single answer: the types are in `answers`."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from tmuxreap.core import answers
from tmuxreap.core.results import Problem, fields_of
from tmuxreap.core.values import NOTHING, frozen


@frozen
class Envelope:
    """The envelope around a command's results."""

    schema: str
    command: str
    ok: bool
    exit_code: int
    registry: str | None
    timestamp: str
    results: tuple[Mapping[str, object], ...]
    warnings: tuple[str, ...]
    error: Problem | None


@frozen
class Shape:
    """The type of a verb's results, and of what the envelope has besides. `lines`: each result is a
    document of its own, without envelope."""

    result: type
    more: type | None = None
    lines: bool = False


# A missing target is answered as the others are, with an error.
SHAPES = {
    "start": Shape(answers.Launched, answers.Planned),
    "adopt": Shape(answers.Launched),
    "list": Shape(answers.Listed),
    "show": Shape(answers.Shown),
    "stop": Shape(answers.Ending, answers.Sums),
    "kill": Shape(answers.Ending, answers.Sums),
    "reap": Shape(answers.Ending, answers.Reaping),
    "resume": Shape(answers.Launched),
    "forget": Shape(answers.Forgotten),
    "protect": Shape(answers.Protected),
    "unprotect": Shape(answers.Protected),
    "reconcile": Shape(answers.Drift, answers.Reconciled),
    "watch": Shape(answers.Change, lines=True),
    "events": Shape(answers.Event),
    "wait": Shape(answers.Awaited),
    "interrupt": Shape(answers.Interrupted),
    "heartbeat": Shape(answers.Beat),
    "hooks": Shape(answers.Hooked),
    "agents": Shape(answers.Agent),
    "doctor": Shape(answers.Finding),
    "hosts": Shape(answers.Reached),
    "skills": Shape(answers.Skill),
    "completion": Shape(answers.Script),
    "config": Shape(answers.Default, answers.ConfigFile),
}


Schema = dict[str, object]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}


def answer_schema(verb: str) -> Schema:
    """Return the schema of the document that this verb prints with `--json`."""
    shape = SHAPES[verb]
    result = _object(shape.result)
    return result if shape.lines else _envelope(shape, result)


def document(verb: str | None) -> Schema:
    """Return a standalone schema file; without a verb, for what all documents share."""
    head: Schema = {"$schema": DIALECT, "title": f"tmuxreap {verb or 'VERB'} --json"}
    return {**head, **(answer_schema(verb) if verb else _envelope(None, {}))}


def _envelope(shape: Shape | None, result: Schema) -> Schema:
    parts = (Envelope,) if shape is None or shape.more is None else (Envelope, shape.more)
    whole = _object(*parts)
    properties = whole["properties"]
    assert isinstance(properties, dict)  # noqa: S101 - built two lines above
    return {**whole, "properties": {**properties, "results": {"type": "array", "items": result}}}


def _object(*kinds: type) -> Schema:
    """Return the schema of an object with these fields. It allows more: answers may gain fields."""
    fields: dict[str, Any] = {}
    required: dict[str, None] = {}
    for kind in kinds:
        fields |= fields_of(kind)
        defaults: Mapping[str, object] = kind.__fields__  # type: ignore[attr-defined]
        required |= {name: None for name, default in defaults.items() if default is NOTHING}
    return {
        "type": "object",
        "properties": {name: _of(kind) for name, kind in fields.items()},
        "required": list(required),
        "additionalProperties": True,
    }


def _of(kind: Any) -> Schema:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _any(tuple(arg for arg in arguments if arg is not NoneType), NoneType in arguments)
    if origin is tuple:
        return {"type": "array", "items": _of(arguments[0])}
    if hasattr(kind, "__fields__"):
        return _object(kind)
    return {"type": PLAIN[kind]} if kind in PLAIN else {"type": "object"}


def _any(kinds: tuple[Any, ...], nullable: bool) -> Schema:
    schemas = [_of(kind) for kind in kinds]
    if len(schemas) > 1:
        return {"anyOf": [*schemas, *([{"type": "null"}] if nullable else [])]}
    return {**schemas[0], "type": [schemas[0]["type"], "null"]} if nullable else schemas[0]
