"""The ledger's tables as SQL text, with their schema version, the two that other tools share,
`agent_lifecycle` and `orchestrator_task`; and how its file is made with them, for hooks, heartbeats
and every verb alike. Imports nothing slow, as a hook uses it. Columns may be added to what others
read, never removed.

Never alters a table that another tool has created, and never knows what a row or an intent is."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Sequence

VERSION = 6
TABLES = (
    """CREATE TABLE IF NOT EXISTS sessions (
        name TEXT PRIMARY KEY, status TEXT, pane_cwd TEXT, data TEXT)""",
    """CREATE TABLE IF NOT EXISTS mirrored (
        id INTEGER PRIMARY KEY CHECK (id = 1), digest TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS events (
        id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, timestamp TEXT NOT NULL,
        name TEXT NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL, before TEXT)""",
    "CREATE INDEX IF NOT EXISTS events_of ON events (name, id)",
    # Each session's newest end in short (`registry.transitions.end_key`): compared at each look.
    "CREATE TABLE IF NOT EXISTS ends (name TEXT PRIMARY KEY, shows TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS intents (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, verb TEXT NOT NULL,
        reason TEXT NOT NULL, scope TEXT NOT NULL, owner_pid INTEGER NOT NULL,
        owner_start INTEGER NOT NULL, owner_host_boot TEXT NOT NULL,
        created_at REAL NOT NULL, deadline REAL NOT NULL, options TEXT NOT NULL, plan TEXT NOT NULL,
        outcome TEXT, result TEXT, closed_at REAL, taken_over_by INTEGER, handed_from INTEGER)""",
    "CREATE UNIQUE INDEX IF NOT EXISTS one_open_intent ON intents (name) WHERE outcome IS NULL",
    """CREATE TABLE IF NOT EXISTS survivors (
        name TEXT NOT NULL, pid INTEGER NOT NULL, start INTEGER NOT NULL, boot_id TEXT NOT NULL,
        comm TEXT NOT NULL, since REAL NOT NULL, intent_id INTEGER,
        PRIMARY KEY (name, pid, start, boot_id))""",
    """CREATE TABLE IF NOT EXISTS seen (
        name TEXT NOT NULL, pid INTEGER NOT NULL, start INTEGER NOT NULL, boot_id TEXT NOT NULL,
        tmux TEXT, pane TEXT, mark TEXT, PRIMARY KEY (name, pid, start, boot_id))""",
    """CREATE TABLE IF NOT EXISTS marks (
        mark TEXT PRIMARY KEY, name TEXT NOT NULL, created_at REAL NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS marks_of ON marks (name)",
    """CREATE TABLE IF NOT EXISTS heartbeats (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, at REAL NOT NULL,
        state TEXT NOT NULL, kind TEXT NOT NULL, conversation_id TEXT, data TEXT NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS heartbeats_of ON heartbeats (name, id)",
    # A trigger, so that a heartbeat is a single INSERT: agents send one with every tool call.
    """CREATE TRIGGER IF NOT EXISTS heartbeats_kept AFTER INSERT ON heartbeats BEGIN
        DELETE FROM heartbeats WHERE name = NEW.name AND id <= (
            SELECT id FROM heartbeats WHERE name = NEW.name ORDER BY id DESC LIMIT 1 OFFSET 50);
    END""",
    """CREATE TABLE IF NOT EXISTS readings (
        what TEXT PRIMARY KEY, stamp TEXT NOT NULL, data TEXT NOT NULL)""",
    # What other tools wrote into our view `agent_lifecycle`, shown until the row's status changes.
    """CREATE TABLE IF NOT EXISTS lifecycle_words (
        agent_id TEXT PRIMARY KEY, pid INTEGER, status TEXT, task_id TEXT, completed_at TEXT,
        error_message TEXT)""",
    """CREATE TABLE IF NOT EXISTS orchestrator_task (
        task_id TEXT PRIMARY KEY, status TEXT, error_message TEXT, updated_at TEXT)""",
)

# Tables that another tool, or an older version of ours, may have created, and the columns that we
# need in them: those that are missing are added when `VERSION` is higher than the ledger's.
SHARED_COLUMNS = {"sessions": ("name", "status", "pane_cwd", "data")}

# Numbers keep rising when a ledger is replaced, so that an old number never means a new record.
FIRST_NUMBER = """INSERT INTO sqlite_sequence (name, seq)
    SELECT ?, ? WHERE ? NOT IN (SELECT name FROM sqlite_sequence)"""
NUMBERED = ("events", "intents")

# A row that is not valid JSON must not break the view. A stalled agent that was ended counts as
# killed, whichever rung did it.
_FACTS = """SELECT name, status, status <> 'running' AS ended,
        json_extract(facts, '$.pane.pid') AS pid, json_extract(facts, '$.task_id') AS task_id,
        coalesce(json_extract(facts, '$.stopped_at'), json_extract(facts, '$.terminated_at')) AS at,
        coalesce(json_extract(facts, '$.stop_reason'), 'killed') AS reason,
        json_extract(facts, '$.termination_mode') AS mode
    FROM (SELECT name, status, CASE WHEN json_valid(data) THEN data ELSE '{}' END AS facts
        FROM sessions)"""
# For an SQLite built without JSON functions.
_FACTS_WITHOUT_JSON = """SELECT name, status, status <> 'running' AS ended, NULL AS pid,
    NULL AS task_id, NULL AS at, NULL AS reason, NULL AS mode FROM sessions"""
_SEEN = """SELECT *,
    ended AND (mode = 'kill' OR reason = 'stalled' OR reason LIKE 'stalled: %') AS killed
    FROM ({facts})"""
_OURS = """SELECT name AS agent_id, pid,
        CASE WHEN killed THEN 'killed' ELSE status END AS status, task_id,
        CASE WHEN ended THEN at END AS completed_at,
        CASE WHEN killed THEN 'Agent killed: ' || reason END AS error_message, ended
    FROM ({seen})"""
_VIEW = """CREATE VIEW agent_lifecycle AS
    SELECT ours.agent_id, coalesce(ours.pid, words.pid) AS pid,
        CASE WHEN ended THEN ours.status ELSE coalesce(words.status, ours.status) END AS status,
        coalesce(ours.task_id, words.task_id) AS task_id,
        (SELECT strftime('%Y-%m-%dT%H:%M:%SZ', max(at), 'unixepoch') FROM heartbeats
            WHERE heartbeats.name = ours.agent_id AND kind <> 'lifecycle') AS last_heartbeat,
        CASE WHEN ended THEN ours.completed_at ELSE words.completed_at END AS completed_at,
        CASE WHEN ended THEN ours.error_message ELSE words.error_message END AS error_message
    FROM ({ours}) AS ours LEFT JOIN lifecycle_words AS words ON words.agent_id = ours.agent_id
    UNION ALL SELECT agent_id, pid, status, task_id,
        (SELECT strftime('%Y-%m-%dT%H:%M:%SZ', max(at), 'unixepoch') FROM heartbeats
            WHERE heartbeats.name = agent_id AND kind <> 'lifecycle'), completed_at, error_message
        FROM lifecycle_words WHERE agent_id NOT IN (SELECT name FROM sessions)"""

EPOCH = """CAST(CASE WHEN typeof({at}) IN ('integer', 'real') THEN {at}
    ELSE coalesce((julianday({at}) - 2440587.5) * 86400.0, {now}) END AS REAL)"""
_NOW = "((julianday('now') - 2440587.5) * 86400.0)"
_BEAT = """INSERT INTO heartbeats (name, at, state, kind, conversation_id, data)
    SELECT NEW.agent_id, {at}, {state}, {kind}, NULL, '' WHERE {when}"""
_WORDS = """INSERT OR REPLACE INTO lifecycle_words
    (agent_id, pid, status, task_id, completed_at, error_message)
    VALUES (NEW.agent_id, NEW.pid, NEW.status, NEW.task_id,
    NEW.completed_at, NEW.error_message)"""
_SAID = _BEAT.format(
    at=EPOCH.format(at="NEW.last_heartbeat", now=_NOW),
    state="''",
    kind="'heartbeat'",
    when="{beat}",
)
_STALLED = _BEAT.format(at=_NOW, state="'stalled'", kind="'lifecycle'", when="{stalled}")
_TRIGGER = (
    "CREATE TRIGGER agent_lifecycle_{verb} INSTEAD OF {verb} ON agent_lifecycle BEGIN {body}; END"
)


def lives(with_json: bool) -> str:
    """Return the query for each session's lifecycle, as our view or another tool's table has it."""
    return _OURS.format(seen=_SEEN.format(facts=_FACTS if with_json else _FACTS_WITHOUT_JSON))


def lifecycle(with_json: bool) -> tuple[str, ...]:
    """Return the statements that recreate our view, with the triggers that make it writable."""
    beat = "NEW.last_heartbeat IS NOT NULL"
    stalled = "NEW.status = 'stalled'"
    changed = f"{beat} AND NEW.last_heartbeat IS NOT OLD.last_heartbeat"
    again = f"{stalled} AND OLD.status IS NOT 'stalled'"
    added = (_WORDS, _SAID.format(beat=beat), _STALLED.format(stalled=stalled))
    updated = (_WORDS, _SAID.format(beat=changed), _STALLED.format(stalled=again))
    return (
        "DROP VIEW IF EXISTS agent_lifecycle",
        _VIEW.format(ours=lives(with_json)),
        _TRIGGER.format(verb="INSERT", body=";".join(added)),
        _TRIGGER.format(verb="UPDATE", body=";".join(updated)),
        _TRIGGER.format(
            verb="DELETE", body="DELETE FROM lifecycle_words WHERE agent_id = OLD.agent_id"
        ),
    )


LIFECYCLE_IS_TABLE = "SELECT 1 FROM sqlite_master WHERE name = 'agent_lifecycle' AND type = 'table'"

# A view of another tool's: ours reads its words from a table of this name.
LIFECYCLE_IS_THEIRS = """SELECT 1 FROM sqlite_master WHERE name = 'agent_lifecycle'
    AND (type = 'table' OR type = 'view' AND sql NOT LIKE '%lifecycle_words%')"""

SHOWN_DIGEST = "SELECT digest FROM mirrored"  # of the registry that the mirror shows

INTENT = """SELECT name, verb, reason, scope, owner_pid, owner_start, owner_host_boot, deadline,
    options, plan, id, created_at, outcome, result, closed_at, taken_over_by, handed_from
    FROM intents"""
ADD_INTENT = """INSERT INTO intents
    (name, verb, reason, scope, owner_pid, owner_start, owner_host_boot, created_at,
    deadline, options, plan) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

# The kinds of events that begin a session, that say how a command ended it (`ended_with`: another
# row of the same session was ended), and that it ended without one.
BEGINNINGS = ("started", "resumed", "adopted", "restarted")
ENDINGS = ("stopped", "killed", "terminated")
ENDED_WITH = "ended_with"
DEAD = "dead"
ENDS = (*ENDINGS, ENDED_WITH, DEAD)


def listed(kinds: Sequence[str]) -> str:
    """Return them as SQL lists them."""
    return ", ".join(f"'{kind}'" for kind in kinds)


EVENT = "SELECT id, at, timestamp, name, kind, data, before FROM events"
# Each of them may hold the row's `life` after it.
LIVES = f"""{EVENT} WHERE kind IN ({listed((*BEGINNINGS, *ENDS))}, 'id_changed',
    'moved', 'intent', 'reverted')"""
# Of each session. Endings without `row_kept` are those that a row was ended by; one that another
# process finished stands in an event of `reconcile`.
NEWEST_ENDS = f"""{EVENT} WHERE id IN (SELECT max(id) FROM events WHERE (
        kind IN ({listed(ENDS)})
        AND data NOT LIKE '%"row_kept": true%' OR kind = 'intent' AND data LIKE '%"set": "%')
    GROUP BY name)"""
NEWEST_STATE = """SELECT data FROM events WHERE name = ? AND kind = 'state' AND at >= ?
    ORDER BY id DESC LIMIT 1"""
# Of each session; a beginning has none.
NEWEST_STATES = f"""SELECT name, kind, json_extract(data, '$.state'), max(at) FROM events
    WHERE kind IN ('state', {listed(BEGINNINGS)}) GROUP BY name"""
NEWEST_STARTS = f"""SELECT name, max(id) FROM events
    WHERE kind IN ({listed(BEGINNINGS)}) GROUP BY name"""
# Of a stop or a kill: what a `reap` or a `watch` ends is a verdict that nobody gave by name.
NEWEST_SET = f"""{EVENT} WHERE kind IN ({listed((*ENDINGS, DEAD))}, 'intent')
    AND data LIKE '%"set": "%' AND data NOT LIKE '%"row_kept": true%'
    AND data NOT LIKE '%"tool": "reap"%' AND data NOT LIKE '%"tool": "watch"%'
    ORDER BY id DESC LIMIT 1"""
ADD_EVENT = "INSERT INTO events (at, timestamp, name, kind, data, before) VALUES (?, ?, ?, ?, ?, ?)"

# The type of `at` is checked, as SQLite does not enforce it.
HEARTBEAT = """SELECT name, at, state, kind, conversation_id, data FROM heartbeats
    WHERE typeof(at) = 'real' AND at BETWEEN 0 AND 1e11"""
PULSE = """SELECT name, kind, state, at, (SELECT told.conversation_id FROM heartbeats AS told
        WHERE told.name = last.name AND told.conversation_id IS NOT NULL
        ORDER BY told.id DESC LIMIT 1), data
    FROM heartbeats AS last WHERE typeof(at) = 'real' AND at BETWEEN 0 AND 1e11
        AND id IN (SELECT max(id) FROM heartbeats GROUP BY name)"""
ADD_HEARTBEAT = """INSERT INTO heartbeats (name, at, state, kind, conversation_id, data)
    VALUES (?, ?, ?, ?, ?, ?)"""

# The name of a report whose row no look had seen begins like no row's, until one finds the row. The
# report keeps its number, and so its place among the later ones.
UNPLACED = "\x01"
UNPLACED_REPORTS = "SELECT id, at, data FROM heartbeats WHERE name > '\x01' AND name < '\x02'"
PLACE = "UPDATE heartbeats SET name = ? WHERE id = ?"
RETIRE_UNPLACED = "DELETE FROM heartbeats WHERE name > '\x01' AND name < '\x02' AND at < ?"

# A known survivor keeps the time when it was first seen.
ADD_SURVIVOR = """INSERT OR IGNORE INTO survivors
    (name, pid, start, boot_id, comm, since, intent_id) VALUES (?, ?, ?, ?, ?, ?, ?)"""

SEEN = "SELECT name, pid, start, tmux, pane, mark FROM seen WHERE boot_id = ?"
SEEN_IN = """SELECT name FROM seen WHERE pid = ? AND start = ? AND boot_id = ?
    AND name IN (SELECT name FROM sessions WHERE status = 'running')"""
SEEN_LEADER = """SELECT start, boot_id FROM seen
    WHERE name = ? AND pid = ? AND pane IS NOT NULL ORDER BY rowid DESC LIMIT 1"""
ADD_SEEN = """INSERT OR REPLACE INTO seen (name, pid, start, boot_id, tmux, pane, mark)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""
DROP_SEEN = "DELETE FROM seen WHERE name = ? AND pid = ? AND start = ? AND boot_id = ?"

RETIRE_HEARTBEATS = """DELETE FROM heartbeats WHERE typeof(at) <> 'text' AND at < ?
    AND name NOT IN (SELECT name FROM intents WHERE outcome IS NULL)
    AND name NOT IN (SELECT name FROM survivors)
    AND id NOT IN (SELECT max(id) FROM heartbeats WHERE conversation_id IS NOT NULL
        AND name IN (SELECT name FROM sessions) GROUP BY name)"""
# Only events of a changed state; all others are kept.
RETIRE_STATES = """DELETE FROM events WHERE kind = 'state' AND before IS NULL AND at < ?
    AND name NOT IN (SELECT name FROM intents WHERE outcome IS NULL)
    AND name NOT IN (SELECT name FROM survivors)"""


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
        f"SELECT {', '.join(known)}, ended FROM ({lives(with_json)}) WHERE agent_id = ?",
        (name,),
    )
    for *values, ended in living.fetchall():
        fields = ", ".join(f"{column} = ?" for column in known)
        # While it runs, the other tool's status is kept, unless that says it has ended.
        if ended:
            when = ""
        else:
            when = " AND status IN ('killed', 'stopped', 'terminated')"
        with contextlib.suppress(sqlite3.Error):  # a constraint of that tool; `doctor` reports it
            db.execute(f"UPDATE {NAME} SET {fields} WHERE agent_id = ?{when}", (*values, name))


