"""The answers of the verbs, as types: their fields are what `--json` prints. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.core.model import LiveText, OutcomeText, StateText, Status
from tmuxreap.core.results import (
    Answer,
    Author,
    Counts,
    Draft,
    Ending,
    Item,
    LocatorAnswer,
    Problem,
    Process,
    Used,
)
from tmuxreap.core.values import frozen


@frozen
class Kept(Answer):
    """A session that was not reaped, and why."""

    name: str
    why: str


@frozen
class Sums(Answer):
    """What `stop` and `kill` answer besides their results."""

    counts: Counts | None = None
    set: str | None = None


@frozen
class Leaked(Answer):
    """An agent that lives on without a terminal, and that no row holds."""

    agent: str
    pid: int
    age_s: int
    memory_mb: float
    cwd: str
    command: str


@frozen
class Reaping(Sums):
    """What `reap` answers besides its results."""

    kept: tuple[Kept, ...] = ()
    leaked: tuple[Leaked, ...] = ()


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
    """Whether an agent's turn was ended, its state since then, and the keys for that."""

    outcome: str = ""
    agent: str | None = None
    state: StateText | None = None
    keys: tuple[str, ...] = ()
    draft: Draft | None = None
    duration_ms: int = 0
    warnings: tuple[str, ...] = ()


@frozen
class Sent(Item):
    """Whether an agent was given a prompt, and its state. `submitted`: Enter was pressed;
    `waited_ms`: until it was idle."""

    outcome: str = ""
    agent: str | None = None
    state: StateText | None = None
    chars: int = 0
    submitted: bool = False
    waited_ms: int = 0
    duration_ms: int = 0


@frozen
class Awaited(Item):
    """The state of a session's agent, and whether it is an awaited one."""

    state: StateText | None = None
    reached: bool = False
    waited_ms: int = 0


@frozen
class Beat(Item):
    """The state that was recorded."""

    state: str | None = None


DRIFT_FIELDS = ("drift", "evidence", "settled", "hint", "cause")
STATE_FIELDS = ("state", "source", "until", "waiting_for", "before")
FIELDS_BY_EVENT = {"state": STATE_FIELDS, "dropped": (), "reaped": ()}
OPTIONAL = ("registry", "count", "attempt", "names", "by")


@frozen
class Change(Answer):
    """A change that `watch` saw: a new drift, a new state, or the end of a session it reaped."""

    NOT_IN_JSON = frozenset({"ending"})

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
    outcome: OutcomeText | None = None
    verdict: str | None = None
    state: StateText | None = None
    before: str | None = None
    source: str | None = None
    until: str | None = None
    waiting_for: str | None = None
    attempt: int | None = None
    names: tuple[str, ...] = ()
    by: str | None = None  # who restarted it
    error: Problem | None = None
    ending: Ending | None = None

    def as_json(self) -> dict[str, object]:
        """Return the fields of its kind of event; for a reaped session also the whole ending."""
        fields = Answer.as_json(self)
        of_its_kind = FIELDS_BY_EVENT.get(self.event, DRIFT_FIELDS)
        names = ("name", "event", "timestamp", *of_its_kind, "error")
        optional = [name for name in OPTIONAL if fields[name] not in (None, [])]
        if self.ending is None:
            ending = {}
        else:
            ending = self.ending.as_json()
        return {**ending, **{name: fields[name] for name in (*names, *optional)}}


@frozen
class Finding(Item):
    """One check of `doctor` and its result."""

    level: str | None = None
    message: str | None = None
    hint: str | None = None


@frozen
class Reached(Item):
    """Whether a host answers, and what runs on it."""

    host: str | None = None
    state: str | None = None
    version: str | None = None
    sessions: int | None = None
    running: int | None = None
    round_trip_ms: int | None = None
    registry: str | None = None
    tags: tuple[str, ...] = ()


@frozen
class Agent(Item):
    """What is known of a kind of agents."""

    about: str | None = None
    verified: str | None = None
    process: tuple[str, ...] = ()
    exit_keys: bool = False
    states: tuple[str, ...] = ()
    takes_an_id: bool = False
    resume: str | None = None
    locators: tuple[str, ...] = ()
    purge: bool = False


