"""Where a process stands: which registry is its own, which ledger lies beside it, which tmux it is
in.

Imports nothing that takes time, for an agent's hook asks here at every tool call. Changes
nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

REGISTRY = os.path.join(".hermes", "agent-sessions.yaml")  # noqa: PTH118 - pathlib is not worth its import here


def nearest_registry(folder: str, uid: int) -> tuple[str | None, frozenset[int]]:
    """Find it upwards, and say of which strangers it is. The search ends at a folder of another
    user's: in a place where others may write, theirs would be found."""
    trusted = frozenset({0, uid})
    while True:
        registry = os.path.join(folder, REGISTRY)  # noqa: PTH118
        strangers = frozenset(_owners(folder, registry)) - trusted
        if os.path.lexists(registry):
            return registry, strangers
        above = os.path.dirname(folder)  # noqa: PTH120
        if strangers or above == folder:
            return None, frozenset()
        folder = above


def _owners(folder: str, registry: str) -> Iterator[int]:
    """Who could have put the registry there: owners of its folders, of a link and of what it points
    to."""
    for path in (folder, os.path.dirname(registry), registry):  # noqa: PTH120
        for look in (os.lstat, os.stat):
            try:
                yield look(path).st_uid
            except OSError:
                continue


def ledger_beside(registry: str) -> str:
    """`<registry stem>.db`; never the registry itself, whatever that is called."""
    stem, ending = os.path.splitext(registry)  # noqa: PTH122
    return f"{registry if ending == '.db' else stem}.db"


def tmux_server_of(environ: Mapping[str, str]) -> tuple[str, str]:
    """The socket of the server that a process is in, and the server's pid, as tmux tells them in
    its panes; both empty outside of tmux. The socket's path may hold commas itself."""
    socket, _, server = environ.get("TMUX", "").rpartition(",")[0].rpartition(",")
    return socket, server
