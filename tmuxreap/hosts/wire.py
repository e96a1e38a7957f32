"""The protocol between two tmuxreaps, one line of JSON each: hello, request, beats, items, answer.

Pure: knows no stream. A line that is not ours is noise (a login banner), never an error by
itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum

from tmuxreap.core import foreign
from tmuxreap.core.results import SCHEMA
from tmuxreap.core.values import as_dict, field, frozen

LONGEST_LINE = 64 * 1024 * 1024
LONGEST_ITEM = 256 * 1024  # many of them wait to be printed
FAMILY = SCHEMA.partition("/")[0]
BEGINNING = f'{{"schema": "{FAMILY}/'  # of each line of ours, see `say`


class Say(Enum):
    """The kind of a line."""

    HELLO = "hello"
    BEAT = "beat"
    ITEM = "item"  # one of many, from a verb that keeps running
    ANSWER = "answer"
    INCOMPATIBLE = "incompatible"
    UNKNOWN = "unknown"  # the outcome of an earlier request is unknown
    NEVER = "never"  # an earlier request never arrived


@frozen
class Line:
    say: Say
    facts: Mapping[str, object]


class OtherSchemaError(Exception):
    """The host uses another version of the protocol, or nothing like it."""


@frozen
class Request:
    """A request to a host. `words`: the verb's arguments; `identities`: the confirmed sessions, by
    name."""

    id: str
    verb: str
    words: Mapping[str, object] = field(default_factory=dict)
    registry: str | None = None
    mark: str | None = None  # of the session that the caller runs in
    identities: Mapping[str, object] | None = None
    here: bool = False  # on the local machine: the caller's working directory is kept

    def line(self) -> str:
        return json.dumps({"schema": SCHEMA, **as_dict(self)})


def request_of(text: str) -> Request:
    """Parse a request; raise ValueError if it is not one."""
    facts = _object(text)
    if facts is None or facts.get("schema") != SCHEMA:
        raise ValueError("it is no request of this schema")
    words, identities = facts.get("words"), facts.get("identities")
    if not isinstance(words, dict) or not (identities is None or isinstance(identities, dict)):
        raise ValueError("its words are no mapping")
    return Request(
        id=_word(facts, "id") or "",
        verb=_word(facts, "verb") or "",
        words=words,
        registry=_word(facts, "registry"),
        mark=_word(facts, "mark"),
        identities=identities,
        here=facts.get("here") is True,
    )


def say(kind: Say, **facts: object) -> str:
    return json.dumps({"schema": SCHEMA, "at": kind.value, **facts}, default=str)


def parse_line(text: str) -> Line | None:
    """Parse a line; return None for noise."""
    try:
        facts = _object(text)
    except foreign.TooDeep:
        if text.lstrip().startswith(BEGINNING):
            raise OtherSchemaError("JSON with too many levels") from None
        return None
    schema = facts.get("schema") if facts is not None else None
    if facts is None or not isinstance(schema, str) or schema.partition("/")[0] != FAMILY:
        return None
    if schema != SCHEMA:
        raise OtherSchemaError(schema)
    try:
        line = Line(Say(facts.get("at")), facts)
    except ValueError:
        return None
    return None if line.say is Say.ITEM and len(text) > LONGEST_ITEM else line


def _object(text: str) -> dict[str, object] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = foreign.parse(text)
    except foreign.TooDeep:
        raise
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _word(facts: Mapping[str, object], key: str) -> str | None:
    value = facts.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key} is no text")
    return value
