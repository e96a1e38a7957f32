"""The values that the ledger stores, and their conversion to and from JSON. Never touches a
file."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from tmuxreap.core.foreign import read
from tmuxreap.core.model import ProcessId
from tmuxreap.core.ports import Clock, Processes
from tmuxreap.core.results import Answer
from tmuxreap.core.values import as_dict, field, frozen, replace

T = TypeVar("T")
START = "start"  # the verb of an intent that creates a session
SEND = "send"  # of one that gives a session a prompt; all others end one
_ENCODER = json.JSONEncoder(default=str, skipkeys=True)


@frozen
class MirrorRow:
    """A registry row in the form that readers of the mirror expect."""

    name: str
    status: str
    pane_cwd: str | None
    data: Mapping[str, object]


@frozen
class Mirror:
    """The rows of the registry with this digest (SHA-256). With `base`, only the `rows` changed
    since that digest, and the names that are `gone`."""

    rows: Sequence[MirrorRow]
    digest: str
    base: str | None = None
    gone: Sequence[str] = ()
    is_current: Callable[[], bool] = lambda: True  # if not, a newer mirror follows


@frozen
class NewEvent:
    """An event to record. `before` is the exact text of the row before the change."""

    name: str
    kind: str
    data: Mapping[str, object] = field(default_factory=dict)
    before: str | None = None


@frozen
class RecordedEvent:
    id: int
    at: float
    timestamp: str
    name: str
    kind: str
    data: Mapping[str, object]
    before: str | None


@frozen
class PaneOption:
    """A pane option about to be changed, and its previous value (None: not set on the pane)."""

    socket: str
    pane: str
    option: str
    before: str | None


@frozen
class PlannedStep(Answer):
    """A rung of the ladder, as it was planned."""

    name: str
    waits_ms: int = 0
    skipped: str | None = None


@frozen
class PlannedOption(Answer):
    """A pane option, and what it is while keys are sent."""

    pane: str
    option: str
    before: str | None = None
    during: str | None = None


@frozen
class PlannedProcess(Answer):
    """A process that is to be ended, or spared, and the evidence."""

    pid: int
    start: int | None = None
    name: str = ""
    why: str = ""


@frozen
class AfterTurn(Answer):
    """How long the agent may take to end its turn."""

    waits_ms: float


@frozen
class RecordedPlan(Answer):
    """What is to be done to one session, as `--dry-run` prints it and an intent records it: another
    process can finish it by that. A part that an older version did not write has its default."""

    RARE = frozenset(
        {"unproven", "purge", "purges", "left", "task_status", "cleanup", "set", "after_turn"}
        | {"held_by", "doing"}
    )

    name: str = ""
    verb: str = ""
    scope: str = ""
    reason: str = ""
    agent: str | None = None
    socket: str | None = None
    session: str | None = None
    pane: str | None = None
    state: str | None = None  # of its screen
    doing: str | None = None  # in the words of `list`
    rungs: tuple[PlannedStep, ...] = ()
    options: tuple[PlannedOption, ...] = ()
    processes: tuple[PlannedProcess, ...] = ()
    spared: tuple[PlannedProcess, ...] = ()
    unproven: tuple[PlannedProcess, ...] | None = None  # named, not ended
    purge: bool | None = None
    purges: tuple[str, ...] | None = None
    left: tuple[str, ...] | None = None
    task_status: str | None = None
    cleanup: bool | None = None
    set: str | None = None
    after_turn: AfterTurn | None = None
    held_by: int | None = None  # the server that keeps the pane, for its agent to come back

    def to_text(self) -> str:
        return json.dumps(self.as_json())

    @classmethod
    def from_text(cls, text: str) -> RecordedPlan:
        return cls.from_facts(from_json(text))

    @classmethod
    def from_facts(cls, facts: Mapping[str, object]) -> RecordedPlan:
        return _read(cls, facts) or cls()


@frozen
class RecordedStart(Answer):
    """What a start makes: by that, another process finds what is left of it."""

    socket: str = ""
    server: str | None = None
    terminal: str = ""
    agent: str = ""
    marks: tuple[str, ...] = ()  # its own first, then those of dead starts that it took over
    # Of an agent that comes back in its own pane
    session: str | None = None
    pane: str | None = None
    held_by: int | None = None

    def to_text(self) -> str:
        return json.dumps(self.as_json())

    @classmethod
    def from_text(cls, text: str) -> RecordedStart:
        return _read(cls, from_json(text)) or cls()


def _read(kind: type[T], facts: Mapping[str, object]) -> T | None:
    return read(kind, facts)


@frozen
class NewIntent:
    name: str
    verb: str
    reason: str
    scope: str
    owner: ProcessId
    # The boot that the owner runs in: after a reboot it is dead, even if its pid is in use.
    boot_id: str
    deadline: float
    options: tuple[PaneOption, ...]
    plan: str  # a RecordedPlan or, of a start, a RecordedStart; stored verbatim


@frozen
class Intent(NewIntent):
    """An ending (or start) in progress, or finished if it has an `outcome`."""

    id: int
    created_at: float
    outcome: str | None
    result: Mapping[str, object] | None
    closed_at: float | None
    taken_over_by: int | None
    handed_from: int | None  # the pid of the owner before this one

    @property
    def recorded(self) -> RecordedPlan:
        return RecordedPlan.from_text(self.plan)

    @property
    def recorded_start(self) -> RecordedStart:
        return RecordedStart.from_text(self.plan)


@frozen
class Begun:
    """An intent that we own now. `inherited` is the one taken over, with its reason and the options
    that it may have changed."""

    intent: Intent
    inherited: Intent | None


@frozen
class Busy:
    """An open intent of a living owner."""

    intent: Intent


@frozen
class Closing:
    id: int
    outcome: str
    result: Mapping[str, object] = field(default_factory=dict)


@frozen
class Survivor:
    """A process that an ending could not end."""

    process: ProcessId
    boot_id: str
    comm: str


@frozen
class SeenPane:
    """The pane that a process led: "socket,server pid", the pane's ID, and our mark."""

    tmux: str
    pane: str
    mark: str | None = None


