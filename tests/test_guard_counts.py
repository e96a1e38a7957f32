"""What a command may cost, counted and not timed. A number here grows only with a reason in the commit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

RUNNER = Path(__file__).with_name("count_run.py")
ROOT = RUNNER.parent.parent
MAIN = "tmuxreap.__main__:main"
# Needed by some verb, never by one that does not name it: over 10 ms each.
HEAVY = ("libtmux", "psutil", "filelock", "asyncio", "sqlite3", "yaml", "rich", "pydantic")


@dataclass(frozen=True, slots=True)
class Counts:
    exit: int | None
    modules: tuple[str, ...]
    processes: tuple[str, ...]
    written: tuple[str, ...]
    changes: tuple[str, ...]
    fsyncs: int


@dataclass(frozen=True, slots=True)
class Budget:
    """At most so many; `may_import` are those of HEAVY that the verb is allowed."""

    modules: int
    processes: int = 0
    written: int = 0
    changes: int = 0
    fsyncs: int = 0
    may_import: tuple[str, ...] = ()


BUDGETS = {
    # The whole command line is declared before the version is told: 184 modules on 3.10, 192 on 3.13.
    "--version": Budget(modules=200, may_import=("yaml", "sqlite3")),
}


def counted(folder: Path, entry: str, *words: str) -> Counts:
    out = folder / "counts.json"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)]), "HOME": str(folder)}
    command = [sys.executable, str(RUNNER), str(out), entry, *words]
    subprocess.run(command, cwd=folder, env=environ, capture_output=True, timeout=30, check=True)
    facts = json.loads(out.read_text(encoding="utf-8"))
    return Counts(
        exit=facts["exit"],
        modules=tuple(facts["modules"]),
        processes=tuple(facts["processes"]),
        written=tuple(facts["written"]),
        changes=tuple(facts["changes"]),
        fsyncs=facts["fsyncs"],
    )


@pytest.mark.parametrize("line", BUDGETS)
def test_a_command_keeps_to_its_budget(line: str, tmp_path: Path) -> None:
    budget, counts = BUDGETS[line], counted(tmp_path, MAIN, *line.split())
    assert counts.exit == 0
    assert len(counts.modules) <= budget.modules, counts.modules
    assert len(counts.processes) <= budget.processes, counts.processes
    assert len(counts.written) <= budget.written, counts.written
    assert len(counts.changes) <= budget.changes, counts.changes
    assert counts.fsyncs <= budget.fsyncs
    heavy = {name.partition(".")[0] for name in counts.modules} & set(HEAVY)
    assert heavy <= set(budget.may_import)


SPENDER = """
def main(words):
    import json, os, subprocess, sys
    with open("a", "w") as file:
        file.write("x")
        os.fsync(file.fileno())
    with open("a") as file:
        pass
    os.fdopen(os.open("b", os.O_RDWR | os.O_CREAT), "w").close()
    os.replace("b", "c")
    null = open(os.devnull, "w")
    subprocess.run(["true"], stdout=null)
    subprocess.run([sys.executable, "-c", ""], close_fds=False)
    os.waitpid(os.posix_spawnp("true", ["true"], os.environ), 0)
    null.close()
    raise SystemExit(len(words))
"""


def test_the_runner_counts_each_thing_once(tmp_path: Path) -> None:
    (tmp_path / "spender.py").write_text(SPENDER)
    counts = counted(tmp_path, "spender:main", "one", "two")
    assert counts.exit == 2
    assert {"spender", "subprocess", "json"} <= set(counts.modules)
    assert counts.written == ("a", "b")
    assert counts.changes == ("os.rename b",)
    assert len(counts.processes) == 3
    assert counts.fsyncs == 1


def test_a_bare_start_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "idler.py").write_text("def main(words):\n    return 0\n")
    assert counted(tmp_path, "idler:main") == Counts(0, ("idler",), (), (), (), 0)
