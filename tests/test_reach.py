"""What lets others find and install tmuxreap: derived from the pages and the wheel, tried offline,
and without any address until there is one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from tests.real import Real
from tests.scripts import script
from tests.test_packaging import build
from tests.test_release import REPOSITORY
from tmuxreap import __version__

ROOT = Path(__file__).parent.parent
NEEDED = ("docs/README.md", "scripts/install.sh.in", ".mcp.json", "hooks/hooks.json", "LICENSE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def reach() -> ModuleType:
    return script("reach.py")


@pytest.fixture
def checkout(tmp_path: Path, wheel: Path) -> Path:
    """Return a checkout with a wheel in dist."""
    root = tmp_path / "checkout"
    for name in (*NEEDED, ".claude-plugin/plugin.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, root / name)
    (root / "dist").mkdir()
    shutil.copyfile(wheel, root / "dist" / wheel.name)
    return root


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


# What is in the repository


def test_the_extension_for_gemini_starts_the_server_of_the_plugin(reach: ModuleType) -> None:
    extension = read(ROOT / "gemini-extension.json")
    assert (extension["name"], extension["version"]) == ("tmuxreap", __version__)
    assert extension["description"] == reach.SUMMARY
    assert extension["mcpServers"] == read(ROOT / ".mcp.json")["mcpServers"]


# What is made from the wheel


def test_without_an_address_no_file_names_one(reach: ModuleType, checkout: Path) -> None:
    made = reach.write(checkout, "", __version__)
    assert [path.name for path in made] == ["llms.txt", "plugin", "install.sh"]
    assert not (checkout / "dist" / "server.json").exists()
    for path in (checkout / "llms.txt", checkout / "dist" / "install.sh"):
        assert "://" not in path.read_text(encoding="utf-8").replace("file://", "")


def test_with_an_address_the_registry_entry_and_the_page_have_one_name(
    reach: ModuleType, checkout: Path
) -> None:
    pytest.importorskip("hatchling")
    reach.write(checkout, REPOSITORY, __version__)
    entry = read(checkout / "dist" / "server.json")
    (package,) = entry["packages"]
    assert (entry["name"], entry["version"]) == ("org.example.someone/tmuxreap", __version__)
    assert (package["identifier"], package["transport"]) == ("tmuxreap", {"type": "stdio"})
    assert len(entry["description"]) <= 100  # the registry's limit
    page = script("package_page.py").page_of("# tmuxreap\n", REPOSITORY, "v1")
    assert f"<!-- mcp-name: {entry['name']} -->" in page
    assert reach.server_name("https://github.com/me/it") == "io.github.me/it"
    address = f"{REPOSITORY}/releases/download/v{__version__}/tmuxreap-{__version__}"
    assert address in (checkout / "dist" / "install.sh").read_text(encoding="utf-8")


def test_the_plugin_folder_is_light_and_whole(
    reach: ModuleType, checkout: Path, wheel: Path
) -> None:
    reach.write(checkout, "", __version__)
    folder = checkout / "dist" / "plugin"
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    skills = {f"skills/{path.relative_to(ROOT / 'skills')}" for path in skill_files()}
    assert files == {*reach.PLUGIN, *skills}
    assert sum((folder / name).stat().st_size for name in files) < 200_000
    assert all(os.access(folder / name, os.X_OK) for name in files if name.endswith(".sh"))
    with zipfile.ZipFile(wheel) as packed:
        (named,) = [name for name in packed.namelist() if name.endswith("entry_points.txt")]
        programs = packed.read(named).decode()
    (server,) = read(folder / ".mcp.json")["mcpServers"].values()
    assert f"{server['command']} = " in programs


def skill_files() -> list[Path]:
    return [path for path in (ROOT / "skills").rglob("*") if path.suffix in (".md", ".sh")]


# The install script


def install(checkout: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Run it offline: the libraries are those of the tests."""
    environ = {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "TMUXREAP_PYTHON": sys.executable,
        "TMUXREAP_EXTRAS": "",
        "TMUXREAP_OWN": "1",
        "PIP_NO_INDEX": "1",
        "PYTHONPATH": sysconfig.get_path("purelib"),
    }
    words = ["sh", str(checkout / "dist" / "install.sh")]
    return subprocess.run(words, env=environ, capture_output=True, text=True, check=False)


def test_the_install_script_installs_its_wheel_and_says_how_to_remove_it(
    reach: ModuleType, checkout: Path, tmp_path: Path
) -> None:
    reach.write(checkout, "", __version__)
    home = tmp_path / "home"
    home.mkdir()
    done = install(checkout, home)
    assert done.returncode == 0, done.stderr
    assert f"installed: tmuxreap {__version__}" in done.stderr
    program = home / ".local" / "bin" / "tmuxreap"
    there = {"HOME": str(home), "PYTHONPATH": sysconfig.get_path("purelib"), "PATH": "/usr/bin"}
    said = subprocess.run(
        [program, "agents", "--json"], env=there, capture_output=True, text=True, check=True
    )
    assert json.loads(said.stdout)["ok"]
    (remove,) = re.findall(r"to remove it: (.*)", done.stderr)
    subprocess.run(["sh", "-c", remove], env=there, check=True)
    assert not program.is_symlink()


def test_the_install_script_refuses_another_wheel_and_none(
    reach: ModuleType, checkout: Path, tmp_path: Path
) -> None:
    reach.write(checkout, "", __version__)
    (wheel,) = (checkout / "dist").glob("*.whl")
    wheel.write_bytes(wheel.read_bytes() + b"x")
    changed = install(checkout, tmp_path)
    assert (changed.returncode, "its SHA-256 is" in changed.stderr) == (1, True)
    wheel.unlink()
    missing = install(checkout, tmp_path)
    assert (missing.returncode, "is not beside this script" in missing.stderr) == (1, True)


# The GitHub Action


def test_the_action_hands_every_input_to_its_script() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    (step,) = [step for step in action["runs"]["steps"] if step.get("id") == "work"]
    given = {re.findall(r"inputs\.(\w+)", value)[0]: name for name, value in step["env"].items()}
    assert given == {name: f"TMUXREAP_ACTION_{name.upper()}" for name in action["inputs"]}
    text = (ROOT / "scripts" / "action").read_text(encoding="utf-8")
    assert [name for name in given.values() if name not in text] == []


@pytest.mark.live
@pytest.mark.parametrize(("commands", "status"), [("tmuxreap show ci", 0), ("exit 7", 7)])
def test_the_action_stops_its_agent_however_the_commands_end(
    real: Real, commands: str, status: int, tmp_path: Path
) -> None:
    output = tmp_path / "output"
    environ = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TMUXREAP_REGISTRY": str(real.registry),
        "TMUXREAP_ACTION_RUN": commands,
        "TMUXREAP_ACTION_AGENT": "demo",
        "TMUXREAP_ACTION_NAME": "ci",
        "GITHUB_OUTPUT": str(output),
    }
    done = subprocess.run(
        [ROOT / "scripts" / "action"],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    receipt = read(tmp_path / "tmuxreap-receipt.json")
    assert [(one["name"], one["outcome"]) for one in receipt["results"]] == [("ci", "stopped")]
    assert real.row("ci")["stop_reason"] == "ci"
    assert output.read_text() == "receipt=tmuxreap-receipt.json\n"