@frozen
class Hooked(Item):
    """What was done to an agent's hooks file."""

    file: str | None = None
    action: str | None = None
    events: tuple[str, ...] = ()
    diff: tuple[str, ...] = ()


@frozen
class Skill(Item):
    """What was done to the files of a skill."""

    outcome: str | None = None
    folder: str | None = None


@frozen
class Script(Item):
    """The completion script of a shell."""

    script: tuple[str, ...] = ()


@frozen
class Default(Item):
    """A default, the user's or built in; `place`: the variable, or the file with its line."""

    value: str | float | bool | tuple[str, ...] | None = None
    source: str | None = None
    place: str | None = None
    note: str | None = None


@frozen
class ConfigFile(Answer):
    """The file that the user's defaults are read from, whether it exists or not."""

    file: str | None = None


@frozen
class Drift(Item):
    """A disagreement of registry and world; `settled`: certain enough to be recorded."""

    drift: str | None = None
    evidence: str | None = None
    settled: bool = False
    hint: str | None = None
    cause: str | None = None


@frozen
class Action(Answer):
    """What was done about a drift."""

    name: str
    drift: str
    action: str


@frozen
class Reconciled(Answer):
    """What `reconcile` found and did; `tmux_confirmed`: every tmux server answered."""

    tmux_confirmed: bool = False
    drifts: tuple[Drift, ...] = ()
    actions: tuple[Action, ...] = ()


@frozen
class Event(Item):
    """An event of the ledger; `before` is the row's text before it."""

    id: int | None = None
    timestamp: str | None = None
    kind: str | None = None
    data: Mapping[str, object] | None = None
    before: str | None = None


@frozen
class Session(Item):
    """What is known of one row: its fields, and what a look at its session shows."""

    RARE = frozenset({"error"})

    agent: str | None = None
    status: str | None = None
    live: LiveText | None = None
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
    state: StateText | None = None
    state_since: str | None = None
    state_source: str | None = None
    until: str | None = None
    waiting_for: str | None = None
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
    seat: str | None = None  # where it sits: a pane, or a session of the agent's own daemon

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
    """A session with what `list --tree` and `list --everywhere` add."""

    RARE = frozenset({"error", "depth", "registry", "project"})

    depth: int | None = None
    registry: str | None = None
    project: str | None = None


@frozen
class Shown(Session):
    """A session with what `show` adds. The processor's time and percent, and the ports, are those
    of all its processes."""

    processes: tuple[Used, ...] = ()
    cpu_s: float | None = None
    cpu_percent: float | None = None
    ports: tuple[int, ...] = ()
    protected: tuple[Process, ...] = ()
    pane_state: str | None = None
    locators: tuple[LocatorAnswer, ...] = ()
    screen: str | None = None
    ended_by: Author | None = None


@frozen
class Launched(Session):
    """A session with what `start`, `adopt` and `resume` add. `command`: with `--dry-run` only."""

    RARE = frozenset({"outcome", "command"})

    outcome: OutcomeText | None = None
    command: str | None = None


@frozen
class Span(Answer):
    """A time in which a session was in one state; `unknown` where nobody looked."""

    state: str
    since: str
    until: str
    seconds: float


@frozen
class Reported(Item):
    """What one session did in the time of a report, and how it ended."""

    RARE = frozenset({"error"})

    agent: str | None = None
    status: str | None = None
    ended_at: str | None = None
    stopped_by: str | None = None
    stop_reason: str | None = None
    ended_by: str | None = None
    processes: int = 0
    freed_mb: float = 0.0
    survivors: int = 0
    working_s: int = 0
    waiting_s: int = 0
    limited_s: int = 0
    idle_s: int = 0
    unknown_s: int = 0
    spans: tuple[Span, ...] = ()


@frozen
class Freed(Answer):
    """What all endings of the time freed together."""

    since: str
    until: str
    sessions: int = 0
    processes: int = 0
    freed_mb: float = 0.0
    survivors: int = 0


@frozen
class Reporting(Answer):
    """What `report` answers besides the sessions."""

    freed: Freed | None = None
