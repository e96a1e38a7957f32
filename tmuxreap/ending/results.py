"""What a command answers, as values: one envelope for scripts, and the results in it. Decides and
prints nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Conversation, Outcome, Status, StoppedBy
from tmuxreap.core.results import Item
from tmuxreap.core.values import frozen
from tmuxreap.ending.plan import Plan, Rung
from tmuxreap.sessions.ownership import Belonging

NOTHING = Conversation(None, None, None, exists=False)


@frozen
class RungReport:
    rung: Rung
    waited_s: float = 0.0
    enough: bool = False
    skipped: str | None = None

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.rung.value,
            "waited_ms": round(self.waited_s * 1000),
            "enough": self.enough,
            "skipped": self.skipped,
        }


@frozen
class Draft:
    text: str
    event: int | None


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
            "spared": [
                {"pid": o.process.pid, "name": o.process.comm, "why": o.why} for o in self.spared
            ],
            "survivors": [survivor.as_json() for survivor in self.survivors],
            "draft": (
                None
                if self.draft is None
                else {"chars": len(self.draft.text), "event": self.draft.event}
            ),
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
        Code.BEYOND_REACH,
        Code.NOT_INTERRUPTIBLE,
    }
)
