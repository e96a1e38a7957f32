"""What the answers look like: each kind of `--json` document as a type, field by field.

Owns the shapes alone: the JSON Schema, the schemas of the MCP tools and the results of the Python
interface are made from them. Makes no answer and never reads one from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from tmuxreap.core.values import frozen

T = TypeVar("T")


@frozen
class Problem:
    """Says what could not be done and why; `hint` is the next command to try."""

    code: str
    message: str
    hint: str


@frozen
class Conversation:
    """Names a conversation of an agent, and whether it is on disk."""

    id: str | None = None
    source: str | None = None
    path: str | None = None
    exists: bool = False


@frozen
class Process:
    """Names a process; `why` tells by which evidence it belongs to the session."""

    pid: int
    name: str
    why: str | None = None
    started: float | None = None


@frozen
class Rung:
    """Tells how one step of the ladder went."""

    name: str
    waited_ms: int = 0
    enough: bool = False
    skipped: str | None = None


@frozen
class Draft:
    """Points to the event that keeps a half-typed prompt."""

    chars: int
    event: int | None = None


@frozen
class Ending:
    """Tells what became of one session that was to be ended: by stop, kill or reap."""

    name: str
    outcome: str | None = None
    status: str | None = None
    agent: str | None = None
    pid: int | None = None
    stopped_by: str | None = None
    stop_reason: str | None = None
    termination_mode: str | None = None
    task_id: str | None = None
    ended_at: str | None = None
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
    joined: bool = False
    duration_ms: int = 0
    warnings: tuple[str, ...] = ()
    error: Problem | None = None
    plan: Mapping[str, object] | None = None
    verdict: str | None = None
    evidence: Mapping[str, object] | None = None

    @property
    def ok(self) -> bool:
        """Whether the session reached the goal, now or before."""
        return self.error is None


@frozen
class Session:
    """Tells what is known of one row: what it says, and what a look at its session says."""

    name: str
    agent: str | None = None
    status: str | None = None
    live: str | None = None
    tmux_server: str | None = None
    pane_id: str | None = None
    pid: int | None = None
    cwd: str | None = None
    tags: tuple[str, ...] = ()
    conversation_id: str | None = None
    resumable: bool = False
    idle_s: int | None = None
    heartbeat_age_s: int | None = None
    attached: bool = False
    memory_mb: float = 0.0
    drift: str | None = None
    state: str | None = None
    state_since: str | None = None
    state_source: str | None = None
    until: str | None = None
    task_id: str | None = None
    ttl: str | None = None
    worktree: str | None = None
    created_at: str | None = None
    stopped_at: str | None = None
    stop_reason: str | None = None
    termination_mode: str | None = None
    parent: str | None = None
    keep: bool = False
    restart: str | None = None
    start_command: str | None = None
    socket: str | None = None
    error: Problem | None = None

    @property
    def alive(self) -> bool:
        """Whether its tmux session is there."""
        return self.live in ("alive", "agent_gone")


@frozen
class Locator:
    """Tells where a conversation was looked for, and what else it could have been."""

    id: str | None = None
    source: str | None = None
    path: str | None = None
    exists: bool = False
    candidates: tuple[str, ...] = ()


@frozen
class Author:
    """Tells who ended a session."""

    user: str | None = None
    host: str | None = None
    tool: str | None = None
    session: str | None = None


@frozen
class Listed:
    """Tells what `list --tree` adds to a session."""

    name: str
    depth: int | None = None


@frozen
class Shown:
    """Tells what `show` adds to a session."""

    name: str
    processes: tuple[Process, ...] = ()
    protected: tuple[Process, ...] = ()
    pane_state: str | None = None
    locators: tuple[Locator, ...] = ()
    screen: str | None = None
    ended_by: Author | None = None


@frozen
class Launched:
    """Tells what start, adopt and resume say beside a session: the command, with its plan alone."""

    name: str
    outcome: str | None = None
    command: str | None = None


@frozen
class Drift:
    """Tells where the registry and the world disagree; `settled`: certain enough to be written."""

    name: str
    drift: str | None = None
    evidence: str | None = None
    settled: bool = False
    hint: str | None = None
    cause: str | None = None
    error: Problem | None = None


@frozen
class Action:
    """Tells what was done about a drift."""

    name: str
    drift: str
    action: str


@frozen
class Change:
    """Tells what `watch` saw: a drift when it comes, or the end of a session that it reaped."""

    name: str
    event: str
    timestamp: str
    drift: str | None = None
    evidence: str | Mapping[str, object] | None = None
    settled: bool = False
    hint: str | None = None
    cause: str | None = None
    registry: str | None = None
    count: int | None = None
    outcome: str | None = None
    verdict: str | None = None
    state: str | None = None
    before: str | None = None
    source: str | None = None
    until: str | None = None
    attempt: int | None = None
    names: tuple[str, ...] = ()
    error: Problem | None = None


@frozen
class Event:
    """Tells what happened, as the ledger has it; `before` is the row's text before that."""

    name: str
    id: int | None = None
    timestamp: str | None = None
    kind: str | None = None
    data: Mapping[str, object] | None = None
    before: str | None = None
    error: Problem | None = None


@frozen
class Counts:
    """Sums up endings."""

    ended: int = 0
    by_keys: int = 0
    by_term: int = 0
    by_kill: int = 0
    failed: int = 0


@frozen
class Kept:
    """Names a session that was not judged so, and why."""

    name: str
    why: str


@frozen
class Forgotten:
    """Tells whether a row was dropped."""

    name: str
    forgotten: bool = False
    history: bool = False
    error: Problem | None = None


@frozen
class Protected:
    """Tells whether patterns leave a session alone, and whether that was changed."""

    name: str
    keep: bool = False
    changed: bool = False
    error: Problem | None = None


