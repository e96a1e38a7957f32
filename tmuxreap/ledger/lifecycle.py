"""Reads and writes the tables `agent_lifecycle` and `orchestrator_task`, shared with other tools.

In a table that another tool has created, only known columns of existing rows are written; its
schema is never altered. Otherwise `agent_lifecycle` is a writable view of ours: `schema`."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence

from tmuxreap.ledger import schema as schema

NAME = "agent_lifecycle"
ENDING = ("status", "completed_at", "error_message")
TASK = ("status", "error_message", "updated_at")


def follow(db: sqlite3.Connection, names: Sequence[str], *, with_json: bool) -> None:
    """Update these agents in another tool's table from their rows."""
    known = tuple(name for name in _columns(db, NAME) if name in ENDING)
    for name in names if "status" in known else ():
        _follow(db, name, known, with_json)


def _follow(db: sqlite3.Connection, name: str, known: Sequence[str], with_json: bool) -> None:
    living = db.execute(
        f"SELECT {', '.join(known)}, ended FROM ({schema.lives(with_json)}) WHERE agent_id = ?",
        (name,),
    )
    for *values, ended in living.fetchall():
        fields = ", ".join(f"{column} = ?" for column in known)
        # While it runs, the other tool's status is kept, unless that says it has ended.
        when = "" if ended else " AND status IN ('killed', 'stopped', 'terminated')"
        with contextlib.suppress(sqlite3.Error):  # a constraint of that tool; `doctor` reports it
            db.execute(f"UPDATE {NAME} SET {fields} WHERE agent_id = ?{when}", (*values, name))


def set_task(
    db: sqlite3.Connection, task_id: str, status: str, error_message: str | None, at: str
) -> None:
    """Update or insert a task. Never REPLACE: another tool's table may have further columns."""
    values = dict(zip(TASK, (status, error_message, at), strict=True))
    known = {name: values[name] for name in _columns(db, "orchestrator_task") if name in values}
    fields = ", ".join(f"{name} = ?" for name in known)
    change = f"UPDATE orchestrator_task SET {fields} WHERE task_id = ?"
    if not db.execute(change, (*known.values(), task_id)).rowcount:
        marks = ", ".join("?" * (len(known) + 1))
        add = f"INSERT INTO orchestrator_task ({', '.join((*known, 'task_id'))}) VALUES ({marks})"
        db.execute(add, (*known.values(), task_id))


def read_heartbeats(db: sqlite3.Connection) -> list[tuple[str, str, str, float]]:
    """Return name, kind, state and time of the heartbeats and stalled agents in another tool's
    table."""
    if not {"agent_id", "last_heartbeat", "status"} <= set(_columns(db, NAME)):
        return []
    at = schema.EPOCH.format(at="last_heartbeat", now="NULL")
    rows = db.execute(
        f"SELECT agent_id, status = 'stalled', {at} FROM {NAME} WHERE last_heartbeat IS NOT NULL"
    )
    return [
        (str(name), *(("lifecycle", "stalled") if stalled else ("heartbeat", "")), moment)
        for name, stalled, moment in rows.fetchall()
        if isinstance(moment, float)
    ]


def find_problems(db: sqlite3.Connection, with_json: bool) -> list[str]:
    """Report what cannot be written to other tools' tables, and why."""
    problems = []
    wanted = {NAME: ("agent_id", *ENDING), "orchestrator_task": ("task_id", *TASK)}
    for table, columns in wanted.items():
        present = _columns(db, table)
        missing = [name for name in columns if name not in present]
        if missing and present and (table != NAME or is_another_tools(db)):
            problems.append(
                f"the table {table} is another tool's and has no {', '.join(missing)}: not written"
            )
    if is_another_tools(db) and {"agent_id", "status"} <= set(_columns(db, NAME)):
        problems += [
            f"the table {NAME} is another tool's and says that {name} is {theirs}, not {ours}: its"
            " rules refuse that"
            for name, theirs, ours in db.execute(
                f"SELECT agent_id, {NAME}.status, ours.status FROM {NAME} JOIN"
                f" ({schema.lives(with_json)}) AS ours USING (agent_id) WHERE ended AND"
                f" {NAME}.status IS NOT ours.status"
            )
        ]
    return problems


def is_another_tools(db: sqlite3.Connection) -> bool:
    """Tell whether `agent_lifecycle` is a table, not our view."""
    return bool(db.execute(schema.LIFECYCLE_IS_TABLE).fetchone())


def _columns(db: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
