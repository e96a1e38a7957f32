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
# No setting of a user or a repository may hide work, or run a program, when git is asked about it.
SEEING_ALL = (
    *("-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"),
    *("-c", "core.ignoreStat=false", "-c", "core.trustctime=true", "-c", "core.checkStat=default"),
    *("-c", "status.showUntrackedFiles=all", "-c", "diff.ignoreSubmodules=none"),
)
STATUS = (
    *("status", "--porcelain", "-z", "--no-renames"),
    *("--untracked-files=all", "--ignored=matching", "--ignore-submodules=none"),
)
NOTHING: Mapping[str, str] = {}
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
        raise _unusable(name, path, reason, "run it in a repository, or name one with --cwd")
    tree = Worktree(os.path.realpath(path), repository, name)
    if not os.path.lexists(path) or _is_empty(path):
        return tree
    if _folder(tree.path, "--show-toplevel", environ) != tree.path:
        raise _unusable(name, tree.path, "it is there, and is no worktree", "name another folder")
    if _folder(tree.path, COMMON_DIR, environ) != common:
        reason = f"it is a worktree of another repository than {repository}"
        raise _unusable(name, tree.path, reason, "name another folder")
    if _folder(tree.path, "--git-dir", environ) == common:
        hint = f"to start in it leave --worktree out: --cwd {shlex.quote(tree.path)}"
        raise _unusable(name, tree.path, "it is the main working tree of its repository", hint)
    return replace(tree, existed=True)


def add_worktree(name: str, tree: Worktree, environ: Mapping[str, str]) -> bool:
    """Create it on the branch of its name; return True if that branch is new, starting at HEAD."""
    branch = f"refs/heads/{tree.branch}"
    known = _output(tree.repository, "rev-parse", "--verify", "--quiet", branch, environ=environ)
    if known:
        on = [tree.path, tree.branch]
    else:
        on = ["-b", tree.branch, tree.path]
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
    removal = ["worktree", "remove", worktree]
    words = ["git", *SEEING_ALL, "-C", worktree, *removal]
    reason = _unsaved_work(worktree, environ) or run(words, _plain(environ), TIMEOUT_S)[1]
    if reason is None:
        return None
    message = f"could not remove the worktree of {name}: {reason}"
    by_hand = shlex.join(["git", "-C", worktree, *removal])
    return Failure(Code.CLEANUP_FAILED, message, f"look at it, then remove it by hand: {by_hand}")


def _unsaved_work(worktree: str, environ: Mapping[str, str]) -> str | None:
    """Name work that only this worktree has: uncommitted files, or commits that no branch, tag or
    remote holds.

    Where git fails here, it will refuse to remove the worktree as well, and say why."""
    ask = partial(_output, worktree, environ=environ)
    top = _folder(worktree, "--show-toplevel", environ)
    if top is not None and top != os.path.realpath(worktree):
        return f"{worktree} is not a working tree: git takes {top} for it"
    files = _named_by(ask(*STATUS)) or _hidden_changes(worktree, environ)
    if files:
        if len(files) > NAMED:
            more = f" and {len(files) - NAMED} more"
        else:
            more = ""
        named = ", ".join(files[:NAMED]) + more
        return f"it contains modified or untracked files, or ignored ones: {named}"
    if not ask("rev-parse", "--verify", "--quiet", "HEAD"):
        return None
    holders = ["refs/heads", "refs/remotes", "refs/tags"]
    holder = ask("for-each-ref", "--contains", "HEAD", "--count=1", *holders)
    if holder == "":
        return "its commits are held by no branch, tag or remote"
    return None


def _hidden_changes(worktree: str, environ: Mapping[str, str]) -> list[str]:
    """Return the changed files that a flag of the index hides: assume-unchanged, skip-worktree.
    git removes such changes without a word. They show against an index made anew, without flags."""
    listed = (_output(worktree, "ls-files", "-v", "-z", environ=environ) or "").split("\0")
    flagged = []
    for entry in listed:
        if entry[:1] == "S" or entry[:1].islower():
            flagged.append(entry[2:])
    # A sparse checkout leaves files out: of these there is nothing to lose.
    present = [file for file in flagged if os.path.lexists(os.path.join(worktree, file))]  # noqa: PTH118
    if not present:
        return []
    import tempfile  # late: slow

    with tempfile.TemporaryDirectory() as folder:
        fresh = {"GIT_INDEX_FILE": os.path.join(folder, "index")}  # noqa: PTH118
        made = _output(worktree, "read-tree", "HEAD", environ=environ, more=fresh)
        status = _output(worktree, *STATUS, environ=environ, more=fresh)
    if made is None or status is None:
        return present
    changed = set(_named_by(status))
    return [file for file in present if file in changed]


def _named_by(status: str | None) -> list[str]:
    return [entry[3:] for entry in (status or "").split("\0") if entry]


def _folder(folder: str, which: str, environ: Mapping[str, str]) -> str | None:
    path = _output(folder, "rev-parse", which, environ=environ)
    if not path:
        return None
    return os.path.realpath(os.path.join(folder, path.rstrip("\n")))  # noqa: PTH118 - git's words


def _is_empty(path: str) -> bool:
    return os.path.isdir(path) and not os.listdir(path)  # noqa: PTH112, PTH208 - a string from a flag


def _plain(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without git's variables: a calling git hook sets them for its own
    repository."""
    return {key: value for key, value in environ.items() if not key.startswith("GIT_")}


def _output(
    folder: str, *words: str, environ: Mapping[str, str], more: Mapping[str, str] = NOTHING
) -> str | None:
    settings = {**_plain(environ), **more}
    output, reason = run(["git", *SEEING_ALL, "-C", folder, *words], settings, TIMEOUT_S)
    return output if reason is None else None


def _unusable(name: str, path: str, reason: str, hint: str) -> Failure:
    return Failure(
        Code.START_FAILED, f"could not start {name} in the worktree {path}: {reason}", hint
    )
