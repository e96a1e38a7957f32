"""Who speaks, and into which ledger: what a process is told by its environment, its parents and its
conversation, held against the rows as the ledger mirrors them. Reads, and writes nothing.

On the way of every tool call of every agent: imports next to nothing, and reads files as cheaply as
it can."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import time

from tmuxreap.agents.hooks.events import may_be_agent
from tmuxreap.system.processes import procfs
from tmuxreap.system.whereabouts import ledger_beside, nearest_registry, tmux_server_of

BUSY_S = 0.3  # a ledger that is locked for longer is given up
# Programs between an agent and us that are not the agent.
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "fish", "ash")
BETWEEN = frozenset((*_SHELLS, "busybox", "env", "timeout", "nice", "uv", "uvx"))
TMUX_SERVER = "tmux: server"
DEPTH = 6

Facts = dict[str, object]
Speaker = tuple[int, int, int, str]  # pid, start, terminal, program


def read_facts(data: bytes) -> Facts:
    try:
        facts = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def who(
    db: sqlite3.Connection, agent: str, conversation: str | None, speaker: Speaker | None
) -> str | None:
    """The row of the one that speaks: by its mark, else by its pane, else by what is above it, else
    by the conversation it is in.

    A process without a terminal may have its environment from another: a daemon that serves several
    agents from the pane of the first, an agent that a tool of this one has started. There the
    conversation goes first, and what it says of one that nobody knows is no evidence of a
    conversation (see the locator `hook`)."""
    talking = _talking(db, conversation) if conversation else None
    if talking is not None and speaker is not None and not speaker[2]:
        return talking
    name = _marked(db, os.environ.get("TMUXREAP_ID", "")) or _in_pane(db) or _below(db)
    if name is not None and agent and not _is_of(db, name, agent):
        return None
    return name or talking


def is_its_own(
    db: sqlite3.Connection, name: str, agent: str, conversation: str | None, speaker: Speaker | None
) -> bool:
    """It is this very agent that speaks, and not one that has its environment: only that one may be
    told to halt."""
    if speaker is None or speaker[2] or conversation is None or not may_be_agent(speaker[3], agent):
        return True
    known: list[object] = []
    for each, row in _running(db, "", name):
        if each == name:
            known += filter(None, _conversations(row))
    return not known or conversation in known


def _marked(db: sqlite3.Connection, mark: str) -> str | None:
    """The session that was started with this mark, if it was not started with another one since; or
    is being started: an agent speaks before it is known to live."""
    if not mark:
        return None
    for name, plan in db.execute(
        "SELECT name, plan FROM intents WHERE outcome IS NULL AND verb = 'start'"
    ):
        marks = read_facts(str(plan).encode("utf-8", "replace")).get("marks")
        if isinstance(marks, list) and marks[:1] == [mark]:
            return str(name)
    found = db.execute("SELECT name FROM marks WHERE mark = ?", (mark,)).fetchone()
    latest = "SELECT mark FROM marks WHERE name = ? ORDER BY created_at DESC, rowid DESC LIMIT 1"
    return str(found[0]) if found and db.execute(latest, found).fetchone() == (mark,) else None


def _in_pane(db: sqlite3.Connection) -> str | None:
    socket, server = _server()
    pane = os.environ.get("TMUX_PANE", "")
    if not (socket and pane and server.isdigit()):
        return None
    for name, row in _running(db, f'"{pane}"'):
        tmux, recorded = part_of(row, "tmux"), part_of(row, "pane")
        there = tmux.get("socket")
        same = isinstance(there, str) and os.path.realpath(there) == os.path.realpath(socket)
        if same and recorded.get("id") == pane and tmux.get("server_pid") == int(server):
            return name
    return None


def _below(db: sqlite3.Connection) -> str | None:
    """The row of another tool names no more than the process of its pane: one above us, on its
    server. Nobody may have mirrored it yet: then the intent that asks it to end knows more."""
    socket, above = around_us()
    asked = db.execute("SELECT name, plan FROM intents WHERE outcome IS NULL AND verb != 'start'")
    for name, text in asked.fetchall() if above else ():
        plan = read_facts(str(text).encode("utf-8", "replace"))
        here = (plan.get("socket"), plan.get("pane")) == (socket, os.environ.get("TMUX_PANE"))
        if here and not _pids(plan).isdisjoint(above):
            return str(name)
    for pid in above:
        for name, row in _running(db, f'"pid": {pid}'):
            foreign = part_of(row, "pane").get("pid") == pid and not part_of(row, "tmux")
            if foreign and names(row.get("tmux_server"), socket):
                return name
    return None


def _pids(plan: Facts) -> set[object]:
    listed = plan.get("processes")
    return {
        one.get("pid") for one in (listed if isinstance(listed, list) else []) if type(one) is dict
    }


def around_us() -> tuple[str, dict[int, tuple[str, int, int, int]]]:
    """The tmux server that we run in, and the processes above us as far as that."""
    socket, _ = _server()
    return socket, _above() if socket else {}


def _server() -> tuple[str, str]:
    """Its socket and its process, as tmux told those in its panes."""
    return tmux_server_of(os.environ)


def names(server: object, socket: str) -> bool:
    name = server if isinstance(server, str) else "default"
    if "/" in name:
        return os.path.realpath(name) == os.path.realpath(socket)
    return name == os.path.basename(socket)  # noqa: PTH119


def _talking(db: sqlite3.Connection, conversation: str) -> str | None:
    found = [
        name for name, row in _running(db, conversation) if conversation in _conversations(row)
    ]
    return found[0] if len(found) == 1 else None


def _conversations(row: Facts) -> list[object]:
    return [row[key] for key in row if key.endswith(("_session_id_own", "_conversation_id_own"))]


def _is_of(db: sqlite3.Connection, name: str, agent: str) -> bool:
    """Not another agent that runs in the terminal of this one."""
    found = [row for one, row in _running(db, "", name) if one == name]
    return not found or found[0].get("agent") in (None, agent)


def _running(
    db: sqlite3.Connection, holding: str, name: str | None = None
) -> list[tuple[str, Facts]]:
    """Running rows whose text holds this: few of a thousand are worth being read."""
    text = json.dumps(holding)[1:-1] if not holding.startswith('"') else holding
    sql = "SELECT name, data FROM sessions WHERE status = 'running' AND instr(data, ?) > 0"
    only, values = (" AND name = ?", (text, name)) if name is not None else ("", (text,))
    found = db.execute(sql + only, values).fetchall()
    return [(str(one), read_facts(str(data).encode("utf-8", "replace"))) for one, data in found]


def part_of(row: Facts, key: str) -> Facts:
    part = row.get(key)
    return part if isinstance(part, dict) else {}


def speakers() -> list[Speaker]:
    """Those that we may speak for, the likeliest first: the nearest above us that only runs no
    other program, then the shells on the way to it, because an agent may be a script. Empty where
    it cannot be told."""
    found: list[Speaker] = []
    for pid, (comm, _, start, terminal) in _above().items():
        found.append((pid, start, terminal, comm))
        if comm not in BETWEEN:
            break
    return found[::-1]


def _above() -> dict[int, tuple[str, int, int, int]]:
    """The processes above us, as far as the tmux server."""
    found: dict[int, tuple[str, int, int, int]] = {}
    pid = os.getppid()
    for _ in range(DEPTH):
        process = _process(pid) if pid > 1 else None
        if process is None or process[0] == TMUX_SERVER:
            break
        found[pid], pid = process, process[1]
    return found


def _process(pid: int) -> tuple[str, int, int, int] | None:
    found = procfs.facts_of(pid)
    if found is None or procfs.is_dead(found[1]):
        return None
    ppid, start, terminal = (int(found[1][at]) for at in (procfs.PPID, procfs.START, procfs.TTY))
    return found[0].decode("utf-8", "replace"), ppid, start, terminal


# The ledger.


def registry_here(folder: str | None) -> str | None:
    """The registry that the session was marked with, else the nearest upwards that is no
    stranger's."""
    marked = os.environ.get("TMUXREAP_REGISTRY")
    if marked:
        return marked
    here = os.path.realpath(folder or os.getcwd())  # noqa: PTH109
    registry, strangers = nearest_registry(here, os.getuid())
    return None if strangers else registry


def ledger_path(registry: str) -> str:
    return ledger_beside(os.path.realpath(os.path.expanduser(registry)))  # noqa: PTH111


def ledger_of(registry: str | None) -> str | None:
    """The ledger beside the registry, when there is one that is ours."""
    if not registry:
        return None
    path = ledger_path(registry)
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return path if stat.S_ISREG(found.st_mode) and found.st_uid in (0, os.geteuid()) else None


def opened(path: str) -> sqlite3.Connection:
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(
        f"file://{quoted}?mode=rw", uri=True, timeout=BUSY_S, isolation_level=None
    )


def moment() -> Facts:
    """Now, by the clocks that nobody sets (see `ledger_records.Moment`); nothing where the kernel
    has none of them."""
    try:
        up, awake = time.clock_gettime(time.CLOCK_BOOTTIME), time.monotonic()
        return {"moment": [procfs.boot_id(), up, awake]}
    except (OSError, AttributeError):
        return {}


def lives(pid: int, start: int, boot_id: str) -> bool:
    found = _process(pid)
    if found is None:
        return not os.path.exists("/proc/self") and _answers(pid)  # noqa: PTH110
    return found[2] == start and procfs.boot_id() == boot_id


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
