"""The worktree of a session: created before it, and removed if no process lives in it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.fakes import Story
from tmuxreap.commands.starting.launch import worktree_made
from tmuxreap.commands.starting.row import Start
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.values import replace
from tmuxreap.system.git import Worktree


@pytest.fixture
def tree(tmp_path: Path, story: Story) -> Worktree:
    main = tmp_path.resolve() / "main"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(main)]
    subprocess.run(["git", "init", "-q", str(main)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    return Worktree(str(main.parent / "tree"), str(main), "acme")


def made(
    story: Story, tree: Worktree, *, cleared: bool, error: BaseException | None = None
) -> None:
    start, app = Start("m1"), story.app()
    app.settings = replace(
        app.settings, environ={"PATH": os.environ["PATH"], "HOME": str(story.folder)}
    )
    with worktree_made(app, "acme", tree, start):
        assert Path(tree.path).is_dir()
        start.is_cleared = cleared
        if error is not None:
            raise error


def test_a_worktree_stays_with_a_running_session(story: Story, tree: Worktree) -> None:
    made(story, tree, cleared=False)
    assert Path(tree.path).is_dir()


@pytest.mark.parametrize("cleared", [True, False])
def test_a_failed_start_removes_its_worktree_unless_something_may_live_in_it(
    story: Story, tree: Worktree, cleared: bool
) -> None:
    with pytest.raises(Failure, match="no luck"):
        made(story, tree, cleared=cleared, error=Failure(Code.START_FAILED, "no luck"))
    assert Path(tree.path).exists() is not cleared


def test_an_existing_worktree_is_not_removed(story: Story, tree: Worktree) -> None:
    Path(tree.path).mkdir()
    with pytest.raises(Failure):
        made(
            story, replace(tree, existed=True), cleared=True, error=Failure(Code.START_FAILED, "x")
        )
    assert Path(tree.path).is_dir()
