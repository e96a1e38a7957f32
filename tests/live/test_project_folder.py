"""Every verb in a folder that holds modules of its own: nothing of it is imported."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tmuxreap
from tests.poison import poisoned, was_eaten
from tests.real import Real
from tmuxreap.core.verbs import PUBLIC
from tmuxreap.system.whereabouts import own_command

pytestmark = pytest.mark.live
ROOT = Path(tmuxreap.__file__).parent.parent
# The verbs in the order of a session's life. Those that run on are ended by `timeout`.
LINES = """
start a --agent demo --confirm 0.5
start h --agent demo --terminal none --confirm 0.5
adopt --all
list --host local
show a@local
wait a --until idle --timeout 1
send a hello
interrupt a
protect a
unprotect a
heartbeat a
hook claude
attach a
restart a --dry-run
watch --quiet
events --host local
report --html page.html
reconcile --host all,local
doctor
hosts
stop a@local --yes
resume a --host local --yes
kill a h --yes
reap
forget a
mcp
skills list
schema list
config
hooks install claude
agents
popup
completion bash
"""


@pytest.fixture
def folder(tmp_path: Path, real: Real) -> Path:
    made = poisoned(tmp_path)
    (made / ".hermes").mkdir()
    (made / ".hermes" / "agent-sessions.yaml").write_text("tmux_sessions: []\n")
    return made


def run(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONPATH" and not name.startswith("TMUXREAP_")
    }
    kept |= {"HOME": str(folder.parent), "XDG_CONFIG_HOME": str(folder.parent / "config")}
    return subprocess.run(
        ["timeout", "20", *words],
        cwd=folder,
        env={**kept, **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_verb_imports_what_lies_in_the_folder(folder: Path, real: Real) -> None:
    lines = [line.split() for line in LINES.strip().splitlines()]
    assert {line[0] for line in lines} == set(PUBLIC)
    before = sorted(folder.rglob("*.py*"))
    ended = {}
    for line in lines:
        is_in_tmux = line[0] in ("start", "adopt") and "none" not in line
        server = ["--server", real.socket] if is_in_tmux else []
        limit = ["timeout", "2"] if line[0] == "watch" else []
        done = run(folder, *limit, *own_command(*line[:2], *server, *line[2:]))
        ended[" ".join(line)] = done.returncode
        assert was_eaten(folder) == [], line
    assert ended["start a --agent demo --confirm 0.5"] == 0
    assert ended["list --host local"] == 0
    assert ended["stop a@local --yes"] == 0
    assert ended["kill a h --yes"] == 0
    assert sorted(folder.rglob("*.py*")) == before


def test_a_hook_written_without_a_program_imports_nothing_there(folder: Path) -> None:
    """No `tmuxreap` is on the PATH: the hook calls the interpreter that runs now."""
    installed = run(folder, *own_command("hooks", "install", "claude"), PATH="/usr/bin:/bin")
    assert installed.returncode == 0, installed.stderr
    settings = folder.parent / ".claude" / "settings.json"
    written = json.loads(settings.read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert run(folder, "sh", "-c", written).returncode == 0
    assert was_eaten(folder) == []
    run(folder, *own_command("hooks", "remove", "claude"), PATH="/usr/bin:/bin")
    assert "tmuxreap" not in settings.read_text()


def test_a_copy_that_is_not_installed_runs_its_own_modules(folder: Path) -> None:
    copy = folder.parent / "copy" / "tmuxreap"
    ignored = shutil.ignore_patterns("__pycache__")
    # without the modes: the checkout may be one that cannot be written
    shutil.copytree(ROOT / "tmuxreap", copy, ignore=ignored, copy_function=shutil.copyfile)
    (copy / "__init__.py").write_text('"""A copy."""\n\n__version__ = "9.9"\n')
    done = run(folder, sys.executable, str(copy / "__main__.py"), "--version")
    assert done.stdout == "tmuxreap 9.9\n"
    assert was_eaten(folder) == []


def test_no_script_of_tmuxreap_runs_python_in_the_folder(folder: Path) -> None:
    """`-c` and `-m` look for modules there first; -I does not."""
    told = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in (ROOT / "tmuxreap.tmux", *sorted((ROOT / "skills").rglob("*.*")))
        for line in path.read_text(encoding="utf-8").splitlines()
        if ("python3 -c" in line and "cd / " not in line) or "-m tmuxreap" in line
    ]
    assert told == []
    script = ROOT / "skills/tmux-agent-orchestrate-delegate-job/scripts/delegate_job.sh"
    assert run(folder, "sh", str(script), "status", "--job", "none").returncode == 3
    assert was_eaten(folder) == []
