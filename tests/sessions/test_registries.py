"""The user's registries: what start and adopt noted, and what living sessions are marked with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fakes import Story
from tmuxreap.commands.list import ListRequest, run
from tmuxreap.core.values import replace
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.registries import INDEX, note_registry, project_of

ROWS = "tmux_sessions:\n  - {name: far, status: stopped, agent: demo}\n"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Another project's registry."""
    path = tmp_path / "other" / ".hermes" / "agent-sessions.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(ROWS)
    return path


def app_of(story: Story, tmp_path: Path) -> Context:
    """Return a context whose state folder is the test's own."""
    app = story.app()
    environ = {**app.settings.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    return app.with_own(settings=replace(app.settings, environ=environ))


def test_a_registry_is_noted_once(story: Story, tmp_path: Path, other: Path) -> None:
    app = app_of(story, tmp_path)
    for _ in range(3):
        note_registry(app.settings, other)
    index = tmp_path / "state" / INDEX
    assert index.read_text() == f"{other}\n"
    assert index.stat().st_mode & 0o777 == 0o600


def test_a_registry_that_cannot_be_noted_blocks_nothing(
    story: Story, tmp_path: Path, other: Path
) -> None:
    (tmp_path / "state").write_text("no folder")
    note_registry(app_of(story, tmp_path).settings, other)


def test_registries_of_the_index_and_of_marks_are_known(
    story: Story, tmp_path: Path, other: Path
) -> None:
    app = app_of(story, tmp_path)
    note_registry(app.settings, other)
    assert set(app.known_registries) == {story.path, other}
    (tmp_path / "state" / INDEX).unlink()
    marks = {"TMUXREAP_REGISTRY": str(other)}
    story.tmux.open(story.SOCKET, "theirs", "bash", environ=marks)
    assert set(app.known_registries) == {story.path, other}


def test_a_registry_that_is_gone_or_no_file_is_not_used(
    story: Story, tmp_path: Path, other: Path
) -> None:
    app = app_of(story, tmp_path)
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    for path in (other, tmp_path / "gone.yaml", pipe, Path("relative.yaml")):
        note_registry(app.settings, path)
    assert set(app.known_registries) == {story.path, other}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file away")
def test_a_registry_of_another_user_is_not_used(story: Story, tmp_path: Path, other: Path) -> None:
    app = app_of(story, tmp_path)
    note_registry(app.settings, other)
    os.chown(other, 12345, 12345)
    assert app.known_registries == [story.path]


def test_a_project_is_known_by_its_folder() -> None:
    assert project_of(Path("/home/me/shop/.hermes/agent-sessions.yaml")) == Path("/home/me/shop")
    assert project_of(Path("/home/me/mine.yaml")) == Path("/home/me")


def test_everywhere_lists_each_project_and_changes_none(
    story: Story, tmp_path: Path, other: Path
) -> None:
    story.agent("near")
    app = app_of(story, tmp_path)
    note_registry(app.settings, other)
    before = {path: path.stat().st_mtime_ns for path in other.parent.iterdir()}
    result = run(app, ListRequest(everywhere=True))
    shown = {item.name: item.as_json() for item in result.results}
    assert {name: one["registry"] for name, one in shown.items()} == {
        "near": str(story.path),
        "far": str(other),
    }
    assert shown["far"]["project"] == str(other.parent.parent)
    assert result.registry is None
    assert {path: path.stat().st_mtime_ns for path in other.parent.iterdir()} == before


def test_a_broken_registry_elsewhere_is_a_warning(
    story: Story, tmp_path: Path, other: Path
) -> None:
    story.agent("near")
    app = app_of(story, tmp_path)
    note_registry(app.settings, other)
    other.write_text("tmux_sessions: [")
    result = run(app, ListRequest(everywhere=True))
    assert [item.name for item in result.results] == ["near"]
    assert [warning.partition(":")[0] for warning in result.warnings] == ["registry_invalid"]


def test_a_name_is_missing_only_if_no_project_has_it(
    story: Story, tmp_path: Path, other: Path
) -> None:
    story.agent("near")
    app = app_of(story, tmp_path)
    note_registry(app.settings, other)
    result = run(app, ListRequest(("far", "nosuch"), everywhere=True))
    errors = {item.name: item.error and item.error.code for item in result.results}
    assert errors == {"far": None, "nosuch": "session_not_registered"}
    assert int(result.exit) == 3
