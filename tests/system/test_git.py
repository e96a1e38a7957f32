"""The worktrees of sessions: found, created, undone, and never removed where work would be lost."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tmuxreap.core.errors import Failure
from tmuxreap.system.git import (
    Worktree,
    add_worktree,
    find_worktree,
    remove_worktree,
    undo_add_worktree,
)

ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_DIR": "/nonexistent"}


def git(folder: Path, *words: str) -> str:
    named = ["-c", "user.name=a", "-c", "user.email=a@b"]
    full = ["git", *named, "-C", str(folder), *words]
    return subprocess.run(full, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def main(tmp_path: Path) -> Path:
    repository = tmp_path.resolve() / "main"
    repository.mkdir()
    git(repository, "init", "-q")
    git(repository, "commit", "-q", "--allow-empty", "-m", "x")
    return repository


def test_a_folder_that_is_not_there_is_to_be_made(main: Path) -> None:
    tree = main.parent / "tree"
    assert find_worktree("acme", str(tree), str(main), ENVIRON) == Worktree(
        str(tree), str(main), "acme"
    )
    assert not tree.exists()


def test_a_folder_that_cannot_be_used_is_named_as_it_is(main: Path) -> None:
    full = main.parent / "full"
    full.mkdir()
    (full / "file").touch()
    with pytest.raises(Failure) as failed:
        find_worktree("acme", f"{main}/../full", str(main), ENVIRON)
    assert f"the worktree {full}: it is there" in failed.value.message
    with pytest.raises(Failure) as failed:
        find_worktree("acme", f"{full}/../main", str(main), ENVIRON)
    assert failed.value.hint.endswith(f"--cwd {main}")


def test_an_existing_branch_is_used_and_not_removed(main: Path) -> None:
    tree = main.parent / "tree"
    git(main, "worktree", "add", "-q", str(tree))
    assert find_worktree("acme", str(tree), str(main), ENVIRON).existed


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("main", "it is the main working tree of its repository"),
        ("other", "it is a worktree of another repository"),
        ("full", "it is there, and is no worktree"),
    ],
)
def test_removing_a_folder_that_is_no_worktree_is_refused(main: Path, place: str, why: str) -> None:
    for name in ("other", "full"):
        (main.parent / name).mkdir()
    git(main.parent / "other", "init", "-q")
    (main.parent / "full" / "file").touch()
    with pytest.raises(Failure, match=why) as caught:
        find_worktree("acme", str(main.parent / place), str(main), ENVIRON)
    assert caught.value.code.text == "start_failed"


def test_a_worktree_is_made_on_a_branch_of_its_name_and_removed_with_it(main: Path) -> None:
    tree = find_worktree("acme", str(main.parent / "tree"), str(main), ENVIRON)
    assert add_worktree("acme", tree, ENVIRON)
    assert git(main, "branch", "--list", "acme").strip() == "+ acme"
    assert undo_add_worktree("acme", tree, True, ENVIRON) is None
    assert not Path(tree.path).exists()
    assert git(main, "branch", "--list", "acme") == ""


def test_uncommitted_work_stays_and_is_named(main: Path) -> None:
    tree = find_worktree("acme", str(main.parent / "tree"), str(main), ENVIRON)
    add_worktree("acme", tree, ENVIRON)
    (Path(tree.path) / "draft.txt").touch()
    failure = remove_worktree("acme", tree.path, ENVIRON)
    assert failure is not None
    assert (failure.code.text, "draft.txt" in failure.message) == ("cleanup_failed", True)
    assert (Path(tree.path) / "draft.txt").exists()
