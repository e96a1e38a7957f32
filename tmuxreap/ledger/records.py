"""What goes into the ledger and comes out of it: plain frozen values, and their one form as JSON.
Touches no file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from tmuxreap.core.model import ProcessId
from tmuxreap.core.ports import Clock, Processes
from tmuxreap.core.times import iso
from tmuxreap.core.values import field, frozen, replace

timestamp = iso
START = "start"  # the verb of an intent that makes a session; all others end one
_ENCODER = json.JSONEncoder(default=str, skipkeys=True)


@frozen
class MirrorRow:
    """A registry row in the form that existing readers of the mirror know."""

    name: str
    status: str
    pane_cwd: str | None
    data: Mapping[str, object]


@frozen
class Mirror:
    """The registry whose bytes have this sha256. With `base`, `rows` are only those that changed
    since that digest, and `gone` the names that went."""

    rows: Sequence[MirrorRow]
    digest: str
    base: str | None = None
    gone: Sequence[str] = ()
    is_current: Callable[[], bool] = lambda: (
        True
    )  # of an older registry nothing is shown: its successor follows


@frozen
class NewEvent:
    """`before` is the exact text of the row before the change."""

    name: str
    kind: str
    data: Mapping[str, object] = field(default_factory=dict)
    before: str | None = None


@frozen
class Event:
    id: int
    at: float
    timestamp: str
    name: str
    kind: str
    data: Mapping[str, object]
    before: str | None


@frozen
class PaneOption:
    """A pane option that is going to be changed, and what it was (None: not set on the pane)."""

    socket: str
    pane: str
    option: str
    before: str | None


@frozen
class NewIntent:
    name: str
    verb: str
    reason: str
    scope: str
    owner: ProcessId
    boot_id: str
    deadline: float
    options: tuple[PaneOption, ...]
    plan: str


@frozen
class Intent:
    """An ending that is under way (`outcome` is None) or was. `plan` is byte for byte what was
    given."""

    id: int
    name: str
    verb: str
    reason: str
    scope: str
    owner: ProcessId
    # of the boot that the owner lives in: after another one it is dead, whoever has its pid
    boot_id: str
    created_at: float
    deadline: float
    options: tuple[PaneOption, ...]
    plan: str
    outcome: str | None
    result: Mapping[str, object] | None
    closed_at: float | None
    taken_over_by: int | None
    handed_from: int | None  # the pid of the owner before this one


@frozen
class Begun:
    """The row is ours. `inherited` is the ending taken over: its reason, and the options that it
    may have changed."""

    intent: Intent
    inherited: Intent | None


@frozen
class Busy:
    """A living owner is at it."""

    intent: Intent


@frozen
class Closing:
    id: int
    outcome: str
    result: Mapping[str, object] = field(default_factory=dict)


@frozen
class Survivor:
    """A process that an ending did not get rid of."""

    process: ProcessId
    boot_id: str
    comm: str


@frozen
class Heartbeat:
    name: str
    at: float
    state: str
    kind: str
    conversation_id: str | None
    data: Mapping[str, object]


@frozen
class Moment:
    """When something was said, by the clocks that nobody sets: of which boot, and its seconds with
    and without those in which the machine slept."""

    boot_id: str
    uptime: float
    awake: float

    @classmethod
    def now(cls, boot_id: str, clock: Clock) -> Moment:
        return cls(boot_id, clock.uptime(), clock.monotonic())

    def as_data(self) -> dict[str, object]:
        return {"moment": [self.boot_id, self.uptime, self.awake]}


@frozen
class Pulse:
    """The last that an agent said of itself. `state`: working, waiting (for a person), idle, ended,
    or empty where the event told none. `kind`: session_start, prompt, tool_before, tool_after,
    permission, turn_end, session_end, heartbeat (who sends those does it all the time), or the
    agent's own word for an event that we do not know."""

    kind: str
    state: str
    at: float
    conversation_id: str | None  # the last one that was told, by whichever event
    moment: Moment | None = None  # of who told it by these clocks


class Owned(Protocol):
    """What a process has begun and stands for, as long as it lives."""

    @property
    def owner(self) -> ProcessId: ...
    @property
    def boot_id(self) -> str: ...


def is_owned(one: Owned, processes: Processes, boot_id: str) -> bool:
    """By the same process, of this boot: a number alone may be a stranger's by now."""
    return one.boot_id == boot_id and processes.again(one.owner) is not None


def to_json(data: Mapping[str, object]) -> str:
    """Rows are other people's YAML: dates become text; what no JSON can hold (a list as a key, a
    cycle) is left out."""
    try:
        return _ENCODER.encode(dict(data))
    except (ValueError, RecursionError):
        return "{}"


def from_json(text: str | None) -> dict[str, object]:
    try:
        data = json.loads(text or "{}")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def options_to_json(options: Iterable[PaneOption]) -> str:
    return json.dumps(
        [
            {"socket": o.socket, "pane": o.pane, "option": o.option, "before": o.before}
            for o in options
        ]
    )


def options_from_json(text: str) -> tuple[PaneOption, ...]:
    try:
        return tuple(PaneOption(**entry) for entry in json.loads(text))
    except (ValueError, TypeError):  # another hand was at it
        return ()


def event_of(row: Sequence[Any]) -> Event:
    number, at, stamp, name, kind, data, before = row
    return Event(number, at, stamp, name, kind, from_json(data), before)


def intent_of(row: Sequence[Any]) -> Intent:
    (
        number,
        name,
        verb,
        reason,
        scope,
        pid,
        start,
        boot_id,
        created_at,
        deadline,
        options,
        plan,
        *end,
    ) = row
    outcome, result, closed_at, taken_over_by, handed_from = end
    return Intent(
        id=number,
        name=name,
        verb=verb,
        reason=reason,
        scope=scope,
        owner=ProcessId(pid, start),
        boot_id=boot_id,
        created_at=created_at,
        deadline=deadline,
        options=options_from_json(options),
        plan=plan,
        outcome=outcome,
        result=None if result is None else from_json(result),
        closed_at=closed_at,
        taken_over_by=taken_over_by,
        handed_from=handed_from,
    )


def heartbeat_of(row: Sequence[Any]) -> Heartbeat:
    name, at, state, kind, conversation_id, data = row
    return Heartbeat(name, at, state, kind, conversation_id, from_json(data))


def pulse_of(row: Sequence[Any]) -> Pulse:
    kind, state, at, conversation_id, data = row
    return Pulse(kind, state, at, conversation_id, moment_in(data))


def moment_in(data: str) -> Moment | None:
    return moment_of(from_json(data))


def moment_of(data: Mapping[str, object]) -> Moment | None:
    found = data.get("moment")
    if not (isinstance(found, list) and [type(one) for one in found] == [str, float, float]):
        return None
    return Moment(*found)


def with_options_of(before: Intent, new: NewIntent) -> NewIntent:
    """What is to be put back stays known, however many die over it."""
    known = {(one.socket, one.pane, one.option) for one in new.options}
    older = [one for one in before.options if (one.socket, one.pane, one.option) not in known]
    return replace(new, options=(*new.options, *older))
