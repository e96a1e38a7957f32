"""The answers of the verbs that act on sessions, on agents' turns or on rows."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.core.answers.base import Answer, Conversation, Draft, Item, Process
from tmuxreap.core.values import frozen


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


@frozen
class Kept(Answer):
    """A session that was not reaped, and why."""

    name: str
    why: str


@frozen
class Sums(Answer):
    """What `stop` and `kill` answer besides their results."""

    counts: Counts | None = None


@frozen
class Reaping(Answer):
    """What `reap` answers besides its results."""

    counts: Counts | None = None
    kept: tuple[Kept, ...] = ()


@frozen
class Forgotten(Item):
    """Whether a row was removed."""

    forgotten: bool = False
    history: bool = False


@frozen
class Protected(Item):
    """Whether patterns skip a session, and whether that was changed."""

    keep: bool = False
    changed: bool = False


@frozen
class Interrupted(Item):
    """Whether an agent's turn was ended, and its state since then. `keys`: those that were sent, or
    would be."""

    outcome: str = ""
    agent: str | None = None
    state: str | None = None
    keys: tuple[str, ...] = ()
    draft: Draft | None = None
    duration_ms: int = 0


@frozen
class Awaited(Item):
    """The state of a session's agent, and whether it is an awaited one."""

    state: str | None = None
    reached: bool = False
    waited_ms: int = 0


@frozen
class Beat(Item):
    """The state that was recorded."""

    state: str | None = None
