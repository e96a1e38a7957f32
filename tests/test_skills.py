"""Our skills are valid, and their copies are installed where agents look, never over a user's
changes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tmuxreap.commands import skills
from tmuxreap.core.verbs import PUBLIC

ROOT = Path(__file__).parent.parent
HOME = ROOT / "skills"
FOLDERS = sorted(HOME.iterdir())
SCRIPTS = sorted(HOME.glob("*/scripts/*"))
NAMES = [
    f"tmux-agent-orchestrate-{what}"
    for what in ("create", "delegate-job", "monitor", "resume", "stop")
]
ALLOWED = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
# Fields that the loader of the neighboring skills reads.
BESIDE = {"version", "author", "platforms", "environments"}
HERMES = {"tags", "related_skills", "prereq_skills"}
RECIPES = [
    path
    for path in sorted([*ROOT.rglob("*.md"), *ROOT.rglob("*.sh")])
    if not {".venv", "node_modules", "benchmark"} & set(path.relative_to(ROOT).parts)
]
TYPED = re.compile(r"^[^`\n]*\btmux\b[^`\n]*\b(?:send-keys|paste-buffer)\b[^`\n]*$", re.MULTILINE)
SENT = re.compile(r"^ *tmuxreap send \"\$SESSION_NAME\"", re.MULTILINE)


# What they teach.


def test_no_recipe_types_into_an_unchecked_pane() -> None:
    """Keys that reach a permission dialog answer it: prompts go by `tmuxreap send`."""
    assert [path for path in RECIPES if TYPED.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("name", ["create", "delegate-job"])
def test_a_skill_that_gives_work_sends_it(name: str) -> None:
    text = (HOME / f"tmux-agent-orchestrate-{name}" / "SKILL.md").read_text(encoding="utf-8")
    assert len(SENT.findall(text)) == 1


# The format.


def test_the_five_skills_are_there() -> None:
    assert [folder.name for folder in FOLDERS] == NAMES
    assert [skill.name for skill in skills.our_skills()] == NAMES


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_skill_is_valid(folder: Path) -> None:
    text = (folder / "SKILL.md").read_text(encoding="utf-8")
    _, head, body = text.split("---\n", 2)
    facts = yaml.safe_load(head)
    assert BESIDE <= facts.keys() <= ALLOWED | BESIDE
    assert re.fullmatch(r"\d+\.\d+\.\d+", facts["version"])
    assert set(facts["platforms"]) <= {"linux", "macos"}
    assert facts["name"] == folder.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", facts["name"])
    assert len(facts["name"]) <= 64
    assert 40 <= len(facts["description"]) <= 1024
    assert "Use " in facts["description"], "say when, too"
    assert len(facts.get("compatibility", "")) <= 500
    assert facts["metadata"].keys() == {"hermes"}
    hermes = facts["metadata"]["hermes"]
    assert hermes.keys() == HERMES
    assert hermes["tags"]
    assert {*hermes["related_skills"], *hermes["prereq_skills"]} <= set(NAMES) - {folder.name}
    assert len(text.splitlines()) < 500
    titles = re.findall(r"^## (.*)$", body, flags=re.MULTILINE)
    assert {"Pre-flight", "Workflow", "State machine", "Pitfalls", "Verification"} <= set(titles)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_skill_names_files_that_exist(folder: Path) -> None:
    text = (folder / "SKILL.md").read_text(encoding="utf-8")
    assert "agents/skills/" not in text, "a skill does not know where it is installed"
    for script in re.findall(r"\bscripts/([a-z_]+\.sh)", text):
        assert (folder / "scripts" / script).is_file(), script
    assert set(re.findall(r"tmux-agent-orchestrate-[a-z]+(?:-[a-z]+)*", text)) <= set(NAMES)
    assert set(re.findall(r"`tmuxreap ([a-z]+)", text)) <= set(PUBLIC)


# The scripts.


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_can_be_run_and_read_by_a_plain_shell(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert script.read_text().startswith("#!/bin/sh\n")
    subprocess.run(["sh", "-n", script], check=True, timeout=60)


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
@pytest.mark.parametrize(
    "script",
    [*SCRIPTS],
    ids=lambda script: script.name,
)
def test_shellcheck_has_nothing_to_say(script: Path) -> None:
    words = ["shellcheck", *(["-s", "bash"] if script.suffix == ".bash" else []), str(script)]
    said = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (said.returncode, said.stdout) == (0, "")


# The copies.
