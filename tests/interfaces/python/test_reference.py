"""The page of the Python interface matches the docstrings, its recipes work, and public names
stay."""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import re
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tmuxreap
from tests.real import Real, alive, until
from tmuxreap.interfaces.python import api

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
RESUME, MONITOR, FIXTURE, CELL = BLOCK.findall(PAGE.partition("## Recipes")[2])


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    loader = SourceFileLoader("reference", str(ROOT / "scripts" / "reference"))
    spec = spec_from_loader("reference", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_the_page_is_what_the_docstrings_say(reference: ModuleType) -> None:
    assert reference.page() == PAGE, "run: python scripts/reference"


def test_the_public_names_are_changed_on_purpose_only(reference: ModuleType) -> None:
    """Programs rely on the snapshot: add to it, and remove nothing within a major version."""
    assert reference.snapshot() == reference.SNAPSHOT.read_text(), (
        "on purpose? then run: python scripts/reference"
    )


def test_the_package_has_the_names_of_its_one_public_module() -> None:
    listed = [name for name in vars(api) if not name.startswith("_")]
    assert tmuxreap.__all__ == sorted(listed)
    assert set(listed) <= set(dir(tmuxreap))
    star: dict[str, object] = {}
    exec("from tmuxreap import *", star)
    assert set(listed) == star.keys() - {"__builtins__"}
    assert not hasattr(tmuxreap, "real_app")


@pytest.mark.parametrize("name", tmuxreap.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    thing = getattr(tmuxreap, name)
    assert inspect.getdoc(thing)
    for member, value in vars(thing).items() if inspect.isclass(thing) else ():
        if member[0] != "_" and (inspect.isfunction(value) or isinstance(value, property)):
            assert value.__doc__, f"{name}.{member}"


SCRIPT = """
import asyncio
import filelock
import libtmux
import tmuxreap

registry: tmuxreap.Registry = tmuxreap.open_registry("agents.yaml")
for session in registry.sessions(live=True):
    theirs: libtmux.Session = session.libtmux()
    ending: tmuxreap.Ending = registry.stop(theirs, reason="nightly", grace="5s", check=True)
    several: list[tmuxreap.Ending]
    several = registry.kill([session, "acme-*"], task_status="ready", yes=True)
    mine = "own_session"
    if ending.outcome == "stopped" and session.live != "gone":
        doing: str | None = session.state
    names: list[str] = [one.name for one in several if one.error is None or one.error.code != mine]
lock: filelock.BaseFileLock = registry.lock(timeout=1)
with lock, registry.watch(settle=True) as changes:
    for change in changes:
        print(change.event.upper(), change.cause)

async def work() -> tmuxreap.Ending:
    return await asyncio.to_thread(registry.stop, "acme")

try:
    asyncio.run(work())
except tmuxreap.Error as error:
    print(error.code, error.hint)
"""
WRONG = """
import tmuxreap
registry = tmuxreap.open_registry()
registry.stop("acme", resaon="typo")
registry.stop(3)
tmuxreap.nothing
ending = tmuxreap.Ending("acme", outcome="stoped")
session = tmuxreap.Session("acme", live="dead", state="busy")
"""


def mypy(folder: Path, name: str, script: str) -> str:
    (folder / name).write_text(script)
    words = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"), name]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False).stdout


def test_the_scripts_of_users_are_checked_strictly(tmp_path: Path) -> None:
    assert "Success" in mypy(tmp_path, "script.py", SCRIPT)
    told = mypy(tmp_path, "wrong.py", WRONG)
    assert re.findall(r"^wrong.py:(\d+): error", told, re.MULTILINE)[0] == "4"
    lines = {line.split(":")[1] for line in told.splitlines() if "error:" in line}
    assert lines == {"4", "5", "6", "7", "8"}


# The recipes


def run(recipe: str, **names: Any) -> dict[str, Any]:
    space: dict[str, Any] = dict(names)
    exec(compile(recipe, "docs/python.md", "exec"), space)
    return space


@pytest.fixture
def project(real: Real, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tmuxreap.Registry:
    monkeypatch.delenv("TMUXREAP_REGISTRY", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmuxreap.open_registry(tmp_path / ".hermes" / "agent-sessions.yaml", create=True)


@pytest.mark.live
def test_the_resume_workflow_resumes_what_was_stopped(
    real: Real, project: tmuxreap.Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    project.start("shop", agent="demo", server=real.socket, confirm=0.05)
    real.say("hello", "shop")
    assert project.stop("shop", check=True).resumable
    run(RESUME)
    session = project.session("shop")
    assert session.alive
    assert capsys.readouterr().out.strip() == session.pane_id
    project.kill("shop", check=True)


@pytest.mark.live
def test_the_monitor_loop_reports_lost_sessions(
    real: Real, project: tmuxreap.Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("lost", "there"):
        project.start(name, agent="demo", server=real.socket, confirm=0.05)
    agent = real.pid("lost")
    real.tmux("kill-session", "-t", "=lost")
    until("the end of what was hung up on", lambda: not alive(agent))
    run(MONITOR)
    assert capsys.readouterr().out == "lost: lost\n"
    assert project.session("lost").termination_mode == "lost"
    project.kill("there", check=True)


@pytest.mark.live
def test_the_fixture_starts_an_agent_and_surely_ends_it(real: Real, tmp_path: Path) -> None:
    (tmp_path / "test_recipe.py").write_text(FIXTURE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")  # none of the folders above counts
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_recipe.py"]
    told = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert "1 passed" in told.stdout, told.stdout


def test_a_cell_of_a_notebook_may_wait_for_it(registry: Path) -> None:
    """A notebook already runs a loop in the main thread, and a cell may await. `tests/notebook.py`
    uses a real kernel."""
    registry.write_text(
        "tmux_sessions:\n  - {name: shop, status: running, agent: demo, pane: {pid: 4194305}}\n"
    )
    space: dict[str, Any] = {}

    async def notebook() -> None:
        await eval(compile(CELL, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), space)

    asyncio.run(notebook())
    assert space["ending"].outcome == "stopped"
