"""Our skills: valid by the format, and their copies: installed where agents look, never over what a person changed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.command_line import tmuxreap
from tmuxreap.commands import skill_files
from tmuxreap.interfaces.cli.main import VERBS

ROOT = Path(__file__).parent.parent
HOME = ROOT / "skills"
FOLDERS = sorted(HOME.iterdir())
SCRIPTS = sorted(HOME.glob("*/scripts/*"))
NAMES = [f"tmux-agent-orchestrate-{what}" for what in ("create", "monitor", "resume", "stop")]
STOP = "tmux-agent-orchestrate-stop"
ALLOWED = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}


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


# The format.


def test_the_four_skills_are_there() -> None:
    assert [folder.name for folder in FOLDERS] == NAMES
    assert [skill.name for skill in skill_files.our_skills()] == NAMES


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_skill_is_valid(folder: Path) -> None:
    text = (folder / "SKILL.md").read_text(encoding="utf-8")
    _, head, body = text.split("---\n", 2)
    facts = yaml.safe_load(head)
    assert facts.keys() <= ALLOWED
    assert facts["name"] == folder.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", facts["name"])
    assert len(facts["name"]) <= 64
    assert 40 <= len(facts["description"]) <= 1024
    assert "Use " in facts["description"], "say when, too"
    assert len(facts.get("compatibility", "")) <= 500
    assert all(isinstance(key, str) and isinstance(value, str) for key, value in facts.get("metadata", {}).items())
    assert len(text.splitlines()) < 500
    titles = re.findall(r"^## (.*)$", body, flags=re.MULTILINE)
    assert {"Pre-flight", "Workflow", "State machine", "Pitfalls", "Verification"} <= set(titles)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_a_skill_names_is_there(folder: Path) -> None:
    text = (folder / "SKILL.md").read_text(encoding="utf-8")
    for skill, script in re.findall(r"\.agents/skills/([a-z-]+)/scripts/([a-z_]+\.sh)", text):
        assert (HOME / skill / "scripts" / script).is_file(), script
    assert set(re.findall(r"tmux-agent-orchestrate-[a-z]+", text)) <= set(NAMES)
    assert set(re.findall(r"`tmuxreap ([a-z]+)", text)) <= set(VERBS)


# The scripts.


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_can_be_run_and_read_by_a_plain_shell(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert script.read_text().startswith("#!/bin/sh\n")
    subprocess.run(["sh", "-n", script], check=True, timeout=10)


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
@pytest.mark.parametrize(
    "script",
    [*SCRIPTS, ROOT / "tmuxreap" / "interfaces" / "completion" / "shells" / "tmuxreap.bash"],
    ids=lambda script: script.name,
)
def test_shellcheck_has_nothing_to_say(script: Path) -> None:
    words = ["shellcheck", *(["-s", "bash"] if script.suffix == ".bash" else []), str(script)]
    said = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (said.returncode, said.stdout) == (0, "")


# The copies.


def outcomes(*words: str) -> list[tuple[str, str]]:
    answer = tmuxreap("skills", "install", *words, "--json").json
    return [(one["name"].removeprefix("tmux-agent-orchestrate-"), one["outcome"]) for one in answer["results"]]


def test_they_are_copied_to_where_agents_look(project: Path) -> None:
    assert outcomes() == [(name, "installed") for name in ("create", "monitor", "resume", "stop")]
    copies = {name: data for name, (data, _) in everything(project / ".agents" / "skills").items()}
    listed = copies.pop(skill_files.LISTED).decode()
    assert copies == {name: data for name, (data, _) in everything(HOME).items()}
    assert len(listed.splitlines()) == len(copies)
    assert os.access(project / ".agents" / "skills" / STOP / "scripts" / "stop_session.sh", os.X_OK)
    assert not (project / ".claude").exists()


def test_a_second_time_nothing_is_written(project: Path) -> None:
    outcomes()
    before = everything(project)
    assert {outcome for _, outcome in outcomes()} == {"unchanged"}
    assert everything(project) == before


def test_where_claude_is_used_it_gets_its_own(project: Path) -> None:
    (project / ".claude").mkdir()
    assert len(outcomes()) == 8
    assert (project / ".claude" / "skills" / STOP / "SKILL.md").is_file()


def test_a_link_between_the_two_is_one_place(project: Path) -> None:
    (project / ".claude").mkdir()
    (project / ".claude" / "skills").symlink_to("../.agents/skills")
    assert len(outcomes()) == 4
    assert (project / ".claude" / "skills" / STOP / "SKILL.md").is_file()


def test_what_a_person_changed_is_kept_until_they_say_so(project: Path) -> None:
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


def test_what_was_there_before_us_is_kept(project: Path) -> None:
    theirs = project / ".agents" / "skills" / STOP / "SKILL.md"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("of another author")
    assert tmuxreap("skills", "install").exit == 2
    assert theirs.read_text() == "of another author"


def test_an_old_copy_of_ours_is_brought_up_to_date(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = [skill_files.Skill(STOP, {"SKILL.md": b"as it was"})]
    monkeypatch.setattr("tmuxreap.commands.skills.our_skills", lambda: old)
    assert outcomes() == [("stop", "installed")]
    monkeypatch.undo()
    monkeypatch.chdir(project)
    assert ("stop", "updated") in outcomes()
    assert (project / ".agents" / "skills" / STOP / "SKILL.md").read_bytes() == (HOME / STOP / "SKILL.md").read_bytes()


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


def test_a_plan_writes_nothing(project: Path) -> None:
    assert {outcome for _, outcome in outcomes("--dry-run")} == {"would be installed"}
    assert not list(project.iterdir())


@pytest.mark.parametrize("words", [("install", "--dest", ""), ("remove",), ("install", "--dest", "file/below")])
def test_what_cannot_be_done_is_refused(words: tuple[str, ...], project: Path) -> None:
    (project / "file").write_text("in the way")
    answer = tmuxreap("skills", *words)
    assert answer.exit == 2
    assert "could not" in answer.err
    assert "way out:" in answer.err
    assert (project / "file").read_text() == "in the way"
