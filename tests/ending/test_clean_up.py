"""`--cleanup` on real repositories: what git refuses to remove stays, and the session is still
ended."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import Story

Given = Callable[[Path, Path], str]


def git(*words: str) -> None:
    author = ["-c", "user.name=us", "-c", "user.email=us@example.org"]
    subprocess.run(["git", *author, *words], check=True, capture_output=True)


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    """Create a repository, and a worktree of it."""
    main, tree = tmp_path / "main", tmp_path / "trees" / "work"
    git("init", "-q", str(main))
    git("-C", str(main), "commit", "-q", "--allow-empty", "-m", "first")
    git("-C", str(main), "worktree", "add", "-q", str(tree))
    return main, tree


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    (tmp_path / "registry").mkdir()
    one = Story(tmp_path / "registry")
    yield one
    one.close()


def at_work(story: Story, worktree: object, name: str = "acme", cwd: str = "/") -> None:
    story.agent(name)
    before = story.path.read_text()
    text = before.replace(f'"name": "{name}"', f'"name": "{name}", "worktree": {worktree}')
    story.path.write_text(text.replace('"cwd": "/"', f'"cwd": "{cwd}"'))


def stopped(story: Story, **environ: str) -> dict[str, Any]:
    """Return the answer; in any case the row is ended."""
    from tmuxreap.commands import stop
    from tmuxreap.core.model import Verb
    from tmuxreap.ending.plan import Policy

    app = story.app()
    app.settings.environ.update({"PATH": "/usr/bin:/bin", **environ})  # type: ignore[attr-defined]
    (item,) = stop.run(
        app, stop.EndRequest(("acme",), Policy(Verb.STOP, "manual_stop", cleanup=True))
    ).results
    answer = item.as_json()
    assert (answer["outcome"], story.row()["status"]) == ("stopped", "stopped")
    return answer


def dirty(main: Path, tree: Path) -> str:
    (tree / "draft.txt").write_text("half a thought")
    return str(tree)


def locked(main: Path, tree: Path) -> str:
    git("-C", str(main), "worktree", "lock", str(tree))
    return str(tree)


def foreign(main: Path, tree: Path) -> str:
    (tree.parent / "plain").mkdir()
    return str(tree.parent / "plain")


REFUSED: dict[str, tuple[Given, str]] = {
    "dirty": (dirty, "contains modified or untracked files"),
    "locked": (locked, "locked working tree"),
    "main": (lambda main, _: str(main), "is a main working tree"),
    "missing": (lambda _, tree: f"{tree}-2", "No such file or directory"),
    "no worktree": (foreign, "not a git repository"),
    "a folder within": (
        lambda _, tree: (tree / "src").mkdir() or str(tree / "src"),
        "is not a working tree",
    ),
    "an option": (lambda *_: "--force", "No such file or directory"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_git_refuses_stays(story: Story, trees: tuple[Path, Path], kind: str) -> None:
    main, tree = trees
    given, message = REFUSED[kind]
    at_work(story, f'"{given(main, tree)}"', cwd=str(story.folder))
    error = stopped(story)["error"]
    assert error["code"] == "cleanup_failed"
    assert message in error["message"]
    assert (main / ".git").exists()
    assert (tree / ".git").exists()


@pytest.mark.parametrize("how", ["whole", "relative", "in a git hook"])
def test_a_clean_one_is_removed(
    story: Story, trees: tuple[Path, Path], tmp_path: Path, how: str
) -> None:
    main, tree = trees
    at_work(story, '"work"' if how == "relative" else f'"{tree}"', cwd=str(tree.parent))
    other = (
        {"GIT_DIR": str(tmp_path / "x"), "GIT_WORK_TREE": "/", "GIT_INDEX_FILE": "/x"}
        if "hook" in how
        else {}
    )
    assert stopped(story, **other)["error"] is None
    assert not tree.exists()
    assert (main / ".git").exists()


@pytest.mark.parametrize("cwd", ["", "/src"])
def test_it_is_not_removed_from_under_another_session(
    story: Story, trees: tuple[Path, Path], cwd: str
) -> None:
    _, tree = trees
    at_work(story, f'"{tree}"')
    at_work(story, "null", "other", cwd=f"{tree}{cwd}")
    error = stopped(story)["error"]
    assert (error["code"], error["hint"]) == (
        "cleanup_failed",
        "stop that first: tmuxreap stop other",
    )
    assert tree.exists()


@pytest.mark.parametrize("value", ['""', '" "', "null", "7", "[]"])
def test_a_row_that_names_none_has_none(story: Story, trees: tuple[Path, Path], value: str) -> None:
    _, tree = trees
    at_work(story, value, cwd=str(tree))
    assert stopped(story)["error"] is None
    assert tree.exists()


def ignored(main: Path, tree: Path) -> None:
    (main / ".git" / "info" / "exclude").write_text("*.env\n")
    (tree / "local.env").write_text("the only copy")


def unheld(main: Path, tree: Path) -> None:
    git("-C", str(tree), "checkout", "-q", "--detach")
    git("-C", str(tree), "commit", "-q", "--allow-empty", "-m", "nobody else's")


@pytest.mark.parametrize(
    ("lose", "said"),
    [
        (ignored, "ignored ones: local.env"),
        (unheld, "its commits are held by no branch, tag or remote"),
    ],
)
def test_what_git_would_lose_stays(
    story: Story, trees: tuple[Path, Path], lose: Callable[[Path, Path], None], said: str
) -> None:
    main, tree = trees
    lose(main, tree)
    at_work(story, f'"{tree}"')
    error = stopped(story)["error"]
    assert (error["code"], said in error["message"]) == ("cleanup_failed", True)
    assert tree.exists()


def test_a_detached_one_whose_commit_is_held_goes(story: Story, trees: tuple[Path, Path]) -> None:
    _, tree = trees
    git("-C", str(tree), "checkout", "-q", "--detach")
    at_work(story, f'"{tree}"')
    assert stopped(story)["error"] is None
    assert not tree.exists()


def again(story: Story) -> tuple[object, object]:
    from tmuxreap.commands import stop
    from tmuxreap.core.model import Verb
    from tmuxreap.ending.plan import Policy

    app = story.app()
    app.settings.environ["PATH"] = "/usr/bin:/bin"  # type: ignore[index]
    (item,) = stop.run(
        app, stop.EndRequest(("acme",), Policy(Verb.STOP, "manual_stop", cleanup=True))
    ).results
    answer = item.as_json()
    return answer["outcome"], answer["error"]


def test_also_of_a_row_that_had_ended_before(story: Story, trees: tuple[Path, Path]) -> None:
    _, tree = trees
    at_work(story, f'"{tree}"')
    story.stop("acme")
    before = story.path.read_bytes()
    assert again(story) == ("already_stopped", None)
    assert not tree.exists()
    assert again(story) == ("already_stopped", None)
    assert story.path.read_bytes() == before
