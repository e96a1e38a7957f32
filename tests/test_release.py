"""The parts of a release: the package's page, the release script, the workflows and the systemd
units."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from tests.scripts import script

ROOT = Path(__file__).parent.parent
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
REPOSITORY = "https://example.org/someone/tmuxreap"
UNITS = sorted((ROOT / "contrib" / "systemd").iterdir())


# The package's page


def test_links_and_pictures_of_the_page_are_named_in_full() -> None:
    pytest.importorskip("hatchling")
    page = script("package_page.py")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    told = page.page_of(readme, REPOSITORY, "v1.2.3")
    links = re.findall(r"\]\(([^)\s]+)\)", told)
    assert len(links) > 10
    assert [link for link in links if not re.match(r"https?:|#", link)] == []
    assert f"]({REPOSITORY}/raw/v1.2.3/docs/pictures/film.svg)" in told
    assert f"]({REPOSITORY}/blob/v1.2.3/docs/" in told
    assert page.page_of(readme, "", "v1") == readme


def test_without_an_address_there_are_no_addresses_and_one_place_holds_it() -> None:
    pytest.importorskip("hatchling")
    page = script("package_page.py")
    assert page.urls_of("") == {}
    assert {"Homepage", "Issues", "Changelog"} <= set(page.urls_of(REPOSITORY))
    assert len(re.findall(r"^repository = ", PYPROJECT, flags=re.MULTILINE)) == 1
    assert script("release").repository() == re.findall(r'^repository = "(.*)"', PYPROJECT, re.M)[0]


# The script


@pytest.fixture
def release(tmp_path: Path) -> ModuleType:
    """Run the script in a checkout that is ready."""
    module = script("release")
    module.ROOT = tmp_path
    (tmp_path / "tmuxreap").mkdir()
    (tmp_path / "tmuxreap" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    for name in (".claude-plugin/plugin.json", "gemini-extension.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{\n  "version": "1.2.3"\n}\n')
    (tmp_path / "pyproject.toml").write_text(f'repository = "{REPOSITORY}"\n')
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## 1.2.3 (today)\n\n- new\n\n## 1.2\n- old\n"
    )
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True)
    return module


def test_a_checkout_that_is_ready_can_be_released(
    release: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.main(["doctor"]) == 0
    assert release.main(["doctor", "--tag", "v1.2.3"]) == 0
    assert release.main(["notes", "v1.2.3"]) == 0
    assert capsys.readouterr().out.endswith("- new\n")


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("pyproject.toml", REPOSITORY, "", "no address of the repository"),
        ("pyproject.toml", "https", "http", "is not https://"),
        ("CHANGELOG.md", "## 1.2.3", "## Unreleased", "has no part `## 1.2.3`"),
        ("tmuxreap/__init__.py", "1.2.3", "1.2.dev0", "is not X.Y.Z"),
        ("gemini-extension.json", "1.2.3", "1.2.2", "gemini-extension.json names another version"),
        ("CHANGELOG.md", "- new", "- newer", "not committed"),
    ],
)
def test_a_mistake_in_a_file_is_reported_and_nothing_is_tagged(
    release: ModuleType,
    capsys: pytest.CaptureFixture[str],
    file: str,
    old: str,
    new: str,
    told: str,
) -> None:
    path = release.ROOT / file
    path.write_text(path.read_text().replace(old, new))
    assert release.main(["tag"]) == 1
    assert told in capsys.readouterr().err
    assert release.git("tag") == ""


def test_a_version_is_set_in_every_file_that_names_it(release: ModuleType) -> None:
    assert release.main(["version", "1.3"]) == 2
    assert release.version() == "1.2.3"
    assert release.main(["version", "1.3.0"]) == 0
    assert release.version() == "1.3.0"
    assert release.other_versions() == []
    assert '"version": "1.3.0"' in (release.ROOT / "gemini-extension.json").read_text()


def test_no_file_names_a_version_of_its_own() -> None:
    assert script("release").other_versions() == []


def test_a_tag_that_differs_from_the_version_is_refused(release: ModuleType) -> None:
    assert release.main(["doctor", "--tag", "v9.9.9"]) == 1
    assert release.main(["notes", "v9.9.9"]) == 2


# Workflows


def test_ci_runs_every_python_that_the_package_names() -> None:
    ci = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    named = re.findall(r"Programming Language :: Python :: (3\.\d+)", PYPROJECT)
    assert ci["jobs"]["test"]["strategy"]["matrix"]["python"] == named
    assert f">={named[0]}" in PYPROJECT
    assert len(ci["jobs"]["tmux"]["strategy"]["matrix"]["tmux"]) >= 5


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github/workflows").iterdir()), ids=lambda p: p.name
)
def test_a_workflow_runs_files_that_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    called = re.findall(r"(?<![\w/])(?:\./)?((?:scripts|\.ci)/[\w-]+)", text)
    assert called
    assert all(os.access(ROOT / name, os.X_OK) for name in called)
    assert all(job["timeout-minutes"] <= 60 for job in jobs.values())


def test_publishing_uses_an_identity_and_no_secret() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    publish = yaml.safe_load(text)["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert "secrets." not in text
    assert "password" not in text


# Units


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not here")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_takes_the_unit(unit: Path, tmp_path: Path) -> None:
    program = tmp_path / ".local" / "bin" / "tmuxreap"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    scope = ["--user"] if "suspend" not in unit.name else []
    words = ["systemd-analyze", *scope, "verify", "--man=no", str(unit)]
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    said = subprocess.run(words, env=environ, capture_output=True, text=True, check=False)
    assert (said.returncode, unit.name in said.stderr) == (0, False), said.stderr
