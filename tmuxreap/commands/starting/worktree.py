"""Owns when `start --worktree` creates a git worktree and removes it again; git's commands are in
`system.git`. Never touches a worktree that existed before."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tmuxreap.commands.starting.row import Start
from tmuxreap.core.errors import Failure
from tmuxreap.sessions.context import Context
from tmuxreap.system.git import Worktree, add_worktree, undo_add_worktree
from tmuxreap.system.interrupts import defer_interrupts


@contextlib.contextmanager
def worktree_made(context: Context, name: str, tree: Worktree, start: Start) -> Iterator[None]:
    """Create the worktree if it does not exist; a failed start removes it again."""
    if tree.existed:
        yield
        return
    environ = context.settings.environ
    try:
        with defer_interrupts():  # git handles an interrupt itself, and cleans up
            new_branch = add_worktree(name, tree, environ)
    except Failure:
        start.is_cleared = True
        raise
    try:
        yield
    except BaseException as error:
        # Not while a process of the session may still live in it.
        stays = undo_add_worktree(name, tree, new_branch, environ) if start.is_cleared else None
        if stays is not None and isinstance(error, Failure):
            raise _with_note(error, stays) from None
        raise


def _with_note(error: Failure, stays: Failure) -> Failure:
    return Failure(error.code, f"{error.message}; {stays.message}", error.hint)