@frozen
class Memory:
    """What was seen of one row: its processes, with the pane of those that led one."""

    processes: Mapping[ProcessId, SeenPane | None] = field(default_factory=dict)

    @property
    def leaders(self) -> frozenset[ProcessId]:
        return frozenset(one for one, pane in self.processes.items() if pane is not None)

    @property
    def pane(self) -> SeenPane | None:
        """The pane of the agent that was started last."""
        newest = max(self.leaders, key=lambda leader: leader.start, default=None)
        return None if newest is None else self.processes[newest]


NOT_SEEN = Memory()


@frozen
class News:
    """What one look saw of a row for the first time, and what it saw to be dead."""

    name: str
    processes: Mapping[ProcessId, SeenPane | None]
    dead: Collection[ProcessId] = ()


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
    """A time by clocks that cannot be set: the boot ID, and the seconds since boot with and without
    the machine's sleep."""

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
    """An agent's latest report about itself. `state`: working, waiting (for the user), idle, ended,
    or empty if the event implies none. `kind`: session_start, prompt, tool_before, tool_after,
    permission, turn_end, session_end, heartbeat (sent continually), or the agent's own name for an
    unknown event."""

    kind: str
    state: str
    at: float
    conversation_id: str | None  # the last one reported by any event
    moment: Moment | None = None  # None if the sender did not report it


class HasOwner(Protocol):
    """Something in progress that belongs to a process for as long as that lives."""

    @property
    def owner(self) -> ProcessId: ...
    @property
    def boot_id(self) -> str: ...


def is_owned(item: HasOwner, processes: Processes, boot_id: str) -> bool:
    """Tell whether its owner is alive: the same process of this boot, as pids are reused."""
    return item.boot_id == boot_id and processes.refresh(item.owner) is not None


def to_json(data: Mapping[str, object]) -> str:
    """Convert a row, which may be any YAML: dates become text, keys that are not scalars are left
    out, and a cycle yields an empty object."""
    try:
        return _ENCODER.encode(dict(data))
    except (ValueError, RecursionError):
        return "{}"


def from_json(text: str | None) -> dict[str, object]:
    try:
        data = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def options_to_json(options: Iterable[PaneOption]) -> str:
    return json.dumps([as_dict(option) for option in options])


def options_from_json(text: str) -> tuple[PaneOption, ...]:
    try:
        return tuple(PaneOption(**entry) for entry in json.loads(text))
    except (ValueError, TypeError):  # edited by another program
        return ()


def event_of(row: Sequence[Any]) -> RecordedEvent:
    *facts, data, before = row
    return RecordedEvent(*(*facts, from_json(data), before))


def intent_of(row: Sequence[Any]) -> Intent:
    *words, pid, start, boot_id, deadline, options, plan = row[:10]
    number, created_at, outcome, result, *end = row[10:]
    new = (*words, ProcessId(pid, start), boot_id, deadline, options_from_json(options), plan)
    stored = None if result is None else from_json(result)
    return Intent(*(*new, number, created_at, outcome, stored, *end))


def heartbeat_of(row: Sequence[Any]) -> Heartbeat:
    *facts, data = row
    return Heartbeat(*(*facts, from_json(data)))


def pulse_of(row: Sequence[Any]) -> Pulse:
    *facts, data = row
    return Pulse(*(*facts, moment_of(from_json(data))))


def moment_of(data: Mapping[str, object]) -> Moment | None:
    values = data.get("moment")
    if not (isinstance(values, list) and [type(one) for one in values] == [str, float, float]):
        return None
    return Moment(*values)


def with_inherited_options(earlier: Intent, new: NewIntent) -> NewIntent:
    """Add the options of an earlier intent, so that they are restored even if its owner died."""
    known = {(one.socket, one.pane, one.option) for one in new.options}
    older = []
    for one in earlier.options:
        if (one.socket, one.pane, one.option) not in known:
            older.append(one)
    return replace(new, options=(*new.options, *older))


def seen_values(
    name: str, boot_id: str, process: ProcessId, pane: SeenPane | None
) -> tuple[object, ...]:
    if pane is None:
        return (name, *process, boot_id, None, None, None)
    return (name, *process, boot_id, pane.tmux, pane.pane, pane.mark)
