"""`start --worktree` on a real repository: created on a branch of its own, and removed if the start
fails."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.real import Real, answer
from tmuxreap.commands import start
from tmuxreap.core.errors import Failure
from tmuxreap.core.values import replace

pytestmark = pytest.mark.live


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=us", "-c", "user.email=us@example.org"]
    words = ("-C", str(folder), *words)
    return subprocess.run(["git", *who, *words], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def main(tmp_path: Path) -> Path:
    folder = tmp_path / "main"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "trunk")
    (folder / "code").write_text("first")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def started(real: Real, main: Path, tree: Path, **more: Any) -> dict[str, Any]:
    return real.start(cwd=str(main), worktree=str(tree), **more)


def fails(real: Real, main: Path, tree: Path, **more: Any) -> Failure:
    return real.fails(lambda: started(real, main, tree, **more))


def branches(main: Path) -> list[str]:
    return git(main, "branch", "--format=%(refname:short)").split()


def test_a_worktree_is_made_on_a_branch_of_the_sessions_name(
    real: Real, main: Path, tmp_path: Path
) -> None:
    tree = tmp_path / "trees" / "acme"
    begun = started(real, main, tree)
    assert (begun["cwd"], real.row()["worktree"]) == (str(tree), str(tree))
    assert (tree / "code").read_text() == "first"
    assert git(tree, "branch", "--show-current") == "acme\n"
    real.stop(cleanup=True)
    assert not tree.exists()
    assert branches(main) == ["acme", "trunk"]


def test_the_earlier_branch_is_used_again(real: Real, main: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    started(real, main, tree)
    (tree / "more").write_text("kept")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "more")
    real.stop(cleanup=True)
    started(real, main, tree)
    assert (tree / "more").read_text() == "kept"


def test_an_existing_worktree_is_used_and_never_removed(
    real: Real, main: Path, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    git(main, "worktree", "add", "-q", "-b", "mine", str(tree))
    assert fails(real, main, tree, command=["false"], confirm_s=5.0).code.text == "start_failed"
    assert started(real, main, tree)["cwd"] == str(tree)
    assert branches(main) == ["mine", "trunk"]


def test_a_start_that_fails_leaves_neither_worktree_nor_branch(
    real: Real, main: Path, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    assert fails(real, main, tree, command=["false"], confirm_s=5.0).code.text == "start_failed"
    assert not tree.exists()
    assert branches(main) == ["trunk"]
    assert "tree" not in git(main, "worktree", "list")
    assert real.rows() == {}


def test_files_of_a_failed_start_stay(real: Real, main: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    failure = fails(real, main, tree, command=["sh", "-c", "echo work > note"], confirm_s=5.0)
    assert "could not remove the worktree of acme" in failure.message
    assert "note" in failure.message
    assert (tree / "note").read_text() == "work\n"


def test_a_plan_makes_nothing(real: Real, main: Path, tmp_path: Path) -> None:
    request = start.StartRequest("acme", "demo", cwd=str(main), server=real.socket, dry_run=True)
    with real.app() as app:
        result = start.run(app, replace(request, worktree=str(tmp_path / "tree")))
    assert result.more["plan"]["worktree"] == str(tmp_path / "tree")  # type: ignore[index]
    assert not (tmp_path / "tree").exists()
    assert branches(main) == ["trunk"]


def test_a_worktree_of_another_repository_is_refused(
    real: Real, main: Path, tmp_path: Path
) -> None:
    other, full, plain = tmp_path / "other", tmp_path / "full", tmp_path / "plain"
    for folder in (other, full, plain):
        folder.mkdir()
        (folder / "file").write_text("mine")
    git(other, "init", "-q")
    said = {
        "no worktree": fails(real, main, full),
        "of another repository": fails(real, main, other),
        "the main working tree": fails(real, main, main),
        "there is no git repository in": fails(real, plain, tmp_path / "tree"),
    }
    for reason, failure in said.items():
        assert failure.code.text == "start_failed"
        assert reason in failure.message
    assert real.sessions() == set()
    assert (full / "file").read_text() == "mine"


def test_git_refuses_a_branch_that_is_checked_out_elsewhere(
    real: Real, main: Path, tmp_path: Path
) -> None:
    git(main, "branch", "acme")
    git(main, "checkout", "-q", "acme")
    failure = fails(real, main, tmp_path / "tree")
    assert "git said: " in failure.message
    assert "git -C" in failure.hint
    assert not (tmp_path / "tree").exists()
    assert real.sessions() == set()


def test_a_worktree_stays_while_a_stranger_works_in_it(
    real: Real, main: Path, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    started(real, main, tree)
    with subprocess.Popen(["sleep", "300"], cwd=tree) as stranger:
        try:
            error = answer(real.stop(cleanup=True))["error"]
        finally:
            stranger.kill()
    assert (error["code"], f"sleep ({stranger.pid})" in error["message"]) == (
        "cleanup_failed",
        True,
    )
    assert tree.exists()
    assert answer(real.stop(cleanup=True))["removed"] == [str(tree)]
    assert not tree.exists()