def set_task(
    db: sqlite3.Connection, task_id: str, status: str, error_message: str | None, at: str
) -> None:
    """Update or insert a task. Never REPLACE: another tool's table may have further columns."""
    values = dict(zip(TASK, (status, error_message, at), strict=True))
    known = {}
    for name in _columns(db, "orchestrator_task"):
        if name in values:
            known[name] = values[name]
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
    at = EPOCH.format(at="last_heartbeat", now="NULL")
    rows = db.execute(
        f"SELECT agent_id, status = 'stalled', {at} FROM {NAME} WHERE last_heartbeat IS NOT NULL"
    )
    found: list[tuple[str, str, str, float]] = []
    for name, stalled, moment in rows.fetchall():
        if isinstance(moment, float):
            found.append(
                (str(name), *(("lifecycle", "stalled") if stalled else ("heartbeat", "")), moment)
            )
    return found


def find_problems(db: sqlite3.Connection, with_json: bool) -> list[str]:
    """Report what cannot be written to other tools' tables, and why."""
    problems = []
    is_table = db.execute(LIFECYCLE_IS_TABLE).fetchone()
    wanted = {NAME: ("agent_id", *ENDING), "orchestrator_task": ("task_id", *TASK)}
    for table, columns in wanted.items():
        present = _columns(db, table)
        missing = [name for name in columns if name not in present]
        if missing and present and (table != NAME or is_table):
            problems.append(
                f"the table {table} is another tool's and has no {', '.join(missing)}: not written"
            )
    if is_another_tools(db) and not is_table:
        problems.append(f"{NAME} is a view of another tool's: nothing is written into it")
    elif is_table and {"agent_id", "status"} <= set(_columns(db, NAME)):
        for name, theirs, ours in db.execute(
            f"SELECT agent_id, {NAME}.status, ours.status FROM {NAME} JOIN"
            f" ({lives(with_json)}) AS ours USING (agent_id) WHERE ended AND"
            f" {NAME}.status IS NOT ours.status"
        ):
            problems.append(
                f"the table {NAME} is another tool's and says that {name} is {theirs},"
                f" not {ours}: its rules refuse that"
            )
    return problems


