"""The tables of the ledger, as SQL text. Owns their shape and its version; runs nothing.

`sessions`, `orchestrator_task` and `agent_lifecycle` are read by other tools: their columns only ever grow.
"""

from __future__ import annotations

VERSION = 2

TABLES = (
    "CREATE TABLE IF NOT EXISTS sessions (name TEXT PRIMARY KEY, status TEXT, pane_cwd TEXT, data TEXT)",
    "CREATE TABLE IF NOT EXISTS mirrored (id INTEGER PRIMARY KEY CHECK (id = 1), digest TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS events (
        id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, timestamp TEXT NOT NULL,
        name TEXT NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL, before TEXT)""",
    "CREATE INDEX IF NOT EXISTS events_of ON events (name, id)",
    """CREATE TABLE IF NOT EXISTS intents (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, verb TEXT NOT NULL, reason TEXT NOT NULL,
        scope TEXT NOT NULL, owner_pid INTEGER NOT NULL, owner_start INTEGER NOT NULL, owner_host_boot TEXT NOT NULL,
        created_at REAL NOT NULL, deadline REAL NOT NULL, options TEXT NOT NULL, plan TEXT NOT NULL,
        outcome TEXT, result TEXT, closed_at REAL, taken_over_by INTEGER, handed_from INTEGER)""",
    "CREATE UNIQUE INDEX IF NOT EXISTS one_open_intent ON intents (name) WHERE outcome IS NULL",
    """CREATE TABLE IF NOT EXISTS survivors (
        name TEXT NOT NULL, pid INTEGER NOT NULL, start INTEGER NOT NULL, boot_id TEXT NOT NULL,
        comm TEXT NOT NULL, since REAL NOT NULL, intent_id INTEGER, PRIMARY KEY (name, pid, start, boot_id))""",
    "CREATE TABLE IF NOT EXISTS marks (mark TEXT PRIMARY KEY, name TEXT NOT NULL, created_at REAL NOT NULL)",
    "CREATE INDEX IF NOT EXISTS marks_of ON marks (name)",
    """CREATE TABLE IF NOT EXISTS heartbeats (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, at REAL NOT NULL, state TEXT NOT NULL,
        kind TEXT NOT NULL, conversation_id TEXT, data TEXT NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS heartbeats_of ON heartbeats (name, id)",
    # A trigger, so that who sends a heartbeat needs one INSERT and no more: agents send one with every tool call.
    """CREATE TRIGGER IF NOT EXISTS heartbeats_kept AFTER INSERT ON heartbeats BEGIN
        DELETE FROM heartbeats WHERE name = NEW.name AND id <= (
            SELECT id FROM heartbeats WHERE name = NEW.name ORDER BY id DESC LIMIT 1 OFFSET 50);
    END""",
    "CREATE TABLE IF NOT EXISTS readings (what TEXT PRIMARY KEY, stamp TEXT NOT NULL, data TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS orchestrator_task (
        task_id TEXT PRIMARY KEY, status TEXT, error_message TEXT, updated_at TEXT)""",
)

# Tables that another tool may have made before us, and what we need to find in them.
SHARED_COLUMNS = {
    "sessions": ("name", "status", "pane_cwd", "data"),
    "orchestrator_task": ("task_id", "status", "error_message", "updated_at"),
}

# Numbers go on rising when a ledger is made anew: nobody's old number ever means another's record.
FIRST_NUMBER = """INSERT INTO sqlite_sequence (name, seq)
    SELECT ?, ? WHERE ? NOT IN (SELECT name FROM sqlite_sequence)"""
NUMBERED = ("events", "intents")

# Rows are other people's YAML: one that is no JSON must not take the view down.
LIFECYCLE = """CREATE VIEW IF NOT EXISTS agent_lifecycle AS
    SELECT name AS agent_id,
        json_extract(facts, '$.pane.pid') AS pid,
        CASE WHEN ended AND mode = 'kill' THEN 'killed' ELSE status END AS status,
        json_extract(facts, '$.task_id') AS task_id,
        (SELECT strftime('%Y-%m-%dT%H:%M:%SZ', max(at), 'unixepoch') FROM heartbeats
            WHERE heartbeats.name = session.name) AS last_heartbeat,
        CASE WHEN ended THEN
            coalesce(json_extract(facts, '$.stopped_at'), json_extract(facts, '$.terminated_at')) END AS completed_at,
        CASE WHEN ended AND mode = 'kill' THEN
            'Agent killed: ' || coalesce(json_extract(facts, '$.stop_reason'), 'killed') END AS error_message
    FROM (SELECT name, status, status <> 'running' AS ended, facts, json_extract(facts, '$.termination_mode') AS mode
        FROM (SELECT name, status, CASE WHEN json_valid(data) THEN data ELSE '{}' END AS facts FROM sessions)
    ) AS session"""

# For an SQLite that was built without its JSON functions.
LIFECYCLE_WITHOUT_JSON = """CREATE VIEW IF NOT EXISTS agent_lifecycle AS
    SELECT name AS agent_id, NULL AS pid, status, NULL AS task_id,
        (SELECT strftime('%Y-%m-%dT%H:%M:%SZ', max(at), 'unixepoch') FROM heartbeats
            WHERE heartbeats.name = sessions.name) AS last_heartbeat,
        NULL AS completed_at, NULL AS error_message
    FROM sessions"""

INTENT = """SELECT id, name, verb, reason, scope, owner_pid, owner_start, owner_host_boot, created_at, deadline,
    options, plan, outcome, result, closed_at, taken_over_by, handed_from FROM intents"""
ADD_INTENT = """INSERT INTO intents (name, verb, reason, scope, owner_pid, owner_start, owner_host_boot, created_at,
    deadline, options, plan) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

EVENT = "SELECT id, at, timestamp, name, kind, data, before FROM events"
ADD_EVENT = "INSERT INTO events (at, timestamp, name, kind, data, before) VALUES (?, ?, ?, ?, ?, ?)"

# `at` is looked at, for SQLite itself lets anything stand there.
HEARTBEAT = """SELECT name, at, state, kind, conversation_id, data FROM heartbeats
    WHERE typeof(at) = 'real' AND at BETWEEN 0 AND 1e11"""
PULSE = """SELECT name, kind, state, at, (SELECT told.conversation_id FROM heartbeats AS told
        WHERE told.name = last.name AND told.conversation_id IS NOT NULL ORDER BY told.id DESC LIMIT 1), data
    FROM heartbeats AS last WHERE typeof(at) = 'real' AND at BETWEEN 0 AND 1e11
        AND id IN (SELECT max(id) FROM heartbeats GROUP BY name)"""
ADD_HEARTBEAT = "INSERT INTO heartbeats (name, at, state, kind, conversation_id, data) VALUES (?, ?, ?, ?, ?, ?)"

# Those known already keep the time at which they were first seen to survive.
ADD_SURVIVOR = """INSERT OR IGNORE INTO survivors (name, pid, start, boot_id, comm, since, intent_id)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""
