"""Finds the caller's row and its ledger: its mark, its ancestors and its conversation are compared
with what the ledger has recorded. Judges nothing itself, and never writes.

A report of a pane is placed by who reads it (`proof.servers`), unless a look has seen one of its
processes. The rows that the ledger shows are read for the conversation alone: a server that runs
several sessions has the mark and the pane of who started it, and only their conversations differ.
Their reports cannot wait for a reader: other tools read `last_heartbeat` in the ledger by SQL, and
a stop after the turn is answered now.

Every tool call of every agent comes through here: it imports almost nothing, and reads as little as
it can."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import time

from tmuxreap.agents.hooks.events import may_be_agent
from tmuxreap.ledger.schema import SEEN_IN, UNPLACED
from tmuxreap.system.processes import procfs
from tmuxreap.system.whereabouts import ledger_beside, nearest_registry, tmux_server_of

# Programs between an agent and us that are not the agent.
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "fish", "ash")
BETWEEN = frozenset((*_SHELLS, "busybox", "env", "timeout", "nice", "uv", "uvx"))
TMUX_SERVER = "tmux: server"
DEPTH = 6
LONGEST = 64 * 1024 * 1024  # bytes; no registry is longer

Facts = dict[str, object]
Speaker = tuple[int, int, int, str]  # pid, start, terminal, program


def read_facts(text: str) -> Facts:
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def row_of_caller(
    db: sqlite3.Connection, agent: str, conversation: str | None, speaker: Speaker | None
) -> str | None:
    """Return the row of the caller: by its mark, its ancestors or its conversation.

    A process without a terminal may have the environment of another: a daemon that serves several
    agents from the first one's pane, or an agent started by this one's tool. For these the
    conversation comes first; without a row of that conversation, the report is no evidence of one
    (see the locator `hook`)."""
    talker = None
    if conversation:
        talker = _by_conversation(db, conversation)
    if talker is not None and speaker is not None and not speaker[2]:
        return talker
    name = _by_mark(db, os.environ.get("TMUXREAP_ID", "")) or _by_ancestor(db)
    if name is not None and agent and not _is_of(db, name, agent):
        return None
    return name or talker


def is_own_agent(
    db: sqlite3.Connection, name: str, agent: str, conversation: str | None, speaker: Speaker | None
) -> bool:
    """Tell whether the caller is the row's agent, and did not just inherit its environment: only
    the agent may be told to halt."""
    if speaker is None or speaker[2] or conversation is None or not may_be_agent(speaker[3], agent):
        return True
    conversations: list[object] = []
    for _, row in _running(db, "", name):
        conversations += filter(None, _conversations(row))
    return not conversations or conversation in conversations


def _by_mark(db: sqlite3.Connection, mark: str) -> str | None:
    """Return the session with this mark, unless it was started again since. It may still be
    starting: an agent reports before its start is confirmed."""
    if not mark:
        return None
    for name, plan in db.execute(
        "SELECT name, plan FROM intents WHERE outcome IS NULL AND verb = 'start'"
    ):
        from tmuxreap.ledger.records import RecordedStart  # rarely is a start in progress

        if RecordedStart.from_text(plan).marks[:1] == (mark,):
            return str(name)
    match = db.execute("SELECT name FROM marks WHERE mark = ?", (mark,)).fetchone()
    latest = "SELECT mark FROM marks WHERE name = ? ORDER BY created_at DESC, rowid DESC LIMIT 1"
    if match and db.execute(latest, match).fetchone() == (mark,):
        return str(match[0])
    return None


def _by_ancestor(db: sqlite3.Connection) -> str | None:
    """Return the row that an ending in progress or a look has found an ancestor of ours in. The
    report of a row that neither knows yet is placed when it is read (`proof.servers`)."""
    socket, above = server_and_ancestors()
    endings = db.execute(
        "SELECT name, plan FROM intents WHERE outcome IS NULL AND verb NOT IN ('start', 'send')"
    )
    for name, text in endings.fetchall() if above else ():
        from tmuxreap.ledger.records import RecordedPlan  # rarely is an ending in progress

        plan = RecordedPlan.from_text(text)
        is_here = (plan.socket, plan.pane) == (socket, os.environ.get("TMUX_PANE"))
        if is_here and any(process.pid in above for process in plan.processes):
            return str(name)
    for pid, process in above.items():
        names = db.execute(SEEN_IN, (pid, process[2], procfs.boot_id())).fetchall()
        if names:
            return str(names[0][0]) if len(names) == 1 else None
    return None


def server_and_ancestors() -> tuple[str, dict[int, tuple[str, int, int, int]]]:
    """Return the tmux server that we run in, and our ancestors up to it."""
    socket, _ = tmux_server_of(os.environ)
    return socket, _ancestors() if socket else {}


def _by_conversation(db: sqlite3.Connection, conversation: str) -> str | None:
    rows = _running(db, conversation)
    names = [name for name, row in rows if conversation in _conversations(row)]
    return names[0] if len(names) == 1 else None


def _conversations(row: Facts) -> list[object]:
    found: list[object] = []
    for key in row:
        if key.endswith(("_session_id_own", "_conversation_id_own")):
            found.append(row[key])
    return found


def _is_of(db: sqlite3.Connection, name: str, agent: str) -> bool:
    """Tell whether the row is this agent's: another agent may run in its terminal."""
    rows = _running(db, "", name)
    return not rows or rows[0][1].get("agent") in (None, agent)


