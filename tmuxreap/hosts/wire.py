"""The protocol between two tmuxreaps, one line of JSON each: hello, request, beats, items, answer.
Never trusts a line: what is not ours is noise, malformed parts are left out, and text is escaped
before it reaches a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import Enum

from tmuxreap.agents.hooks.events import STATES
from tmuxreap.core import foreign
from tmuxreap.core.errors import Code, Exit, Failure
from tmuxreap.core.foreign import UNKNOWN, known
from tmuxreap.core.model import Live, Status
from tmuxreap.core.results import SCHEMA, RemoteResult, problem_of
from tmuxreap.core.text import plain
from tmuxreap.core.values import as_dict, field, frozen, replace
from tmuxreap.core.verbs import VERBS
from tmuxreap.hosts.file import Host

LONGEST_LINE = 64 * 1024 * 1024
LONGEST_ITEM = 256 * 1024  # many of them wait to be printed
FAMILY = SCHEMA.partition("/")[0]
COMMAND = re.compile(r"\btmuxreap (?P<verb>[a-z]+)\b(?! --host)")  # in a hint
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
class WireRequest:
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


def request_of(text: str) -> WireRequest:
    """Parse a request; raise ValueError if it is not one."""
    facts = _object(text)
    if facts is None or facts.get("schema") != SCHEMA:
        raise ValueError("it is no request of this schema")
    words = facts.get("words")
    identities = facts.get("identities")
    if not isinstance(words, dict) or not (identities is None or isinstance(identities, dict)):
        raise ValueError("its words are no mapping")
    return WireRequest(
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
    if line.say is Say.ITEM and len(text) > LONGEST_ITEM:
        return None
    return line


def _object(text: str) -> dict[str, object] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        return foreign.parse_object(text)
    except foreign.TooDeep:
        raise
    except ValueError:
        return None


def _word(facts: Mapping[str, object], key: str) -> str | None:
    value = facts.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key} is no text")
    return value


# What a verb or the popup counts with; other words are only shown.
WORDS = {
    "state": frozenset((*STATES, "limited", UNKNOWN)),
    "live": frozenset(live.value for live in Live),
    "status": frozenset((*(status.value for status in Status), UNKNOWN)),
}


@frozen
class HostEnvelope:
    """What is read of an answer's envelope; the rest is passed on."""

    registry: str | None = None
    registry_made: bool = False
    exit_code: int = int(Exit.FAILED)
    warnings: tuple[str, ...] = ()
    set: str | None = None
    not_tried: tuple[str, ...] = ()
    tmux_confirmed: bool = False


@frozen
class Reply:
    """A host's reply. `answer` is its envelope, empty if there is none; `items` are its results."""

    host: Host
    answer: Mapping[str, object] = field(default_factory=dict)
    items: tuple[RemoteResult, ...] = ()
    identities: Mapping[str, object] = field(default_factory=dict)
    failure: Failure | None = None
    unknown: bool = False  # the request was sent, but its outcome is unknown
    version: str | None = None
    took_s: float = 0.0

    @property
    def envelope(self) -> HostEnvelope:
        return foreign.read(HostEnvelope, self.answer) or HostEnvelope()

    @property
    def trouble(self) -> Failure | None:
        """The failure of the host itself."""
        return self.failure or failure_of(self.answer.get("error"), self.host.name)

    @property
    def status(self) -> int:
        if self.failure is not None:
            return int(self.failure.code.exit)
        return self.envelope.exit_code


def reply_of(host: Host, facts: Mapping[str, object], version: str) -> Reply:
    """Read an answer; raise ValueError if it is none of ours."""
    answer = facts.get("answer")
    identities = facts.get("identities")
    results = None
    if isinstance(answer, dict):
        results = answer.get("results")
    if not isinstance(answer, dict) or not isinstance(results, list):
        raise ValueError("its answer is not one of tmuxreap's")
    if not all(isinstance(one, dict) for one in results):
        raise ValueError("its answer is not one of tmuxreap's")
    texts = facts.get("texts")
    if not isinstance(texts, list) or len(texts) != len(results):
        texts = [[]] * len(results)
    return Reply(
        host,
        answer,
        tuple(
            item_of(host, one, text, answer.get("command"))
            for one, text in zip(results, texts, strict=True)
        ),
        identities if isinstance(identities, dict) else {},
        version=version,
    )


def item_of(
    host: Host, facts: Mapping[str, object], text: object = None, verb: object = None
) -> RemoteResult:
    """Return a result with its host; `text` is the list of its lines, `verb` the one that it
    answers."""
    name = facts.get("name")
    name = name if isinstance(name, str) else ""
    if isinstance(text, list):
        lines = [plain(str(line)) for line in text]
    else:
        lines = []
    error = problem_of(failure_of(facts.get("error"), f"{name}@{host.name}"))
    shown = _with_host(lines, plain(name), host.name)
    item = RemoteResult(name, host.name, _known(facts, host.name), shown, error=error)
    kind = None
    if isinstance(verb, str) and verb in VERBS:
        kind = VERBS[verb].result
    if kind is None:
        return item
    return replace(item, shown=foreign.read(kind, {**item.facts, "name": item.target}))


def _known(facts: Mapping[str, object], host: str) -> Mapping[str, object]:
    """Return the facts with the words that this version knows."""
    error = facts.get("error")
    if isinstance(error, dict):
        facts = {**facts, "error": {**error, "hint": from_here(error.get("hint"), host)}}
    words = {}
    for key in WORDS:
        if key in facts:
            words[key] = known(facts[key], WORDS[key])
    return {**facts, **words}


def _with_host(lines: list[str], name: str, host: str) -> tuple[str, ...]:
    """Add the host to the first line that users read."""
    first, *rest = lines or ("",)
    if name and first.startswith(f"{name}:"):
        first = f"{name}@{host}{first[len(name) :]}"
    elif name and f"  {name}  " in first:
        first = first.replace(f"  {name}  ", f"  {name}@{host}  ", 1)
    elif first:
        first = f"{host}: {first}"
    return (first, *rest) if lines else ()


def failure_of(error: object, source: str) -> Failure | None:
    """Convert an error; the unknown code of a newer version becomes a generic one."""
    if not isinstance(error, dict):
        return None
    message = f"{source}: {error.get('message')}"
    hint = from_here(error.get("hint"), source.rpartition("@")[2])
    return Failure(Code.of(error.get("code")), message, hint)


def from_here(hint: object, host: str) -> str:
    """Return a hint of a host with its commands as they are given here."""

    def command(match: re.Match[str]) -> str:
        verb = VERBS.get(match["verb"])
        if verb is None or not verb.on_hosts:
            return match.group()
        return f"{match.group()} --host {host}"

    return COMMAND.sub(command, hint) if isinstance(hint, str) else ""
