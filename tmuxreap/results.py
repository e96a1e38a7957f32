"""What a command answers, as values: one envelope for scripts, and the results in it. Decides and prints nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from tmuxreap.errors import Code, Exit, Failure, shared_exit
from tmuxreap.model import Conversation, Live, Outcome, Status, StoppedBy
from tmuxreap.ownership import Belonging
from tmuxreap.plan import Plan
from tmuxreap.requests import Draft, RungReport
from tmuxreap.states import iso
from tmuxreap.values import field, frozen

SCHEMA = "tmuxreap/1"
NOTHING = Conversation(None, None, None, exists=False)


def megabytes(size: int) -> float:
    """As answers tell memory."""
    return round(size / (1024 * 1024), 1)


class Item(Protocol):
    """One result in the envelope."""

    @property
    def failure(self) -> Failure | None: ...

    def as_json(self) -> dict[str, object]: ...


@frozen
class Survivor:
    """A process that is still there."""

    belonging: Belonging
    started: float

    def as_json(self) -> dict[str, object]:
        process = self.belonging.process
        return {"pid": process.pid, "started": round(self.started, 2), "name": process.comm}


@frozen
class EndResult:
    """What became of one session that was to be ended."""

    name: str
    outcome: Outcome
    status: Status | None = None
    agent: str | None = None
    pid: int | None = None
    stopped_by: StoppedBy | None = None
    stop_reason: str | None = None
    termination_mode: str | None = None
    conversation: Conversation = NOTHING
    resumable: bool = False
    resume_command: str | None = None
    rungs: tuple[RungReport, ...] = ()
    swept: tuple[Belonging, ...] = ()
    spared: tuple[Belonging, ...] = ()
    survivors: tuple[Survivor, ...] = ()
    draft: Draft | None = None
    freed_mb: float = 0.0
    purged: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    joined: bool = False
    duration_ms: int = 0
    warnings: tuple[str, ...] = ()
    failure: Failure | None = None
    plan: Plan | None = None
    task_id: str | None = None
    ended_at: str | None = None
    grace_s: float | None = None  # for those that do not leave by themselves

    def as_json(self) -> dict[str, object]:
        plan = {} if self.plan is None else {"plan": self.plan.as_json()}
        return {
            "name": self.name,
            "outcome": self.outcome.value,
            "status": self.status.value if self.status else None,
            "agent": self.agent,
            "pid": self.pid,
            "stopped_by": self.stopped_by.value if self.stopped_by else None,
            "stop_reason": self.stop_reason,
            "termination_mode": self.termination_mode,
            "task_id": self.task_id,
            "ended_at": self.ended_at,
            "grace_s": self.grace_s,
            "conversation": self.conversation.as_json(),
            "resumable": self.resumable,
            "resume_command": self.resume_command,
            "rungs": [rung.as_json() for rung in self.rungs],
            "swept": [{"pid": one.process.pid, "name": one.process.comm} for one in self.swept],
            "spared": [{"pid": o.process.pid, "name": o.process.comm, "why": o.why} for o in self.spared],
            "survivors": [survivor.as_json() for survivor in self.survivors],
            "draft": None if self.draft is None else {"chars": len(self.draft.text), "event": self.draft.event},
            "freed_mb": self.freed_mb,
            "purged": list(self.purged),
            "left": list(self.left),
            "joined": self.joined,
            "duration_ms": self.duration_ms,
            "warnings": list(self.warnings),
            "error": self.failure.as_json() if self.failure else None,
            **plan,
        }


@frozen
class JoinedResult:
    """The outcome of another's stop that this one waited for, as its owner recorded it."""

    recorded: Mapping[str, object]
    failure: Failure | None

    def as_json(self) -> dict[str, object]:
        return {**self.recorded, "joined": True}


@frozen
class Reaped:
    """An ending, and the verdict that it came from."""

    result: Item
    verdict: str
    evidence: Mapping[str, object]

    @property
    def failure(self) -> Failure | None:
        return self.result.failure

    def as_json(self) -> dict[str, object]:
        return {**self.result.as_json(), "verdict": self.verdict, "evidence": dict(self.evidence)}


