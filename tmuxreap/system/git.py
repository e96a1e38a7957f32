"""Owns calls of git: creates, inspects and removes the worktrees of sessions. Never uses force."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from functools import partial

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.values import frozen, replace
from tmuxreap.system.programs import run

TIMEOUT_S = 60.0
CHECKOUT_S = 600.0  # enough for a large repository
NAMED = 5
COMMON_DIR = "--git-common-dir"  # the folder that all worktrees of a repository share


@frozen
class Worktree:
    """A session's working tree, and the repository that it belongs to."""

    path: str
    repository: str
    branch: str
    existed: bool = False  # it existed before: then it is not removed if the start fails


def find_worktree(name: str, path: str, repository: str, environ: Mapping[str, str]) -> Worktree:
    """Resolve a worktree: an existing one of the repository, or one to be created. Creates
    nothing."""
    common = _folder(repository, COMMON_DIR, environ)
    if common is None:
        reason = f"there is no git repository in {repository}"
        raise _unusable(name, path, reason, "name one with --cwd")
    tree = Worktree(os.path.realpath(path), repository, name)
    if not os.path.lexists(path) or _is_empty(path):
        return tree
    if _folder(tree.path, "--show-toplevel", environ) != tree.path:
        raise _unusable(name, path, "it is there, and is no worktree", "name another folder")
    if _folder(tree.path, COMMON_DIR, environ) != common:
        reason = f"it is a worktree of another repository than {repository}"
        raise _unusable(name, path, reason, "name another folder")
    if _folder(tree.path, "--git-dir", environ) == common:
        hint = f"to start in it leave --worktree out: --cwd {shlex.quote(path)}"
        raise _unusable(name, path, "it is the main working tree of its repository", hint)
    return replace(tree, existed=True)


def add_worktree(name: str, tree: Worktree, environ: Mapping[str, str]) -> bool:
    """Create it on the branch of its name; return True if that branch is new, starting at HEAD."""
    branch = f"refs/heads/{tree.branch}"
    known = _output(tree.repository, "rev-parse", "--verify", "--quiet", branch, environ=environ)
    on = [tree.path, tree.branch] if known else ["-b", tree.branch, tree.path]
    words = ["git", "-C", tree.repository, "worktree", "add", *on]
    _, reason = run(words, _plain(environ), CHECKOUT_S)
    if reason is not None:
        raise _unusable(name, tree.path, reason, f"try it by hand: {shlex.join(words)}")
    return not known


def undo_add_worktree(
    name: str, tree: Worktree, new_branch: bool, environ: Mapping[str, str]
) -> Failure | None:
    """Undo `add_worktree`; if the worktree holds new work it stays, and the failure says so."""
    failure = remove_worktree(name, tree.path, environ)
    if failure is None and new_branch:
        # git refuses to delete a branch that has commits of its own.
        run(["git", "-C", tree.repository, "branch", "-d", tree.branch], _plain(environ), TIMEOUT_S)
    return failure


def remove_worktree(name: str, worktree: str, environ: Mapping[str, str]) -> Failure | None:
    """Remove a worktree by git's own command, unless work would be lost: git would delete ignored
    files."""
    words = ["git", "-C", worktree, "worktree", "remove", worktree]
    reason = _unsaved_work(worktree, environ) or run(words, _plain(environ), TIMEOUT_S)[1]
    if reason is None:
        return None
    message = f"could not remove the worktree of {name}: {reason}"
    hint = f"look at it, then remove it by hand: {shlex.join(words)}"
    return Failure(Code.CLEANUP_FAILED, message, hint)


def _unsaved_work(worktree: str, environ: Mapping[str, str]) -> str | None:
    """Name work that only this worktree has: uncommitted files, or commits that no branch, tag or
    remote holds.

    Where git fails here, it will refuse to remove the worktree as well, and say why."""
    ask = partial(_output, worktree, environ=environ)
    listing = ask("status", "--porcelain", "-z", "--ignored", "--no-renames") or ""
    files = [entry[3:] for entry in listing.split("\0") if entry]
    if files:
        more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
        named = ", ".join(files[:NAMED]) + more
        return f"it contains modified or untracked files, or ignored ones: {named}"
    if not ask("rev-parse", "--verify", "--quiet", "HEAD"):
        return None
    holders = ["refs/heads", "refs/remotes", "refs/tags"]
    holder = ask("for-each-ref", "--contains", "HEAD", "--count=1", *holders)
    return "its commits are held by no branch, tag or remote" if holder == "" else None


def _folder(folder: str, which: str, environ: Mapping[str, str]) -> str | None:
    path = _output(folder, "rev-parse", which, environ=environ)
    return os.path.realpath(os.path.join(folder, path.rstrip("\n"))) if path else None  # noqa: PTH118 - git's words


def _is_empty(path: str) -> bool:
    return os.path.isdir(path) and not os.listdir(path)  # noqa: PTH112, PTH208 - a string from a flag


def _plain(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without git's variables: a calling git hook sets them for its own
    repository."""
    return {key: value for key, value in environ.items() if not key.startswith("GIT_")}


def _output(folder: str, *words: str, environ: Mapping[str, str]) -> str | None:
    output, reason = run(["git", "-C", folder, *words], _plain(environ), TIMEOUT_S)
    return output if reason is None else None


def _unusable(name: str, path: str, reason: str, hint: str) -> Failure:
    return Failure(
        Code.START_FAILED, f"could not start {name} in the worktree {path}: {reason}", hint
    )