def _running(
    db: sqlite3.Connection, holding: str, name: str | None = None
) -> list[tuple[str, Facts]]:
    """Return the running rows whose text contains `holding`; the others are not parsed."""
    text = json.dumps(holding)[1:-1]
    sql = "SELECT name, data FROM sessions WHERE status = 'running' AND instr(data, ?) > 0"
    values = [text]
    if name is not None:
        sql = f"{sql} AND name = ?"
        values = [text, name]
    records = db.execute(sql, values).fetchall()
    return [(str(row_name), read_facts(str(data))) for row_name, data in records]


def speakers() -> list[Speaker]:
    """Return the candidates for the reporting process, likeliest first: the nearest ancestor that
    is no shell or wrapper, then the shells below it, as an agent may be a script."""
    candidates: list[Speaker] = []
    for pid, (comm, _, start, terminal) in _ancestors().items():
        candidates.append((pid, start, terminal, comm))
        if comm not in BETWEEN:
            break
    return candidates[::-1]


def _ancestors() -> dict[int, tuple[str, int, int, int]]:
    """Return our ancestors up to the tmux server."""
    ancestors: dict[int, tuple[str, int, int, int]] = {}
    pid = os.getppid()
    for _ in range(DEPTH):
        process = _process(pid) if pid > 1 else None
        if process is None or process[0] == TMUX_SERVER:
            break
        ancestors[pid] = process
        pid = process[1]
    return ancestors


def _process(pid: int) -> tuple[str, int, int, int] | None:
    facts = procfs.facts_of(pid)
    if facts is None or procfs.is_dead(facts[1]):
        return None
    ppid, start, terminal = (
        int(facts[1][index]) for index in (procfs.PPID, procfs.START, procfs.TTY)
    )
    return facts[0].decode("utf-8", "replace"), ppid, start, terminal


# A row that the ledger does not know


def whereabouts(registry: str) -> tuple[str, Facts]:
    """Return a name for the caller's reports until a look finds their row (`proof.servers`), and
    what that needs: the pane, its server and our ancestors. Nothing if the registry contains
    neither the pane and its server nor the pid of an ancestor."""
    socket, above = server_and_ancestors()
    text = _text_of(registry) if above else b""
    pane = os.environ.get("TMUX_PANE", "")
    server = tmux_server_of(os.environ)[1]
    in_pane = pane and pane.encode() in text and server.encode() in text
    if not in_pane and not any(str(pid).encode() in text for pid in above):
        return "", {}
    starts = [[pid, process[2]] for pid, process in above.items()]
    where: Facts = {"socket": socket, "server": server, "pane": pane, "above": starts}
    return f"{UNPLACED}{[*above][-1]}", where


def is_written(registry: str, name: str) -> bool:
    """Tell whether a line of the registry gives this name. Quoted otherwise than plainly, it is
    left to the command line."""
    import re  # late: the ledger knows most names

    key = rb"""(?m)(?:^|[\s{,-])name["']?:[ ]+["']?%s["']?[ ]*(?:[,}#]|\r?$)"""
    return (
        re.search(key % re.escape(name.encode("utf-8", "replace")), _text_of(registry)) is not None
    )


def _text_of(registry: str) -> bytes:
    with open(os.path.expanduser(registry), "rb") as file:  # noqa: PTH111, PTH123 - pathlib is slow
        return file.read(LONGEST)


# The ledger


def registry_here(folder: str | None) -> str | None:
    """Return the registry that the session's mark names, else the nearest of this user upwards."""
    marked = os.environ.get("TMUXREAP_REGISTRY")
    if marked:
        return marked
    start = os.path.realpath(folder or os.getcwd())  # noqa: PTH109
    registry, not_ours = nearest_registry(start, os.getuid())
    return None if not_ours else registry


def ledger_path(registry: str) -> str:
    return ledger_beside(os.path.realpath(os.path.expanduser(registry)))  # noqa: PTH111


def ledger_of(registry: str | None) -> str | None:
    """Return the ledger beside the registry, if it exists and is ours."""
    if not registry:
        return None
    path = ledger_path(registry)
    try:
        info = os.lstat(path)
    except OSError:
        return None
    if stat.S_ISREG(info.st_mode) and info.st_uid in (0, os.geteuid()):
        return path
    return None


def moment() -> Facts:
    """Return the time by clocks that are never set (`ledger.records.Moment`), if there are any."""
    try:
        up = time.clock_gettime(time.CLOCK_BOOTTIME)
        awake = time.monotonic()
        return {"moment": [procfs.boot_id(), up, awake]}
    except (OSError, AttributeError):
        return {}


def is_alive(pid: int, start: int, boot_id: str) -> bool:
    process = _process(pid)
    if process is None:
        return not os.path.exists("/proc/self") and _exists(pid)  # noqa: PTH110
    return process[2] == start and procfs.boot_id() == boot_id


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