@frozen
class Recorded:
    """What a row says of its session's beginning and end, and where a client of tmux finds it."""

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

    def as_json(self) -> dict[str, object]:
        return {
            "task_id": self.task_id,
            "ttl": self.ttl,
            "worktree": self.worktree,
            "created_at": self.created_at,
            "stopped_at": self.stopped_at,
            "stop_reason": self.stop_reason,
            "termination_mode": self.termination_mode,
            "parent": self.parent,
            "keep": self.keep,
            "restart": self.restart,
            "start_command": self.start_command,
            "socket": self.socket,
        }


@frozen
class SessionResult:
    """One row as it stands, and what a look says of it. `facts` are what `show` adds."""

    name: str
    agent: str | None
    status: Status
    live: Live
    tmux_server: str | None
    pane_id: str | None
    pid: int | None
    cwd: str | None
    tags: tuple[str, ...]
    conversation_id: str | None
    resumable: bool
    idle_s: int | None = None
    heartbeat_age_s: int | None = None
    attached: bool = False
    memory_mb: float = 0.0
    drift: str | None = None
    recorded: Recorded = Recorded()
    facts: Mapping[str, object] = field(default_factory=dict)
    failure: Failure | None = None

    def as_json(self) -> dict[str, object]:
        error = {} if self.failure is None else {"error": self.failure.as_json()}
        return {
            "name": self.name,
            "agent": self.agent,
            "status": self.status.value,
            "live": self.live.value,
            "tmux_server": self.tmux_server,
            "pane_id": self.pane_id,
            "pid": self.pid,
            "cwd": self.cwd,
            "tags": list(self.tags),
            "conversation_id": self.conversation_id,
            "resumable": self.resumable,
            "idle_s": self.idle_s,
            "heartbeat_age_s": self.heartbeat_age_s,
            "attached": self.attached,
            "memory_mb": self.memory_mb,
            "drift": self.drift,
            **self.recorded.as_json(),
            **self.facts,
            **error,
        }


@frozen
class PlainResult:
    """A result that is its facts: a forgotten row, an event, a target that is not there."""

    name: str
    facts: Mapping[str, object]
    failure: Failure | None = None

    def as_json(self) -> dict[str, object]:
        return {"name": self.name, **self.facts, "error": self.failure.as_json() if self.failure else None}


@frozen
class Result:
    """The whole answer of a command."""

    command: str
    registry: str | None
    at: float
    results: Sequence[Item] = ()
    warnings: tuple[str, ...] = ()
    failure: Failure | None = None
    more: Mapping[str, object] = field(default_factory=dict)
    greeting: str | None = None  # for people, where there is no result
    status: Exit = Exit.OK  # where nothing failed: the answer itself may be no

    @property
    def exit(self) -> Exit:
        if self.failure is not None:
            return self.failure.code.exit
        codes = [item.failure.code for item in self.results if item.failure is not None]
        return Exit.INTERRUPTED if Code.INTERRUPTED in codes else shared_exit(codes) or self.status

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
            "error": self.failure.as_json() if self.failure else None,
            **self.more,
        }


def counts(items: Iterable[Item]) -> dict[str, int]:
    """Sum up endings: how many are no more, by which means, and how many targets failed."""
    told = [item.as_json() for item in items]
    ended = [one for one in told if one.get("outcome") in ENDED]
    by = [one.get("stopped_by") for one in ended]
    return {
        "ended": len(ended),
        "by_keys": by.count(StoppedBy.EXIT_KEYS.value),
        "by_term": by.count(StoppedBy.HANGUP.value) + by.count(StoppedBy.SIGTERM.value),
        "by_kill": by.count(StoppedBy.SIGKILL.value),
        "failed": sum(one.get("error") is not None for one in told),
    }


ENDED = frozenset({Outcome.STOPPED.value, Outcome.KILLED.value, Outcome.TERMINATED.value})


def failed_target(name: str, failure: Failure) -> EndResult:
    outcome = Outcome.REFUSED if failure.code in REFUSALS else Outcome.FAILED
    return EndResult(name=name, outcome=outcome, failure=failure)


REFUSALS = frozenset(
    {
        Code.SESSION_ALIVE,
        Code.SESSION_REPLACED,
        Code.OWN_SESSION,
        Code.FOREIGN_PANES,
        Code.AMBIGUOUS_PANE,
        Code.REGISTERED_ELSEWHERE,
    }
)
