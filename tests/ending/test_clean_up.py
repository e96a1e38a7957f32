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
    from tmuxreap.core.model import EndVerb
    from tmuxreap.ending.policy import Policy

    app = story.app()
    app.settings.environ.update({"PATH": "/usr/bin:/bin", **environ})  # type: ignore[attr-defined]
    (item,) = stop.run(
        app, stop.EndRequest(("acme",), Policy(EndVerb.STOP, "manual_stop", cleanup=True))
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
def test_a_worktree_that_git_refuses_to_remove_stays(
    story: Story, trees: tuple[Path, Path], kind: str
) -> None:
    main, tree = trees
    given, message = REFUSED[kind]
    at_work(story, f'"{given(main, tree)}"', cwd=str(story.folder))
    error = stopped(story)["error"]
    assert error["code"] == "cleanup_failed"
    assert message in error["message"]
    assert (main / ".git").exists()
    assert (tree / ".git").exists()


@pytest.mark.parametrize("how", ["whole", "relative", "in a git hook"])
def test_a_clean_worktree_is_removed(
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


@pytest.mark.parametrize("whole", [True, False])
def test_only_a_whole_path_names_the_worktree_of_a_row_without_a_folder(
    story: Story, trees: tuple[Path, Path], whole: bool
) -> None:
    _, tree = trees
    at_work(story, f'"{tree}"' if whole else '"work"')
    story.path.write_text(story.path.read_text().replace('"cwd": "/"', '"cwd": null'))
    error = stopped(story)["error"]
    assert tree.exists() is not whole
    assert (error is None) is whole
    if error:
        assert "work is a relative path, and the row names no folder" in error["message"]


@pytest.mark.parametrize("cwd", ["", "/src"])
def test_a_worktree_is_not_removed_from_under_another_session(
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
def test_a_row_without_a_worktree_has_none_to_remove(
    story: Story, trees: tuple[Path, Path], value: str
) -> None:
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
def test_files_that_git_would_delete_keep_the_worktree(
    story: Story, trees: tuple[Path, Path], lose: Callable[[Path, Path], None], said: str
) -> None:
    main, tree = trees
    lose(main, tree)
    at_work(story, f'"{tree}"')
    error = stopped(story)["error"]
    assert (error["code"], said in error["message"]) == ("cleanup_failed", True)
    assert tree.exists()


def test_a_detached_worktree_whose_commit_is_held_is_removed(
    story: Story, trees: tuple[Path, Path]
) -> None:
    _, tree = trees
    git("-C", str(tree), "checkout", "-q", "--detach")
    at_work(story, f'"{tree}"')
    assert stopped(story)["error"] is None
    assert not tree.exists()


def again(story: Story) -> tuple[object, object]:
    from tmuxreap.commands import stop
    from tmuxreap.core.model import EndVerb
    from tmuxreap.ending.policy import Policy

    app = story.app()
    app.settings.environ["PATH"] = "/usr/bin:/bin"  # type: ignore[index]
    (item,) = stop.run(
        app, stop.EndRequest(("acme",), Policy(EndVerb.STOP, "manual_stop", cleanup=True))
    ).results
    answer = item.as_json()
    return answer["outcome"], answer["error"]


def test_the_worktree_of_an_ended_row_is_removed(story: Story, trees: tuple[Path, Path]) -> None:
    _, tree = trees
    at_work(story, f'"{tree}"')
    story.stop("acme")
    before = story.path.read_bytes()
    assert again(story) == ("already_stopped", None)
    assert not tree.exists()
    assert again(story) == ("already_stopped", None)
    assert story.path.read_bytes() == before


def refused(story: Story, **environ: str) -> str:
    error = stopped(story, **environ)["error"]
    assert error["code"] == "cleanup_failed"
    return str(error["message"])


def settled(tree: Path, *words: str) -> None:
    git("-C", str(tree), "config", *words)


def hidden_by_status(main: Path, tree: Path) -> str:
    settled(main, "status.showUntrackedFiles", "no")
    return write(tree / "new.py")


def hidden_by_flag(flag: str) -> Given:
    def hide(main: Path, tree: Path) -> str:
        committed(tree, "settings.py")
        git("-C", str(tree), "update-index", flag, "settings.py")
        return write(tree / "settings.py")

    return hide


def hidden_by_ignore_stat(main: Path, tree: Path) -> str:
    settled(main, "core.ignoreStat", "true")
    committed(tree, "settings.py")
    return write(tree / "settings.py")


def hidden_by_monitor(main: Path, tree: Path) -> str:
    """A monitor that says that nothing has changed."""
    committed(tree, "settings.py")
    quiet = main / ".git" / "quiet"
    quiet.write_text("#!/bin/sh\nprintf 'token\\0'\n")
    quiet.chmod(0o755)
    settled(main, "core.fsmonitor", str(quiet))
    git("-C", str(tree), "update-index", "--fsmonitor")
    git("-C", str(tree), "status")
    return write(tree / "settings.py")


def nested_repository(main: Path, tree: Path) -> str:
    settled(main, "status.showUntrackedFiles", "no")
    git("init", "-q", str(tree / "vendor"))
    return write(tree / "vendor" / "only-copy").split("/")[-1] and "vendor/"


def nested_worktree(main: Path, tree: Path) -> str:
    settled(main, "status.showUntrackedFiles", "no")
    git("-C", str(main), "worktree", "add", "-q", str(tree / "inner"))
    return "inner/"


def changed_submodule(main: Path, tree: Path) -> str:
    library = main.parent / "library"
    git("init", "-q", str(library))
    committed(library, "code")
    local = ["-c", "protocol.file.allow=always"]
    git(*local, "-C", str(tree), "submodule", "--quiet", "add", str(library), "library")
    git("-C", str(tree), "commit", "-q", "-m", "with a library")
    settled(tree, "submodule.library.ignore", "all")
    write(tree / "library" / "code")
    return "library"


def write(file: Path) -> str:
    file.write_text("half a thought, and more of it")
    return file.name


def committed(tree: Path, name: str) -> None:
    (tree / name).write_text("a whole thought")
    git("-C", str(tree), "add", name)
    git("-C", str(tree), "commit", "-q", "-m", name)


HIDDEN = {
    "by status.showUntrackedFiles": hidden_by_status,
    "by assume-unchanged": hidden_by_flag("--assume-unchanged"),
    "by skip-worktree": hidden_by_flag("--skip-worktree"),
    "by core.ignoreStat": hidden_by_ignore_stat,
    "by a file monitor": hidden_by_monitor,
    "in a repository within": nested_repository,
    "in a worktree within": nested_worktree,
    "in a submodule": changed_submodule,
}


@pytest.mark.parametrize("how", HIDDEN)
def test_no_git_setting_hides_work(story: Story, trees: tuple[Path, Path], how: str) -> None:
    name = HIDDEN[how](*trees)
    at_work(story, f'"{trees[1]}"')
    assert name in refused(story).partition("ignored ones: ")[2]
    assert trees[1].exists()


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_flagged_file_without_a_change_blocks_nothing(
    story: Story, trees: tuple[Path, Path], flag: str
) -> None:
    committed(trees[1], "settings.py")
    git("-C", str(trees[1]), "update-index", flag, "settings.py")
    at_work(story, f'"{trees[1]}"')
    assert stopped(story)["error"] is None
    assert not trees[1].exists()


def test_a_sparse_checkout_is_removed(story: Story, trees: tuple[Path, Path]) -> None:
    tree = trees[1]
    (tree / "left-out").mkdir()
    committed(tree, "left-out/file")
    git("-C", str(tree), "sparse-checkout", "set", "kept")
    assert not (tree / "left-out" / "file").exists()
    at_work(story, f'"{tree}"')
    assert stopped(story)["error"] is None
    assert not tree.exists()


def test_no_program_of_the_repository_is_run(story: Story, trees: tuple[Path, Path]) -> None:
    main, tree = trees
    program = main / ".git" / "monitor"
    program.write_text(f"#!/bin/sh\ntouch {main}/run\n")
    program.chmod(0o755)
    settled(main, "core.fsmonitor", str(program))
    at_work(story, f'"{tree}"')
    assert stopped(story)["error"] is None
    assert not (main / "run").exists()


@pytest.mark.parametrize("how", ["cwd", "a folder below", "an open file", "its program"])
def test_a_worktree_is_not_removed_below_a_living_process(
    story: Story, trees: tuple[Path, Path], how: str
) -> None:
    tree = trees[1].resolve()
    using: dict[str, dict[str, Any]] = {
        "cwd": {"cwd": str(tree)},
        "a folder below": {"cwd": f"{tree}/src"},
        "an open file": {"open_files": (f"{tree}/log",)},
        "its program": {"executable": f"{tree}/serve"},
    }
    stranger = story.processes.add("serve", **using[how])
    at_work(story, f'"{tree}"')
    answer = stopped(story)
    assert (answer["error"]["code"], answer["removed"]) == ("cleanup_failed", [])
    assert f"serve ({stranger.pid})" in answer["error"]["message"]
    assert answer["error"]["hint"].endswith("tmuxreap stop acme --cleanup")
    assert tree.exists()
    story.processes.die(stranger)
    assert again(story) == ("already_stopped", None)
    assert not tree.exists()


def test_a_process_that_may_not_be_looked_at_blocks_nothing(
    story: Story, trees: tuple[Path, Path]
) -> None:
    hidden = story.processes.add("theirs", cwd=str(trees[1]))
    story.processes.table[hidden.pid].cwd = None
    story.processes.add("neighbour", cwd=f"{trees[1]}-2")
    at_work(story, f'"{trees[1]}"')
    assert stopped(story)["error"] is None
    assert not trees[1].exists()


def test_a_process_about_to_exit_is_awaited(story: Story, trees: tuple[Path, Path]) -> None:
    leaving = [story.processes.add("tmux", cwd=str(trees[1])) for _ in range(2)]
    at_work(story, f'"{trees[1]}"')
    looked = story.processes.open_files

    def look(process: Any, begin: str = "") -> tuple[str, ...]:
        if process == leaving[0]:
            for seconds, one in zip((0.1, 0.2), leaving, strict=True):
                story.processes.after(seconds, lambda one=one: story.processes.die(one))
        return looked(process, begin)

    story.processes.argv_and_executable = lambda process: (look(process), None)  # type: ignore[assignment]
    assert stopped(story)["error"] is None
    assert not trees[1].exists()


def events_of(story: Story) -> list[Any]:
    from tmuxreap.commands.events import EventsRequest, run

    return [one.as_json() for one in run(story.app(), EventsRequest(("acme",))).results]


def test_the_answer_and_an_event_name_what_was_removed(
    story: Story, trees: tuple[Path, Path]
) -> None:
    at_work(story, f'"{trees[1]}"')
    assert stopped(story)["removed"] == [str(trees[1])]
    assert events_of(story)[-1]["data"]["removed"] == [str(trees[1])]


def test_the_removal_for_an_ended_row_is_an_event(story: Story, trees: tuple[Path, Path]) -> None:
    at_work(story, f'"{trees[1]}"')
    story.stop("acme")
    again(story)
    event = events_of(story)[-1]
    assert (event["kind"], event["data"]["removed"]) == ("cleaned", [str(trees[1])])
    assert event["data"]["ended_by"]["tool"] == "cli"
