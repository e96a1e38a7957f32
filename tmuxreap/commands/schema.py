"""`schema`: prints the JSON Schema of an answer. JSON Schema 2020-12 for the documents that
`--json` prints, derived from their types.

Never names a single answer: the types are in `core/answers.py`, and `core/verbs.py` says which verb
has which."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Problem, fields_of
from tmuxreap.core.values import NOTHING, frozen
from tmuxreap.core.verbs import ALL, VERBS


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


Schema = dict[str, object]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}


# The verbs that have a document, in the order of the help.
ANSWERING = tuple(verb.name for verb in ALL if verb.result is not None)


def answer_schema(verb: str) -> Schema:
    """Return the schema of the document that this verb prints with `--json`."""
    facts = VERBS[verb]
    assert facts.result is not None  # noqa: S101 - asked of verbs with an answer only
    result = _object(facts.result)
    if facts.is_endless:
        return result
    return _envelope(facts.more, result)


def document(verb: str | None) -> Schema:
    """Return a standalone schema file; without a verb, for what all documents share."""
    head: Schema = {"$schema": DIALECT, "title": f"tmuxreap {verb or 'VERB'} --json"}
    return {**head, **(answer_schema(verb) if verb else _envelope(None, {}))}


def _envelope(more: type | None, result: Schema) -> Schema:
    parts = (Envelope,) if more is None else (Envelope, more)
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
    origin = get_origin(kind)
    arguments = get_args(kind)
    if origin in (Union, UnionType):
        return _any(tuple(arg for arg in arguments if arg is not NoneType), NoneType in arguments)
    if origin is tuple:
        return {"type": "array", "items": _of(arguments[0])}
    if hasattr(kind, "__fields__"):
        return _object(kind)
    if kind in PLAIN:
        return {"type": PLAIN[kind]}
    return {"type": "object"}


def _any(kinds: tuple[Any, ...], nullable: bool) -> Schema:
    schemas = [_of(kind) for kind in kinds]
    if len(schemas) > 1:
        return {"anyOf": [*schemas, *([{"type": "null"}] if nullable else [])]}
    if nullable:
        return {**schemas[0], "type": [schemas[0]["type"], "null"]}
    return schemas[0]


def run(verb: str | None) -> Schema:
    """Describe the answer of a verb; without a verb, what all answers share."""
    if verb is not None and verb not in ANSWERING:
        known = ", ".join(ANSWERING)
        reason = f"could not describe the answer of {verb!r}: no verb of that name answers in JSON"
        raise Failure(Code.USAGE, reason, f"use one of: {known}")
    return document(verb)