def is_another_tools(db: sqlite3.Connection) -> bool:
    """Tell whether `agent_lifecycle` is a table or another tool's view, not our view."""
    return bool(db.execute(LIFECYCLE_IS_THEIRS).fetchone())


def _columns(db: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


MODE = 0o600  # it contains drafts and screens


def create(path: str, now: float) -> None:
    """Give the path a ledger, unless it has one.

    It gets its name when it is complete, so that nobody finds a file without tables: agents that
    start at the same moment all report at once. On a file system without links it is empty, and
    whoever opens it makes the tables."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.{os.urandom(6).hex()}.tmp")  # noqa: PTH118 - pathlib is not worth its import here
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
    try:
        os.fchmod(descriptor, MODE)  # whatever the umask
        _fill(temporary, now)
        os.fsync(descriptor)
        _publish(temporary, path)
    finally:
        os.close(descriptor)
        os.unlink(temporary)  # noqa: PTH108
    from tmuxreap.system.files import sync_folder  # imported late, as a hook rarely needs it

    sync_folder(folder)


def _fill(path: str, now: float) -> None:
    with contextlib.closing(connect(path, 0)) as db:
        # Nobody else knows this file: it needs no journal, and is synced once, when it is complete.
        db.execute("PRAGMA journal_mode = MEMORY")
        db.execute("PRAGMA synchronous = OFF")
        bring_up_to_date(db, now)
        db.execute("PRAGMA journal_mode = WAL")


def _publish(temporary: str, path: str) -> None:
    try:
        os.link(temporary, path)
    except FileExistsError:  # another process was faster
        pass
    except OSError:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, MODE))


def open_ledger(path: str, busy_s: float, now: float) -> sqlite3.Connection:
    """Open an existing ledger to write to it."""
    db = connect(path, busy_s)
    try:
        prepare(db, now)
    except BaseException:
        db.close()
        raise
    return db


def connect(path: str, busy_s: float) -> sqlite3.Connection:
    """Open an existing file: SQLite must not create it, as it would not make it private."""
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(
        f"file://{quoted}?mode=rw", uri=True, timeout=busy_s, isolation_level=None
    )


def prepare(db: sqlite3.Connection, now: float) -> None:
    """Let commits not wait for the disk, and make the tables that an empty or older ledger does
    not have."""
    db.execute("PRAGMA synchronous = NORMAL")
    bring_up_to_date(db, now)


def bring_up_to_date(db: sqlite3.Connection, now: float) -> None:
    if version_of(db) < VERSION:
        with db:  # which commits, or rolls back
            db.execute("BEGIN IMMEDIATE")
            _make_tables(db, now)


def _make_tables(db: sqlite3.Connection, now: float) -> None:
    if version_of(db) >= VERSION:  # another process was faster
        return
    for statement in TABLES:
        db.execute(statement)
    if not db.execute(LIFECYCLE_IS_THEIRS).fetchone():
        for statement in lifecycle(supports_json(db)):
            db.execute(statement)
    for table, columns in SHARED_COLUMNS.items():
        present = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
        for column in columns:
            if column not in present:
                db.execute(f"ALTER TABLE {table} ADD COLUMN {column} TEXT")
    for table in NUMBERED:
        db.execute(FIRST_NUMBER, (table, int(now * 1000), table))
    db.execute(f"PRAGMA user_version = {VERSION}")


def version_of(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def supports_json(db: sqlite3.Connection) -> bool:
    try:
        db.execute("SELECT json_valid('{}')")
    except sqlite3.OperationalError:
        return False
    return True
