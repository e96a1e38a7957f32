"""`skills install`: where the copies go, and what is reported about each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.command_line import tmuxreap
from tmuxreap.commands import skills

ROOT = Path(__file__).parents[2]
HOME = ROOT / "skills"
STOP = "tmux-agent-orchestrate-stop"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def everything(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def outcomes(*words: str) -> list[tuple[str, str]]:
    answer = tmuxreap("skills", "install", *words, "--json").json
    return [
        (one["name"].removeprefix("tmux-agent-orchestrate-"), one["outcome"])
        for one in answer["results"]
    ]


def test_skills_are_copied_to_where_agents_look(project: Path) -> None:
    assert outcomes() == [
        (name, "installed") for name in ("create", "delegate-job", "monitor", "resume", "stop")
    ]
    copies = {name: data for name, (data, _) in everything(project / ".agents" / "skills").items()}
    listed = copies.pop(skills.LISTED).decode()
    assert copies == {name: data for name, (data, _) in everything(HOME).items()}
    assert len(listed.splitlines()) == len(copies)
    assert os.access(project / ".agents" / "skills" / STOP / "scripts" / "stop_session.sh", os.X_OK)
    assert not (project / ".claude").exists()


def test_a_second_installation_writes_nothing(project: Path) -> None:
    outcomes()
    before = everything(project)
    assert {outcome for _, outcome in outcomes()} == {"unchanged"}
    assert everything(project) == before


def test_claude_gets_its_own_skills_where_it_is_used(project: Path) -> None:
    (project / ".claude").mkdir()
    assert len(outcomes()) == 10
    assert (project / ".claude" / "skills" / STOP / "SKILL.md").is_file()


def test_a_link_between_the_two_is_one_place(project: Path) -> None:
    (project / ".claude").mkdir()
    (project / ".claude" / "skills").symlink_to("../.agents/skills")
    assert len(outcomes()) == 5
    assert (project / ".claude" / "skills" / STOP / "SKILL.md").is_file()


def test_a_plan_writes_nothing(project: Path) -> None:
    assert {outcome for _, outcome in outcomes("--dry-run")} == {"would be installed"}
    assert not list(project.iterdir())


@pytest.mark.parametrize(
    "words", [("install", "--dest", ""), ("remove",), ("install", "--dest", "file/below")]
)
def test_skills_that_cannot_be_installed_are_refused(words: tuple[str, ...], project: Path) -> None:
    (project / "file").write_text("in the way")
    answer = tmuxreap("skills", *words)
    assert answer.exit == 2
    assert "could not" in answer.err
    assert "\nhint: " in answer.err
    assert (project / "file").read_text() == "in the way"
