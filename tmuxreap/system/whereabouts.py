"""Where a process runs: the registry it uses, the ledger next to that, its tmux server, and the
command that runs this program again.

Imports nothing slow: an agent's hook uses it at every tool call. Never writes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping

import tmuxreap

REGISTRY = os.path.join(".hermes", "agent-sessions.yaml")  # noqa: PTH118 - pathlib is not worth its import here


def nearest_registry(folder: str, uid: int) -> tuple[str | None, frozenset[int]]:
    """Find a registry upwards, with the untrusted users that own it or its folder. The search ends
    at a folder of another user: a registry above it could have been planted."""
    trusted = frozenset({0, uid})
    while True:
        registry = os.path.join(folder, REGISTRY)  # noqa: PTH118
        untrusted = frozenset(_owners(folder, registry)) - trusted
        if os.path.lexists(registry):
            return registry, untrusted
        above = os.path.dirname(folder)  # noqa: PTH120
        if untrusted or above == folder:
            return None, frozenset()
        folder = above


def _owners(folder: str, registry: str) -> Iterator[int]:
    """Yield the users that could have put the registry there: the owners of its folders, of a
    symlink and of its target."""
    for path in (folder, os.path.dirname(registry), registry):  # noqa: PTH120
        for look in (os.lstat, os.stat):
            try:
                yield look(path).st_uid
            except OSError:
                continue


def ledger_beside(registry: str) -> str:
    """Return `<registry stem>.db`; never the registry itself, whatever its name is."""
    stem, ending = os.path.splitext(registry)  # noqa: PTH122
    return f"{registry if ending == '.db' else stem}.db"


def tmux_server_of(environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the socket and pid of the server that a process runs in, from $TMUX; both empty
    outside of tmux. The socket's path may contain commas."""
    socket, _, server = environ.get("TMUX", "").rpartition(",")[0].rpartition(",")
    return socket, server


def without_caller(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the caller's pane and marks: a tmux server, or an engine, and
    all that they start belong to no session."""
    found: dict[str, str] = {}
    for name, value in environ.items():
        if name not in ("TMUX", "TMUX_PANE") and not name.startswith("TMUXREAP_"):
            found[name] = value
    return found


def own_command(*words: str) -> tuple[str, ...]:
    """Return the command that runs this program again. Never `python -m`: that imports modules of
    the working directory, which may be anybody's project, before any of ours."""
    program = os.path.join(os.path.dirname(tmuxreap.__file__), "__main__.py")  # noqa: PTH118,PTH120 - as above
    return (sys.executable, program, *words)
