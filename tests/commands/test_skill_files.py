"""Copies of our skills: never over a user's change, and never through a link."""

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


def outcomes(*words: str) -> list[tuple[str, str]]:
    answer = tmuxreap("skills", "install", *words, "--json").json
    return [
        (one["name"].removeprefix("tmux-agent-orchestrate-"), one["outcome"])
        for one in answer["results"]
    ]


def test_a_skill_that_a_person_changed_is_kept_until_they_say_yes(project: Path) -> None:
    outcomes("--dest", "elsewhere")
    mine = project / "elsewhere" / STOP / "SKILL.md"
    mine.write_text("mine")
    other = project / "elsewhere" / STOP / "scripts" / "stop_session.sh"
    other.unlink()
    answer = tmuxreap("skills", "install", "--dest", "elsewhere", "--json")
    assert (answer.exit, answer.codes) == (2, ["usage"])
    assert "SKILL.md" in answer.error["message"]
    assert (mine.read_text(), other.is_file()) == ("mine", True)
    assert ("stop", "updated") in outcomes("--dest", "elsewhere", "--yes")
    assert mine.read_bytes() == (HOME / STOP / "SKILL.md").read_bytes()


def test_a_skill_file_of_another_author_is_kept(project: Path) -> None:
    theirs = project / ".agents" / "skills" / STOP / "SKILL.md"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("of another author")
    assert tmuxreap("skills", "install").exit == 2
    assert theirs.read_text() == "of another author"


def test_an_old_copy_of_tmuxreap_is_brought_up_to_date(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = [skills.BundledSkill(STOP, {"SKILL.md": b"as it was"})]
    monkeypatch.setattr("tmuxreap.commands.skills.our_skills", lambda: old)
    assert outcomes() == [("stop", "installed")]
    monkeypatch.undo()
    monkeypatch.chdir(project)
    assert ("stop", "updated") in outcomes()
    assert (project / ".agents" / "skills" / STOP / "SKILL.md").read_bytes() == (
        HOME / STOP / "SKILL.md"
    ).read_bytes()


def test_a_link_is_not_written_through(project: Path) -> None:
    precious = project / "precious"
    precious.write_text("keep")
    link = project / ".agents" / "skills" / STOP / "SKILL.md"
    link.parent.mkdir(parents=True)
    link.symlink_to(precious)
    assert tmuxreap("skills", "install").exit == 2
    assert tmuxreap("skills", "install", "--yes").exit == 0
    assert (precious.read_text(), link.is_symlink()) == ("keep", False)


@pytest.mark.parametrize("inside", [STOP, f"{STOP}/scripts"])
def test_a_folder_that_is_a_link_is_not_written_through(inside: str, project: Path) -> None:
    (project / "precious").mkdir()
    link = project / ".agents" / "skills" / inside
    link.parent.mkdir(parents=True)
    link.symlink_to(project / "precious")
    answer = tmuxreap("skills", "install", "--yes", "--json")
    assert (answer.exit, answer.codes) == (2, ["usage"])
    assert "is a link to somewhere else" in answer.error["message"]
    assert (list((project / "precious").iterdir()), link.is_symlink()) == ([], True)


def test_a_link_to_the_same_skill_is_left(project: Path) -> None:
    link = project / ".agents" / "skills" / STOP
    link.parent.mkdir(parents=True)
    link.symlink_to(HOME / STOP)
    assert ("stop", "unchanged") in outcomes()
    assert link.is_symlink()


def test_a_list_that_is_no_file_names_nothing(project: Path) -> None:
    os.mkfifo(project / ".tmuxreap-skills")
    assert ("stop", "installed") in outcomes("--dest", ".")
