"""A command's answer as values: its envelope, the types that several answers share (first of all an
ending), what outcomes mean, and their conversion to JSON and back. Never decides or prints
anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from tmuxreap.core.errors import Code, Exit, Failure, shared_exit
from tmuxreap.core.model import Outcome, OutcomeText, StoppedBy
from tmuxreap.core.times import iso
from tmuxreap.core.values import as_dict, field, frozen

T = TypeVar("T")
JSON_TYPES = {str, int, float, bool, type(None)}


class Answer:
    """A result, or a part of one. Its fields are what `--json` prints."""

    __slots__ = ()
    RARE = frozenset[str]()  # left out of JSON where None
    NOT_IN_JSON = frozenset[str]()  # never in JSON: for a terminal only

    def as_json(self) -> dict[str, object]:
        """Return it as `--json` prints it."""
        fields = as_dict(self)
        for name in self.RARE:
            if fields[name] is None:
                del fields[name]
        for name in self.NOT_IN_JSON:
            del fields[name]
        for name, value in fields.items():
            if value.__class__ not in JSON_TYPES:
                fields[name] = plain_json(value)
        return fields


@frozen
class Problem(Answer):
    """What could not be done, and why; `hint` is the next command to try."""

    code: str
    message: str
    hint: str


@frozen
class Item(Answer):
    """One result in the envelope: what a verb says of one target."""

    name: str
    error: Problem | None = field(default=None, kw_only=True)


@frozen
class Process(Answer):
    """A process; `why` is the evidence that it belongs to the session."""

    RARE = frozenset({"why", "started"})

    pid: int
    name: str
    why: str | None = None
    started: float | None = None


@frozen
class Used(Process):
    """A process with what it uses: processor time, and TCP ports that it listens on."""

    cpu_s: float | None = None
    cpu_percent: float | None = None
    ports: tuple[int, ...] = ()


@frozen
class Conversation(Answer):
    """An agent's conversation, and whether it is on disk."""

    id: str | None = None
    source: str | None = None
    path: str | None = None
    exists: bool = False


@frozen
class Author(Answer):
    """The user, host and tool that ended a session."""

    user: str | None = None
    host: str | None = None
    tool: str | None = None
    session: str | None = None


@frozen
class LocatorAnswer(Conversation):
    """Where a conversation was looked for, and which others matched."""

    candidates: tuple[str, ...] = ()


@frozen
class Draft(Answer):
    """A half-typed prompt and the event that keeps it; on a terminal its text is shown, too."""

    NOT_IN_JSON = frozenset({"text"})

    chars: int
    event: int | None = None
    text: str = ""


@frozen
class Resuming(Answer):
    """What `resume` of a set, or one that was halted, answers besides its results."""

    set: str | None = None
    not_tried: tuple[str, ...] = ()


@frozen
class Restarted(Item):
    """Whether an agent was brought back in its own pane, with the processes of the pane before and
    now. `draft_back`: its draft is in the input again."""

    RARE = frozenset({"plan"})

    outcome: str = ""
    status: str | None = None
    agent: str | None = None
    pane_id: str | None = None
    old_pid: int | None = None
    pid: int | None = None
    conversation_id: str | None = None
    resumable: bool = False
    draft: Draft | None = None
    draft_back: bool = False
    waited_ms: int = 0
    duration_ms: int = 0
    warnings: tuple[str, ...] = ()
    plan: Mapping[str, object] | None = None


AGENT_GONE = "the agent is gone"  # why a rung is skipped


@frozen
class Rung(Answer):
    """How one step of the ladder went."""

    name: str
    waited_ms: int = 0
    enough: bool = False
    skipped: str | None = None


@frozen
class Ending(Item):
    """What became of one session that `stop`, `kill` or `reap` was to end."""

    RARE = frozenset({"plan", "verdict", "evidence"})

    outcome: OutcomeText = Outcome.UNKNOWN
    status: str | None = None
    agent: str | None = None
    pid: int | None = None
    stopped_by: str | None = None
    stop_reason: str | None = None
    termination_mode: str | None = None
    task_id: str | None = None
    ended_at: str | None = None
    set: str | None = None
    grace_s: float | None = None
    conversation: Conversation = Conversation()
    resumable: bool = False
    resume_command: str | None = None
    rungs: tuple[Rung, ...] = ()
    swept: tuple[Process, ...] = ()
    spared: tuple[Process, ...] = ()
    survivors: tuple[Process, ...] = ()
    draft: Draft | None = None
    freed_mb: float = 0.0
    purged: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    joined: bool = False
    duration_ms: int = 0
    warnings: tuple[str, ...] = ()
    plan: Mapping[str, object] | None = None
    verdict: str | None = None
    evidence: Mapping[str, object] | None = None

    @property
    def ok(self) -> bool:
        """Whether the session has reached the goal, now or earlier."""
        return self.error is None


@frozen
class Counts(Answer):
    """How many sessions were ended, and by what."""

    ended: int = 0
    by_keys: int = 0
    by_term: int = 0
    by_kill: int = 0
    failed: int = 0


