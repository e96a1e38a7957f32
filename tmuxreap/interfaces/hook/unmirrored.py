"""Rows that the ledger does not show yet, as those of another tool are before the first look of
ours: found in the registry's own lines, without a YAML parser. Makes a ledger for them where there
is none, for what their agents say counts too."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Container

from tmuxreap.interfaces.completion.sketch import items_of, sketch_of
from tmuxreap.interfaces.hook import speaker
from tmuxreap.ledger import schema as schema

LONGEST = 64 * 1024 * 1024  # bytes of a registry
PANE_PID = re.compile(r"""\bpane["']?:.*?\bpid["']?:\s*["']?(\d+)""")
KNOWN = re.compile(r"""(?:^|[\s{,])["']?tmux["']?:""")


def is_row(registry: str, name: str) -> bool:
    return any(
        row is not None and row.name == name
        for row in (sketch_of(item) for item in items_of(_text(registry)) if name in " ".join(item))
    )


def below(registry: str, agent: str, above: Container[int], socket: str) -> str | None:
    """Name the one running row whose pane's process is among these, on this server; not a row that
    tells more of its session, for the ledger has those."""
    found = []
    for item in items_of(_text(registry)):
        line = " ".join(item)
        pid = PANE_PID.search(line)
        if pid is None or int(pid[1]) not in above or KNOWN.search(line):
            continue
        row = sketch_of(item)
        if row is not None and row.status == "running" and row.agent in ("", agent or row.agent):
            found += [row.name] if speaker.names(row.server or None, socket) else []
    return found[0] if len(found) == 1 else None


def _text(registry: str) -> str:
    path = os.path.expanduser(registry)  # noqa: PTH111
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib is not worth its import here
        return file.read(LONGEST).decode("utf-8", "replace")


def made(registry: str) -> str | None:
    """A ledger with its tables, which whoever opens it next brings up to date; None where we may
    leave nothing."""
    path, folder = speaker.ledger_path(registry), os.path.dirname(speaker.ledger_path(registry))  # noqa: PTH120
    if os.stat(folder).st_uid != os.geteuid() or not os.access(folder, os.W_OK):  # noqa: PTH116
        return None
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError:
        return None
    with contextlib.closing(speaker.opened(path)) as db, contextlib.suppress(sqlite3.Error):
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("BEGIN IMMEDIATE")
        for statement in schema.TABLES:
            db.execute(statement)
        db.execute("COMMIT")
    return path
