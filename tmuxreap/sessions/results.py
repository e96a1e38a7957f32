"""What is known of a row, as `list` and `show` tell it: the row, a look at its session, and what
the ledger adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tmuxreap.core.errors import Failure
from tmuxreap.core.model import Live, Row, Status, Terminal
from tmuxreap.core.ports import Question
from tmuxreap.core.results import megabytes
from tmuxreap.core.times import iso
from tmuxreap.core.values import field, frozen
from tmuxreap.ledger.records import Pulse
from tmuxreap.registry.rows import is_kept, parent_of, recorded_conversation
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.identity import pid_of
from tmuxreap.sessions.look import look_at
from tmuxreap.sessions.ownership import Belonging
from tmuxreap.sessions.sight import Sight

if TYPE_CHECKING:
    from tmuxreap.sessions.state import Shows, Told


def looked_at(context: Context, rows: Sequence[Row]) -> list[Sight]:
    return [sight for sight, _ in look_at(context, rows, briefly=True, strangers=True)]


def session_results(
    context: Context, rows: Sequence[Row], sights: Sequence[Sight]
) -> list[SessionResult]:
    said = context.books.pulses()
    told = _states(context, rows, sights, said)
    return [
        session_result(context, row, sight, said.get(row.name), told=one)
        for row, sight, one in zip(rows, sights, told, strict=True)
    ]


def _states(
    context: Context, rows: Sequence[Row], sights: Sequence[Sight], said: Mapping[str, Pulse]
) -> Sequence[Told | None]:
    """Of those that live: what tells them is loaded where one does."""
    if not any(sight.live is Live.ALIVE for sight in sights):
        return [None] * len(rows)
    from tmuxreap.sessions.state import States

    return States(context).of(rows, sights, said)


def session_result(
    context: Context,
    row: Row,
    sight: Sight,
    said: Pulse | None = None,
    facts: Mapping[str, object] | None = None,
    *,
    told: Told | None = None,
) -> SessionResult:
    """`told`: what it is at, where somebody has looked at its screen already."""
    session, pane, now = sight.session, sight.pane, context.clock.now()
    activity = session.activity if session else None
    agent = context.agent_of(row)
    return SessionResult(
        name=row.name,
        agent=agent,
        status=Status.STOPPED if row.status is Status.ARCHIVED else row.status,
        live=sight.live,
        tmux_server=row.tmux_server,
        pane_id=pane.id if pane else row.pane.id,
        pid=pid_of(row, pane),
        cwd=row.pane.cwd,
        tags=row.tags,
        conversation_id=recorded_conversation(row, agent),
        resumable=row.resumable is True,
        idle_s=None if activity is None else max(0, int(now) - activity),
        heartbeat_age_s=max(0, int(now - said.at)) if said else None,
        attached=bool(session and session.attached),
        memory_mb=megabytes(
            sum(context.processes.memory(one.process.id) for one in sight.owned.own)
        ),
        drift=drift_of(row, sight),
        recorded=_recorded(context, row),
        told=told or _states(context, [row], [sight], {})[0],
        facts=facts or {},
        failure=sight.trouble if facts is not None and sight.live is Live.UNKNOWN else None,
    )


def _recorded(context: Context, row: Row) -> Recorded:
    def text(*names: str) -> str | None:
        found = next((value for name in names if (value := row.data.get(name)) is not None), None)
        return None if found is None else str(found)

    return Recorded(
        task_id=row.task_id,
        ttl=text("ttl"),
        worktree=text("worktree"),
        created_at=text("created_at"),
        stopped_at=text("stopped_at", "terminated_at"),
        stop_reason=row.stop_reason,
        termination_mode=text("termination_mode"),
        parent=parent_of(row),
        keep=is_kept(row),
        restart=text("restart"),
        start_command=row.start_command,
        socket=context.socket_of(row),
    )


def drift_of(row: Row, sight: Sight) -> str | None:
    """In which way the registry and the world disagree on this row; None when they agree or it
    cannot be told."""
    if sight.live is Live.UNKNOWN:
        return None
    if not row.status.ended:
        gone = "survivors" if sight.owned.own else "dead"
        return {Live.GONE: gone, Live.AGENT_GONE: "agent_gone", Live.REPLACED: "replaced"}.get(
            sight.live
        )
    if sight.session is not None or sight.live is Live.REPLACED:
        return "revived"
    return "survivors" if sight.owned.own else None


def shown_result(context: Context, row: Row, sight: Sight, said: Pulse | None) -> SessionResult:
    """One row as `show` tells it: with its processes, its conversation and its screen."""
    from tmuxreap.sessions.state import told_of

    facts, shown = _facts(context, row, sight)
    return session_result(
        context, row, sight, said, facts, told=told_of(context, sight, said, shown)
    )


def _facts(context: Context, row: Row, sight: Sight) -> tuple[dict[str, object], Shows | None]:
    from tmuxreap.core.masking import kept_screen
    from tmuxreap.sessions.conversation import screen_of  # with the agents' stores
    from tmuxreap.sessions.state import shows

    profile = context.profile_of(row)
    known = context.finder.known_of(row, sight, profile)
    pane = sight.pane.id if sight.pane else ""
    plain, text = (
        context.tmux.ask(sight.socket, [Question(pane), Question(pane, joined=True)])
        if pane
        else (None, None)
    )
    screen = screen_of(profile, known, plain) if sight.agent else None
    if row.terminal is Terminal.NONE:
        text = context.drawn(row)
    facts = {
        "processes": [_process(context, one) for one in sight.owned.own],
        "protected": [_process(context, one) for one in sight.owned.spared],
        "pane_state": screen.state.value if screen else sight.live.value,
        "locators": [{**known.conversation.as_json(), "candidates": list(known.candidates)}],
        "screen": kept_screen(text) if text is not None else row.data.get("last_visible_status"),
        "ended_by": _ended_by(context, row),
    }
    return facts, shows(screen) if screen else None


def _ended_by(context: Context, row: Row) -> object:
    """Who ended it; None of one that runs, and where nobody did."""
    if not row.status.ended:
        return None
    told = [event for event in context.books.events({row.name}, None) if event.kind in LIVES]
    return told[-1].data.get("ended_by") if told else None


# What makes an end the last one, or undoes it.
LIVES = frozenset({"stopped", "killed", "terminated", "dead", "started", "resumed", "adopted"})


def _process(context: Context, one: Belonging) -> dict[str, object]:
    process = one.process
    started = round(context.processes.started_epoch(process.id), 2)
    return {"pid": process.pid, "started": started, "name": process.comm, "why": one.why}


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
    told: Told | None = None
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
            **_state_json(self.told),
            **self.recorded.as_json(),
            **self.facts,
            **error,
        }


def _state_json(told: Told | None) -> dict[str, object]:
    return {
        "state": told.state.value if told and told.state else None,
        "state_since": iso(told.since) if told and told.since is not None else None,
        "state_source": told.source if told else None,
        "until": told.until if told else None,
    }
