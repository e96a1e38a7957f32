"""Owns calls of git: creates, inspects and removes the worktrees of sessions. Never uses force."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.values import frozen
from tmuxreap.system.programs import output_of, run

TIMEOUT_S = 60.0
CHECKOUT_S = 600.0  # enough for a large repository
NAMED = 5


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
    plain = _plain(environ)
    common = _common_dir(repository, plain)
    if common is None:
        raise _unusable(
            name, path, f"there is no git repository in {repository}", "name one with --cwd"
        )
    tree = Worktree(os.path.realpath(path), repository, name)
    if not os.path.lexists(path) or _is_empty(path):
        return tree
    if not _is_root(tree.path, plain):
        raise _unusable(name, path, "it is there, and is no worktree", "name another folder")
    if _common_dir(tree.path, plain) != common:
        raise _unusable(
            name,
            path,
            f"it is a worktree of another repository than {repository}",
            "name another folder",
        )
    if _git_dir(tree.path, plain) == common:
        hint = f"to start in it leave --worktree out: --cwd {shlex.quote(path)}"
        raise _unusable(name, path, "it is the main working tree of its repository", hint)
    return Worktree(tree.path, repository, name, existed=True)


def add_worktree(name: str, tree: Worktree, environ: Mapping[str, str]) -> bool:
    """Create it on the branch of its name; return True if that branch is new, starting at HEAD."""
    plain = _plain(environ)
    within = ["git", "-C", tree.repository]
    branch = f"refs/heads/{tree.branch}"
    known = _output([*within, "rev-parse", "--verify", "--quiet", branch], plain)
    on = [tree.path, tree.branch] if known else ["-b", tree.branch, tree.path]
    words = [*within, "worktree", "add", *on]
    reason = run(words, plain, CHECKOUT_S)
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
    plain = _plain(environ)
    reason = _unsaved_work(worktree, plain) or run(words, plain, TIMEOUT_S)
    if reason is None:
        return None
    return Failure(
        Code.CLEANUP_FAILED,
        f"could not remove the worktree of {name}: {reason}",
        f"look at it, then remove it by hand: {shlex.join(words)}",
    )


def _unsaved_work(worktree: str, environ: Mapping[str, str]) -> str | None:
    """Name work that only this worktree has: uncommitted files, or commits that no branch, tag or
    remote holds.

    Where git fails here, it will refuse to remove the worktree as well, and say why."""
    within = ["git", "-C", worktree]
    listing = _output(
        [*within, "status", "--porcelain", "-z", "--ignored", "--no-renames"], environ
    )
    files = [entry[3:] for entry in (listing or "").split("\0") if entry]
    if files:
        named = ", ".join(files[:NAMED]) + (
            f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
        )
        return f"it contains modified or untracked files, or ignored ones: {named}"
    if not _output([*within, "rev-parse", "--verify", "--quiet", "HEAD"], environ):
        return None
    holders = ["refs/heads", "refs/remotes", "refs/tags"]
    holder = _output(
        [*within, "for-each-ref", "--contains", "HEAD", "--count=1", *holders], environ
    )
    return "its commits are held by no branch, tag or remote" if holder == "" else None


def _common_dir(folder: str, environ: Mapping[str, str]) -> str | None:
    """Return the folder that all worktrees of a repository share."""
    return _folder(folder, "--git-common-dir", environ)


def _git_dir(folder: str, environ: Mapping[str, str]) -> str | None:
    return _folder(folder, "--git-dir", environ)


def _is_root(folder: str, environ: Mapping[str, str]) -> bool:
    return _folder(folder, "--show-toplevel", environ) == folder


def _folder(folder: str, which: str, environ: Mapping[str, str]) -> str | None:
    path = _output(["git", "-C", folder, "rev-parse", which], environ)
    return os.path.realpath(os.path.join(folder, path.rstrip("\n"))) if path else None  # noqa: PTH118 - git's words


def _is_empty(path: str) -> bool:
    return os.path.isdir(path) and not os.listdir(path)  # noqa: PTH112, PTH208 - a string from a flag


def _plain(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without git's variables: a calling git hook sets them for its own
    repository."""
    return {key: value for key, value in environ.items() if not key.startswith("GIT_")}


def _output(words: Sequence[str], environ: Mapping[str, str]) -> str | None:
    return output_of(words, environ, TIMEOUT_S)


def _unusable(name: str, path: str, reason: str, hint: str) -> Failure:
    return Failure(
        Code.START_FAILED, f"could not start {name} in the worktree {path}: {reason}", hint
    )
