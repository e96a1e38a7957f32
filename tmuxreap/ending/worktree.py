"""`--cleanup`: removes the git worktree of an ended session, with git's own command. Never uses
force, and never removes a worktree in which another session works. Nothing else needs removal:
`start` creates nothing else on disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.model import Row
from tmuxreap.registry.file import Registry
from tmuxreap.system.git import remove_worktree


def clean_up(registry: Registry, environ: Mapping[str, str], row: Row) -> Failure | None:
    """Remove the row's worktree. Return None on success, or when the row has none."""
    tree = row.worktree
    if tree is None or not tree.strip():
        return None
    if not os.path.isabs(tree) and row.pane.cwd is None:  # noqa: PTH117 - a string from a row
        return _cleanup_failed(
            row, f"{tree} is told from a folder that the row does not name", "write its whole path"
        )
    path = str(Path(row.pane.cwd or "/", tree))
    users = [other.name for other in _running(registry, row) if _within(other, path)]
    if users:
        return _cleanup_failed(
            row,
            f"{', '.join(users)} works in {path} too",
            f"stop that first: {command('stop', users[0])}",
        )
    return remove_worktree(row.name, path, environ)


def clean_up_ended(registry: Registry, environ: Mapping[str, str], row: Row) -> Failure | None:
    """Do the same for a row that had ended before; a missing worktree is fine."""
    tree = row.worktree
    gone = tree and not os.path.lexists(Path(row.pane.cwd or "/", tree))
    return None if gone else clean_up(registry, environ, row)


def _running(registry: Registry, row: Row) -> list[Row]:
    rows = [other for other in registry.look().rows if isinstance(other, Row)]
    return [other for other in rows if not other.status.ended and other.name != row.name]


def _within(row: Row, folder: str) -> bool:
    inside = os.path.realpath(folder)
    own = [str(Path(row.pane.cwd or "/", row.worktree))] if row.worktree else []
    places = [os.path.realpath(place) for place in (row.pane.cwd, *own) if place]
    return any(place == inside or place.startswith(inside + os.sep) for place in places)


def _cleanup_failed(row: Row, reason: str, hint: str) -> Failure:
    return Failure(
        Code.CLEANUP_FAILED, f"could not remove the worktree of {row.name}: {reason}", hint
    )