def plain_json(value: object) -> object:
    """Convert a value to what `json` can write."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [plain_json(one) for one in value]
    if isinstance(value, Mapping):
        return {name: plain_json(one) for name, one in value.items()}
    if isinstance(value, Answer):
        return value.as_json()
    return value


@cache
def fields_of(kind: type) -> Mapping[str, Any]:
    """Return the fields that JSON has, each with its resolved type."""
    hints = get_type_hints(kind)
    hidden = getattr(kind, "NOT_IN_JSON", ())
    return {name: hints[name] for name in kind.__fields__ if name not in hidden}  # type: ignore[attr-defined]


def read(kind: type[T], data: Mapping[str, object]) -> T:
    """Build a value from a JSON document, ignoring unknown fields."""
    fields = fields_of(kind)  # type: ignore[arg-type]
    return kind(**{name: _value(fields[name], data[name]) for name in fields if name in data})


def _value(kind: Any, data: Any) -> Any:
    if get_origin(kind) in (Union, UnionType):
        nested = [_value_kind(member) for member in get_args(kind)]
        kind = next((member for member in nested if member is not None), kind)
    if hasattr(kind, "__fields__") and isinstance(data, Mapping):
        return read(kind, data)
    if get_origin(kind) is tuple and isinstance(data, (list, tuple)):
        inner, _ = get_args(kind)
        return tuple(_value(inner, member) for member in data)
    return data


def _value_kind(kind: Any) -> Any:
    """Return the kind if JSON values must be converted to it: a value class or a tuple."""
    if hasattr(kind, "__fields__") or get_origin(kind) is tuple:
        return kind
    return None


def problem_of(failure: Failure | None) -> Problem | None:
    """Convert a failure to the form it has in answers."""
    if failure is None:
        return None
    return Problem(failure.code.text, failure.message, failure.hint)


def failure_of(problem: Problem | None) -> Failure | None:
    """Convert an answer's problem back to a failure."""
    if problem is None:
        return None
    return Failure(Code.of(problem.code), problem.message, problem.hint)


SCHEMA = "tmuxreap/1"


def megabytes(size: int) -> float:
    """Convert bytes to megabytes as answers report them."""
    return round(size / (1024 * 1024), 1)


def failure_in(item: Item) -> Failure | None:
    """Return the failure of this target, with its exit status."""
    return failure_of(item.error)


@frozen
class Result:
    """A command's whole answer."""

    command: str
    registry: str | None
    at: float
    results: Sequence[Item] = ()
    warnings: tuple[str, ...] = ()
    failure: Failure | None = None
    more: Mapping[str, object] = field(default_factory=dict)
    greeting: str | None = None  # printed for users instead of an empty table
    remark: str | None = None  # printed for users next to the results
    status: Exit = Exit.OK  # the exit status if no result failed
    summed: bool = False  # `status` is final: the results are not consulted
    others: tuple[Failure, ...] = ()  # failures of whole hosts, which belong to no single result

    @property
    def exit(self) -> Exit:
        if self.failure is not None:
            return self.failure.code.exit
        if self.summed:
            return self.status
        codes = []
        for item in self.results:
            if item.error is not None:
                codes.append(Code.of(item.error.code))
        if Code.INTERRUPTED in codes:
            return Exit.INTERRUPTED
        return shared_exit(codes) or self.status

    def as_json(self) -> dict[str, object]:
        return {
            "schema": SCHEMA,
            "command": self.command,
            "ok": self.exit is Exit.OK,
            "exit_code": int(self.exit),
            "registry": self.registry,
            "timestamp": iso(self.at),
            "results": [item.as_json() for item in self.results],
            "warnings": list(self.warnings),
            "error": plain_json(problem_of(self.failure)),
            **{name: plain_json(value) for name, value in self.more.items()},
        }


@frozen
class Planned(Answer):
    """What `start` would run, with `--dry-run`."""

    plan: Mapping[str, object] | None = None


@frozen
class RemoteResult(Item):
    """A result from another host, as received. `shown`: the same as a value of ours; None if this
    version knows no such answer."""

    host: str
    facts: Mapping[str, object]
    lines: tuple[str, ...] = ()  # for people
    shown: Item | None = None

    @property
    def target(self) -> str:
        return f"{self.name}@{self.host}"

    def as_json(self) -> dict[str, object]:
        return {**self.facts, "host": self.host, "target": self.target}


def local(item: Item) -> Item:
    """Return the answer itself, also where another host gave it."""
    if isinstance(item, RemoteResult) and item.shown is not None:
        return item.shown
    return item


def counts(items: Iterable[Item]) -> Counts:
    """Count endings: how many ended, by which means, and how many targets failed."""
    items = tuple(items)
    found = map(local, items)
    ended = []
    for one in found:
        if isinstance(one, Ending) and one.outcome in ENDED:
            ended.append(one)
    by = [one.stopped_by for one in ended]
    return Counts(
        ended=len(ended),
        by_keys=by.count(StoppedBy.EXIT_KEYS),
        by_term=by.count(StoppedBy.HANGUP) + by.count(StoppedBy.SIGTERM),
        by_kill=by.count(StoppedBy.SIGKILL),
        failed=sum(item.error is not None for item in items),
    )


ENDED = frozenset({Outcome.STOPPED, Outcome.KILLED, Outcome.TERMINATED})


def failed_target(name: str, failure: Failure) -> Ending:
    if failure.code in REFUSALS:
        outcome = Outcome.REFUSED
    else:
        outcome = Outcome.FAILED
    return Ending(name=name, outcome=outcome, error=problem_of(failure))


REFUSALS = frozenset(
    {
        Code.SESSION_ALIVE,
        Code.SESSION_REPLACED,
        Code.OWN_SESSION,
        Code.FOREIGN_PANES,
        Code.AMBIGUOUS_PANE,
        Code.REGISTERED_ELSEWHERE,
        Code.BEYOND_REACH,
        Code.NOT_INTERRUPTIBLE,
        Code.NOT_IDLE,
    }
)
