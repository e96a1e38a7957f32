"""Finds what a start left whose owner died before it wrote its row. Never writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tmuxreap.commands.reconcile.drift import Drift, DriftKind
from tmuxreap.core.errors import command
from tmuxreap.core.model import Row, Server, Session, Terminal, Unreachable
from tmuxreap.ledger.records import Intent, PaneOption
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.look import BANNER_OPTION
from tmuxreap.system.environment import MARK


def drift_of_start(context: Context, rows: Sequence[Row], intent: Intent) -> Drift | None:
    """Report the session that the start made, as long as it exists and no row records it; else
    close the intent. None if tmux cannot tell."""
    facts = json.loads(intent.plan)
    row = next((row for row in rows if row.name == intent.name), None)
    if is_headless(intent):
        return _of_headless(context, row, intent, facts)
    server = context.tmux.look(facts["socket"])
    if isinstance(server, Unreachable):
        return None
    session = server.named(intent.name) if isinstance(server, Server) else None
    if not isinstance(server, Server) or session is None:
        hidden = isinstance(server, Server) and server.may_hide(None, intent.name)
        return None if hidden else _closed(intent)
    if not _made_by(context, session, intent, facts):
        return _closed(intent)
    # a start keeps dead panes until it has confirmed the agent
    kept = (pane for pane in session.panes if pane.remain_on_exit == "on")
    options = tuple(PaneOption(server.socket, pane.id, BANNER_OPTION, None) for pane in kept)
    if row is not None and _is_recorded(row, session):  # recorded by the start, or adopted since
        return _closed(intent, options)
    flag = ("--server", str(facts["server"])) if facts["server"] else ()
    hint = command("adopt", intent.name, "--agent", facts["agent"], *flag)
    return _unrecorded(row, intent, "its session", hint, options)


def is_headless(intent: Intent) -> bool:
    """Tell whether the start made a process without tmux, and no session."""
    return bool(json.loads(intent.plan).get("terminal") == Terminal.NONE.value)


def _of_headless(
    context: Context, row: Row | None, intent: Intent, facts: Mapping[str, Any]
) -> Drift:
    from tmuxreap.commands.starting.outside import process_of  # few sessions need it

    process = process_of(context, intent)
    if process is None:
        return _closed(intent)
    if row is not None and not row.status.ended and row.pane.pid == process.pid:
        return _closed(intent)
    hint = command("adopt", intent.name, "--pid", str(process.pid), "--agent", facts["agent"])
    return _unrecorded(row, intent, f"its process {process.pid}", hint)


def _closed(intent: Intent, options: tuple[PaneOption, ...] = ()) -> Drift:
    evidence = "a start of it was not closed"
    return Drift(intent.name, DriftKind.INTENT, evidence, {}, intent, restore=options)


def _unrecorded(
    row: Row | None, intent: Intent, made: str, hint: str, options: tuple[PaneOption, ...] = ()
) -> Drift:
    kind = DriftKind.UNREGISTERED if row is None else DriftKind.REVIVED
    evidence = f"a start made {made}, and was ended before it was recorded"
    return Drift(intent.name, kind, evidence, hint=hint, restore=options)


def _is_recorded(row: Row, session: Session) -> bool:
    known = (row.tmux.session_id, row.tmux.session_created)
    return not row.status.ended and known == (session.id, session.created)


def _made_by(context: Context, session: Session, intent: Intent, facts: Mapping[str, Any]) -> bool:
    """Tell whether the start made this session: by its mark or, if none is left, by its age."""
    leaders = (context.processes.identify(pane.pid or 0) for pane in session.panes if not pane.dead)
    marks = {(context.processes.environ(one) or {}).get(MARK) for one in leaders if one} - {None}
    return bool(marks & {*facts["marks"]}) if marks else session.created >= int(intent.created_at)
