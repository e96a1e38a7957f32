"""What is known of a row, as `list` and `show` tell it: the row, a look at its session, and what the ledger adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tmuxreap.app import App
from tmuxreap.ledger_records import Heartbeat
from tmuxreap.looking import look_at
from tmuxreap.model import Live, Row, Status
from tmuxreap.ownership import Belonging
from tmuxreap.results import Recorded, SessionResult, megabytes
from tmuxreap.rows import recorded_conversation
from tmuxreap.seams import Question
from tmuxreap.sights import Sight


def session_results(app: App, rows: Sequence[Row]) -> list[SessionResult]:
    beats = app.books.heartbeats()
    sights = [sight for sight, _ in look_at(app, rows, briefly=True)]
    return [session_result(app, row, sight, beats.get(row.name)) for row, sight in zip(rows, sights, strict=True)]


def session_result(
    app: App, row: Row, sight: Sight, beat: Heartbeat | None = None, facts: Mapping[str, object] | None = None
) -> SessionResult:
    session, pane, now = sight.session, sight.pane, app.clock.now()
    agent = app.agent_of(row)
    return SessionResult(
        name=row.name,
        agent=agent,
        status=Status.STOPPED if row.status is Status.ARCHIVED else row.status,
        live=sight.live,
        tmux_server=row.tmux_server,
        pane_id=pane.id if pane else row.pane.id,
        pid=pane.pid if pane else row.pane.pid,
        cwd=row.pane.cwd,
        tags=row.tags,
        conversation_id=recorded_conversation(row, agent),
        resumable=row.resumable is True,
        idle_s=max(0, int(now) - session.activity) if session else None,
        heartbeat_age_s=max(0, int(now - beat.at)) if beat else None,
        attached=bool(session and session.attached),
        memory_mb=megabytes(sum(app.processes.memory(one.process.id) for one in sight.owned.own)),
        drift=drift_of(row, sight),
        recorded=_recorded(app, row),
        facts=facts or {},
        failure=sight.trouble if facts is not None and sight.live is Live.UNKNOWN else None,
    )


def _recorded(app: App, row: Row) -> Recorded:
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
        parent=text("parent"),
        keep=row.data.get("keep") is True,
        restart=text("restart"),
        start_command=row.start_command,
        socket=app.socket_of(row),
    )


def drift_of(row: Row, sight: Sight) -> str | None:
    """In which way the registry and the world disagree on this row; None when they agree or it cannot be told."""
    if sight.live is Live.UNKNOWN:
        return None
    if not row.status.ended:
        gone = "survivors" if sight.owned.own else "dead"
        return {Live.GONE: gone, Live.AGENT_GONE: "agent_gone", Live.REPLACED: "replaced"}.get(sight.live)
    if sight.session is not None or sight.live is Live.REPLACED:
        return "revived"
    return "survivors" if sight.owned.own else None


def facts_of(app: App, row: Row, sight: Sight) -> dict[str, object]:
    """What `show` adds."""
    from tmuxreap.conversations import find_conversation, screen_of  # with the agents' stores, which no list needs
    from tmuxreap.mask import kept_screen

    profile = app.profile_of(row)
    known = find_conversation(app, row, sight, profile)
    pane = sight.pane.id if sight.pane else ""
    plain, text = app.tmux.ask(sight.socket, [Question(pane), Question(pane, joined=True)]) if pane else (None, None)
    screen = screen_of(profile, known, plain) if sight.agent else None
    return {
        "processes": [_process(app, one) for one in sight.owned.own],
        "protected": [_process(app, one) for one in sight.owned.spared],
        "pane_state": screen.state.value if screen else sight.live.value,
        "locators": [{**known.conversation.as_json(), "candidates": list(known.candidates)}],
        "screen": kept_screen(text) if text is not None else row.data.get("last_visible_status"),
    }


def _process(app: App, one: Belonging) -> dict[str, object]:
    process = one.process
    started = round(app.processes.started_epoch(process.id), 2)
    return {"pid": process.pid, "started": started, "name": process.comm, "why": one.why}
