"""Finds rows that the ledger does not mirror yet, such as those of another tool before our first
look: read from the registry's lines, without a YAML parser. Creates a ledger for them if there is
none, because their agents' reports count too."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Container

from tmuxreap.interfaces.hook import speaker
from tmuxreap.interfaces.hook.sketch import items_of, sketch_of
from tmuxreap.ledger import tables

LONGEST = 64 * 1024 * 1024  # bytes; no registry is longer
PANE_PID = re.compile(r"""\bpane["']?:.*?\bpid["']?:\s*["']?(\d+)""")
KNOWN = re.compile(r"""(?:^|[\s{,])["']?tmux["']?:""")


def is_row(registry: str, name: str) -> bool:
    return any(
        row is not None and row.name == name
        for row in (sketch_of(item) for item in items_of(_text(registry)) if name in " ".join(item))
    )


def below(registry: str, agent: str, above: Container[int], socket: str) -> str | None:
    """Return the name of the only running row on this server whose pane process is one of these.
    Rows with our identity fields are left out: the ledger has those."""
    names = []
    for item in items_of(_text(registry)):
        line = " ".join(item)
        pid = PANE_PID.search(line)
        if pid is None or int(pid[1]) not in above or KNOWN.search(line):
            continue
        row = sketch_of(item)
        if row is not None and row.status == "running" and row.agent in ("", agent or row.agent):
            names += [row.name] if speaker.same_server(row.server or None, socket) else []
    return names[0] if len(names) == 1 else None


def _text(registry: str) -> str:
    path = os.path.expanduser(registry)  # noqa: PTH111
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib is not worth its import here
        return file.read(LONGEST).decode("utf-8", "replace")


def create_ledger(registry: str) -> str | None:
    """Create a ledger, unless another process is faster; None if no file may be created."""
    path = speaker.ledger_path(registry)
    folder = os.path.dirname(path)  # noqa: PTH120
    if os.stat(folder).st_uid != os.geteuid() or not os.access(folder, os.W_OK):  # noqa: PTH116
        return None
    tables.create(path, time.time())
    return speaker.ledger_of(registry)
