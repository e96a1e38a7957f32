"""The wheel contains the whole package and nothing else of a checkout, and runs on its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import tmuxreap
from tmuxreap.agents.load import load_profiles
from tmuxreap.core.verbs import ALL

ROOT = Path(__file__).parent.parent
PACKAGE = Path(tmuxreap.__file__).parent


def build(kind: str, folder: Path) -> Path:
    pytest.importorskip("hatchling")
    words = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (made,) = folder.iterdir()
    return made


def test_the_wheel_holds_the_package_and_runs_alone(tmp_path: Path) -> None:
    wheel = build("wheel", tmp_path / "dist")
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
        packed.extractall(tmp_path / "alone")
    modules = {str(path.relative_to(PACKAGE.parent)) for path in PACKAGE.rglob("*.py")}
    data = ("agents/agents.yaml", "py.typed")
    assert modules | {f"tmuxreap/{name}" for name in data} <= names
    assert {name.split("/")[0] for name in names} == {
        "tmuxreap",
        f"tmuxreap-{tmuxreap.__version__}.dist-info",
    }
    run = [sys.executable, "-m", "tmuxreap", "agents", "--json"]
    there = {
        "PYTHONPATH": str(tmp_path / "alone"),
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
    }
    said = subprocess.run(
        run, cwd=tmp_path, env=there, capture_output=True, text=True, check=True
    ).stdout
    assert [one["name"] for one in json.loads(said)["results"]] == list(load_profiles(None).agents)
    assert {f"tmuxreap/interfaces/cli/verbs/{verb.flags}.py" for verb in ALL} <= names


def test_the_source_holds_what_git_holds_and_no_environment(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as packed:
        names = {name.split("/", 1)[1] for name in packed.getnames()}
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode == 0:
        tracked = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
        assert tracked <= names
    assert not {name.split("/")[0] for name in names} & {
        ".venv",
        ".git",
        ".hypothesis",
        ".hermes",
        "dist",
        "build",
    }


def test_the_version_is_in_one_place() -> None:
    assert 'dynamic = ["version",' in (ROOT / "pyproject.toml").read_text()
    found = [
        path
        for path in PACKAGE.rglob("*.py")
        if f'"{tmuxreap.__version__}"' in path.read_text(encoding="utf-8")
    ]
    assert found == [PACKAGE / "__init__.py"]


def test_a_script_that_is_asked_for_help_prints_its_head_and_begins_nothing(tmp_path: Path) -> None:
    """Without Python, tmux and npm in its PATH it could begin nothing else."""
    for name in ("bash", "dirname", "sed"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    scripts = [one for one in (ROOT / "scripts").iterdir() if one.is_file()]
    asked = [one for one in scripts if one.read_text().startswith("#!/usr/bin/env bash")]
    assert len(asked) > 10
    for script in asked:
        words = ["/usr/bin/env", f"PATH={tmp_path}", str(script), "--help"]
        done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert (done.returncode, done.stderr) == (0, ""), script.name
        head = script.read_text().splitlines()[1]
        assert done.stdout.splitlines()[0] == head.removeprefix("# ")
