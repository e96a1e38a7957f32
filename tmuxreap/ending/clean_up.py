"""What is cleaned up after an ending: the pane of another terminal, the git worktree (`--cleanup`),
the task. Removes a worktree with git's own command, never with force, and never one in which
another session works. Nothing else needs removal: `start` creates nothing else on disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tmuxreap.core.answers.base import problem_of
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import Live, Outcome, Row, Terminal
from tmuxreap.core.results import Item
from tmuxreap.core.values import replace
from tmuxreap.ending.ending import Ending
from tmuxreap.ending.results import EndResult
from tmuxreap.ledger.books import Books
from tmuxreap.registry.file import Registry

OTHER_TERMINALS = (Terminal.KITTY, Terminal.WEZTERM)


def clean_up_after(
    ending: Ending, result: EndResult, books: Books, environ: Mapping[str, str]
) -> EndResult:
    """Clean up after the proof of death: the pane of another terminal, the worktree, the task."""
    row, policy, failure = ending.row, ending.policy, None
    # A pane's number may be reused by now: the session's process must have been seen in it.
    was_alive = ending.first.live is Live.ALIVE
    if row.terminal in OTHER_TERMINALS and row.pane.id is not None and was_alive:
        failure = _close_pane(environ, row, row.pane.id)
    if policy.cleanup and result.outcome != Outcome.SURVIVED:  # survivors may work in it
        failure = remove_worktree(books.registry, environ, row) or failure
    set_task(books, row, policy.task_status, policy.reason)
    return replace(result, error=problem_of(failure) or result.error)


def early_answer(ending: Ending, registry: Registry, environ: Mapping[str, str]) -> Item | None:
    """Return the answer of a session that needs no ending. With `--cleanup`, remove the worktree of
    a row that had ended before; a missing one is fine."""
    answer, row = ending.answer, ending.row
    if not ending.policy.cleanup or not isinstance(answer, EndResult):
        return answer
    if answer.outcome != Outcome.ALREADY_STOPPED:
        return answer
    gone = row.worktree and not os.path.lexists(Path(row.pane.cwd or "/", row.worktree))
    failure = None if gone else remove_worktree(registry, environ, row)
    return replace(answer, error=problem_of(failure))


def set_task(books: Books, row: Row, status: object, reason: str) -> None:
    """Set the status of the row's task in the ledger, if one was given."""
    if isinstance(status, str) and row.task_id is not None:
        books.set_task(row.task_id, status, f"Agent killed: {reason}")


def _close_pane(environ: Mapping[str, str], row: Row, pane: str) -> Failure | None:
    from tmuxreap.system.terminals import close_pane  # late: rarely needed

    return close_pane(row.name, row.terminal, pane, environ, row.pane.listen_on)


def remove_worktree(registry: Registry, environ: Mapping[str, str], row: Row) -> Failure | None:
    """Remove the row's worktree. Return None on success, or when the row has none."""
    tree = row.worktree
    if tree is None or not tree.strip():
        return None
    if not os.path.isabs(tree) and row.pane.cwd is None:  # noqa: PTH117 - a string from a row
        reason = f"{tree} is told from a folder that the row does not name"
        return _cleanup_failed(row, reason, "write its whole path")
    path = str(Path(row.pane.cwd or "/", tree))
    users = [other.name for other in _running(registry, row) if _within(other, path)]
    if users:
        hint = f"stop that first: {command('stop', users[0])}"
        return _cleanup_failed(row, f"{', '.join(users)} works in {path} too", hint)
    from tmuxreap.system import git  # late: rarely needed

    return git.remove_worktree(row.name, path, environ)


def _running(registry: Registry, row: Row) -> list[Row]:
    rows = [other for other in registry.look().rows if isinstance(other, Row)]
    return [other for other in rows if not other.status.ended and other.name != row.name]


def _within(row: Row, folder: str) -> bool:
    inside = os.path.realpath(folder)
    own = [str(Path(row.pane.cwd or "/", row.worktree))] if row.worktree else []
    places = [os.path.realpath(place) for place in (row.pane.cwd, *own) if place]
    return any(place == inside or place.startswith(inside + os.sep) for place in places)


def _cleanup_failed(row: Row, reason: str, hint: str) -> Failure:
    return could_not("remove the worktree of", row.name, reason, hint, Code.CLEANUP_FAILED)
