"""The answers of the verbs that describe sessions."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.core.answers.base import Answer, Conversation, Item, Problem, Process
from tmuxreap.core.model import Outcome, Status
from tmuxreap.core.values import frozen


@frozen
class Session(Item):
    """What is known of one row: its fields, and what a look at its session shows."""

    RARE = frozenset({"error"})

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

    @property
    def ended(self) -> bool:
        """Whether it has ended, according to the registry."""
        return self.status != Status.RUNNING

    @property
    def alive(self) -> bool:
        """Whether its tmux session exists."""
        return self.live in ("alive", "agent_gone")


@frozen
class Listed(Session):
    """A session with what `list --tree` adds."""

    RARE = frozenset({"error", "depth"})

    depth: int | None = None


@frozen
class Locator(Conversation):
    """Where a conversation was looked for, and which others matched."""

    candidates: tuple[str, ...] = ()


@frozen
class Author(Answer):
    """The user, host and tool that ended a session."""

    user: str | None = None
    host: str | None = None
    tool: str | None = None
    session: str | None = None


@frozen
class Shown(Session):
    """A session with what `show` adds."""

    processes: tuple[Process, ...] = ()
    protected: tuple[Process, ...] = ()
    pane_state: str | None = None
    locators: tuple[Locator, ...] = ()
    screen: str | None = None
    ended_by: Author | None = None


@frozen
class Launched(Session):
    """A session with what `start`, `adopt` and `resume` add. `command`: with `--dry-run` only."""

    RARE = frozenset({"outcome", "command"})

    outcome: str | None = None
    command: str | None = None


def failed_launch(name: str, error: Problem | None) -> Launched:
    """Return the answer for a session that could not be started."""
    return Launched(name, outcome=Outcome.FAILED, error=error)


@frozen
class Planned(Answer):
    """What `start` would run, with `--dry-run`."""

    plan: Mapping[str, object] | None = None


@frozen
class RemoteResult(Item):
    """A result from another host, as received. `shown`: the same as a local value, for the table
    that users see."""

    host: str
    facts: Mapping[str, object]
    lines: tuple[str, ...] = ()  # for people
    shown: Session | None = None

    @property
    def target(self) -> str:
        return f"{self.name}@{self.host}"

    def as_json(self) -> dict[str, object]:
        return {**self.facts, "host": self.host, "target": self.target}
