"""`--cleanup`: the git worktree of an ended session, removed by git's own command. Never by force,
and never from under another session that works in it. It is all there is to remove: `start` makes
nothing else on disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.model import Row
from tmuxreap.registry.file import Registry
from tmuxreap.system.git import remove_worktree


def clean_up(registry: Registry, environ: Mapping[str, str], row: Row) -> Failure | None:
    """None when it is removed, or when the row has none."""
    given = row.worktree
    if given is None or not given.strip():
        return None
    if not os.path.isabs(given) and row.pane.cwd is None:  # noqa: PTH117 - a string from a row
        return _stays(
            row, f"{given} is told from a folder that the row does not name", "write its whole path"
        )
    whole = str(Path(row.pane.cwd or "/", given))
    users = [other.name for other in _running(registry, row) if _within(other, whole)]
    if users:
        return _stays(
            row,
            f"{', '.join(users)} works in {whole} too",
            f"stop that first: {command('stop', users[0])}",
        )
    return remove_worktree(row.name, whole, environ)


def clean_up_ended(registry: Registry, environ: Mapping[str, str], row: Row) -> Failure | None:
    """Do it for a row that had ended before; a worktree that is gone already is as it should be."""
    given = row.worktree
    gone = given and not os.path.lexists(Path(row.pane.cwd or "/", given))
    return None if gone else clean_up(registry, environ, row)


def _running(registry: Registry, row: Row) -> list[Row]:
    rows = [other for other in registry.look().rows if isinstance(other, Row)]
    return [other for other in rows if not other.status.ended and other.name != row.name]


def _within(row: Row, folder: str) -> bool:
    inside = os.path.realpath(folder)
    own = [str(Path(row.pane.cwd or "/", row.worktree))] if row.worktree else []
    places = [os.path.realpath(place) for place in (row.pane.cwd, *own) if place]
    return any(place == inside or place.startswith(inside + os.sep) for place in places)


def _stays(row: Row, reason: str, hint: str) -> Failure:
    return Failure(
        Code.CLEANUP_FAILED, f"could not remove the worktree of {row.name}: {reason}", hint
    )