@frozen
class Interrupted:
    """Tells whether the turn of an agent was ended, and what it is at since. `keys`: those that
    were sent, or would be."""

    name: str
    outcome: str = ""
    agent: str | None = None
    state: str | None = None
    keys: tuple[str, ...] = ()
    draft: Draft | None = None
    duration_ms: int = 0
    error: Problem | None = None


@frozen
class Awaited:
    """Tells what a session is at, and whether that was waited for."""

    name: str
    state: str | None = None
    reached: bool = False
    waited_ms: int = 0
    error: Problem | None = None


@frozen
class Finding:
    """Tells what `doctor` found at one thing."""

    name: str
    level: str | None = None
    message: str | None = None
    hint: str | None = None
    error: Problem | None = None


@frozen
class Reached:
    """Tells whether a host answers, and what runs there."""

    name: str
    host: str | None = None
    state: str | None = None
    version: str | None = None
    sessions: int | None = None
    running: int | None = None
    round_trip_ms: int | None = None
    registry: str | None = None
    tags: tuple[str, ...] = ()
    error: Problem | None = None


@frozen
class Agent:
    """Tells what is known of a kind of agents."""

    name: str
    about: str | None = None
    verified: str | None = None
    process: tuple[str, ...] = ()
    exit_keys: bool = False
    states: tuple[str, ...] = ()
    takes_an_id: bool = False
    resume: str | None = None
    locators: tuple[str, ...] = ()
    purge: bool = False
    error: Problem | None = None


@frozen
class Beat:
    """Tells which state was recorded."""

    name: str
    state: str | None = None
    error: Problem | None = None


@frozen
class Hooked:
    """Tells what became of an agent's file of hooks."""

    name: str
    file: str | None = None
    action: str | None = None
    events: tuple[str, ...] = ()
    diff: tuple[str, ...] = ()
    error: Problem | None = None


@frozen
class Skill:
    """Tells what became of the files of a skill."""

    name: str
    outcome: str | None = None
    folder: str | None = None
    error: Problem | None = None


@frozen
class Script:
    """Holds the completion of a shell."""

    name: str
    script: tuple[str, ...] = ()
    error: Problem | None = None


@frozen
class Default:
    """Tells a default of the user's, or ours; `place`: the variable, or the file with the line."""

    name: str
    value: str | float | bool | tuple[str, ...] | None = None
    source: str | None = None
    place: str | None = None
    note: str | None = None
    error: Problem | None = None


@frozen
class ConfigFile:
    """Tells where the user's defaults are read from, there or not."""

    file: str | None = None


@frozen
class Envelope:
    """Holds the results of a command."""

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
class Sums:
    """Tells what stop and kill say beside their results."""

    counts: Counts | None = None


@frozen
class Reaping:
    """Tells what `reap` says beside its results."""

    counts: Counts | None = None
    kept: tuple[Kept, ...] = ()


@frozen
class Reconciled:
    """Tells what `reconcile` found and did; `tmux_confirmed`: every tmux server gave an answer."""

    tmux_confirmed: bool = False
    drifts: tuple[Drift, ...] = ()
    actions: tuple[Action, ...] = ()


@frozen
class Planned:
    """Tells what `start` would run, with `--dry-run`."""

    plan: Mapping[str, object] | None = None


@frozen
class Shape:
    """Tells of which types the answer of a verb is made. A result may be any of `results`: their
    fields stand side by side. `lines`: each result is a document of its own, without envelope."""

    results: tuple[type, ...]
    more: type | None = None
    lines: bool = False


# A target that is not there is answered as one that could not be ended, by every verb.
SHAPES = {
    "start": Shape((Session, Launched), Planned),
    "adopt": Shape((Session, Launched)),
    "list": Shape((Session, Listed)),
    "show": Shape((Session, Shown)),
    "stop": Shape((Ending,), Sums),
    "kill": Shape((Ending,), Sums),
    "reap": Shape((Ending,), Reaping),
    "resume": Shape((Session, Launched)),
    "forget": Shape((Forgotten,)),
    "protect": Shape((Protected,)),
    "unprotect": Shape((Protected,)),
    "reconcile": Shape((Drift,), Reconciled),
    "watch": Shape((Change,), lines=True),
    "events": Shape((Event,)),
    "wait": Shape((Awaited,)),
    "interrupt": Shape((Interrupted,)),
    "heartbeat": Shape((Beat,)),
    "hooks": Shape((Hooked,)),
    "agents": Shape((Agent,)),
    "doctor": Shape((Finding,)),
    "hosts": Shape((Reached,)),
    "skills": Shape((Skill,)),
    "completion": Shape((Script,)),
    "config": Shape((Default,), ConfigFile),
}


def fields_of(kind: type) -> dict[str, Any]:
    """Resolve the fields of a shape, each with its type."""
    hints = get_type_hints(kind)
    return {name: hints[name] for name in kind.__fields__}  # type: ignore[attr-defined]


def read(kind: type[T], data: Mapping[str, object]) -> T:
    """Make the value of this document; fields that the type does not know are left out."""
    fields = fields_of(kind)
    return kind(**{name: _value(fields[name], data[name]) for name in fields if name in data})


def _value(kind: Any, data: Any) -> Any:
    if get_origin(kind) in (Union, UnionType):
        kind = next((one for one in get_args(kind) if hasattr(one, "__fields__")), kind)
    if hasattr(kind, "__fields__") and isinstance(data, Mapping):
        return read(kind, data)
    if get_origin(kind) is tuple and isinstance(data, (list, tuple)):
        inner, _ = get_args(kind)
        return tuple(_value(inner, one) for one in data)
    return data
