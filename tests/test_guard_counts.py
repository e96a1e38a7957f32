"""Limits on the cost of commands, counted, not timed. A number grows only with a reason in the
commit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

RUNNER = Path(__file__).with_name("count_run.py")
ROOT = RUNNER.parent.parent
MAIN = "tmuxreap.__main__:main"
# Over 10 ms each: loaded only by verbs that allow it in `may_import`.
HEAVY = ("typer", "libtmux", "psutil", "filelock", "asyncio", "sqlite3", "yaml", "rich", "pydantic")


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
    """Upper limits; `may_import` lists the allowed modules of HEAVY."""

    modules: int
    processes: int = 0
    written: int = 0
    changes: int = 0
    fsyncs: int = 0
    may_import: tuple[str, ...] = ()


# Opening a ledger counts as one file written and one change. So does taking the lock: filelock asks
# for its folder, and opens a lock file that is there twice. Module counts are for Python 3.11:
# other versions load a few more.
SPARE = 0 if sys.version_info[:2] == (3, 11) else 6
# Imported where a tmux server begins or ends at that moment: its client gets no answer, and a
# connection tells why. On a busy machine that comes now and then.
WITHOUT_ANSWER = {"socket", "_socket", "array"}
LEDGER = ("sqlite3",)
LOOK = (*LEDGER, "typer")
BOTH = ("yaml", *LEDGER, "typer")
# Below 3.11 filelock is one that loads asyncio.
WRITE = (*BOTH, "filelock", *(("asyncio",) if sys.version_info < (3, 11) else ()))
VERSION = Budget(modules=28)

RUNNING = """\
tmux_sessions:
  - name: shop
    status: running
    agent: demo
    pane: {pid: 4194305, cmd: python, cwd: /}
"""
STOPPED = """\
tmux_sessions:
  - name: shop
    status: stopped
    agent: demo
    stopped_at: "2026-11-18T09:12:33Z"
    stop_reason: manual_stop
"""
# A registry without a ledger, and no tmux server: 1 client finds that out. A look creates no
# ledger.
AT_REST = {
    (RUNNING, "list"): Budget(modules=223, processes=1, may_import=BOTH),
    (RUNNING, "list --json"): Budget(modules=223, processes=1, may_import=BOTH),
    (RUNNING, "show shop"): Budget(modules=229, processes=1, may_import=BOTH),
    (RUNNING, "events"): Budget(modules=181, may_import=LOOK),
    # Gone already: the intent, the lock twice, a new registry and a new ledger, each with its
    # folder. The ledger is complete before it gets its name: a link, and a sync of its own. Before
    # the first key a trial file takes the room that the new registry will need.
    (RUNNING, "stop shop"): Budget(
        modules=280, processes=3, written=6, changes=7, fsyncs=4, may_import=WRITE
    ),
    (STOPPED, "stop shop"): Budget(modules=250, processes=1, may_import=BOTH),
    # Found dead: written like a stop; a second look finds nothing to do.
    (RUNNING, "reconcile"): Budget(
        modules=275, processes=1, written=3, changes=6, fsyncs=4, may_import=WRITE
    ),
    (STOPPED, "reconcile"): Budget(modules=245, processes=1, may_import=BOTH),
    (STOPPED, "forget shop"): Budget(modules=251, written=3, changes=6, fsyncs=4, may_import=WRITE),
}
# One demo agent through its life: each line depends on the state left by the one above.
LIFE = {
    # A registry from nothing, noted once among the user's, the session,
    # the second look after the time it has to live, the row
    # and the ledger.
    "start shop --agent demo": Budget(
        modules=279, processes=6, written=6, changes=15, fsyncs=6, may_import=WRITE
    ),
    # From here on the ledger caches the registry: a look needs no YAML. One client for all looks,
    # one for all screens.
    "list": Budget(modules=196, processes=2, written=1, changes=1, may_import=LOOK),
    "show shop": Budget(
        modules=215, processes=2, written=1, changes=1, may_import=(*LOOK, "psutil")
    ),
    "reconcile": Budget(modules=221, processes=1, written=1, changes=1, may_import=LOOK),
    "stop shop --dry-run": Budget(modules=216, processes=2, written=1, changes=1, may_import=LOOK),
    # Called all the time by agents and shells: no command line is built.
    "heartbeat shop --state working": Budget(modules=50, changes=1, may_import=LEDGER),
    # 10 clients: 3 looks, 4 screens (for the plan, before each key, the banner), 3 to act; 1 more
    # where death is slow.
    "stop shop": Budget(
        modules=280, processes=11, written=6, changes=4, fsyncs=2, may_import=WRITE
    ),
    "start shop --confirm 0.2": Budget(
        modules=279, processes=7, written=4, changes=5, fsyncs=2, may_import=WRITE
    ),
    "kill shop": Budget(modules=280, processes=5, written=5, changes=4, fsyncs=2, may_import=WRITE),
    "events": Budget(modules=183, written=1, changes=1, may_import=LOOK),
    "forget shop": Budget(modules=251, written=3, changes=3, fsyncs=2, may_import=WRITE),
}


def counted(folder: Path, entry: str, *words: str) -> Counts:
    out = folder / "counts.json"
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith("TMUXREAP_")
    }
    environ |= {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)]),
        "HOME": str(folder / "home"),
    }
    command = [sys.executable, str(RUNNER), str(out), entry, *words]
    subprocess.run(command, cwd=folder, env=environ, capture_output=True, timeout=60, check=True)
    facts = json.loads(out.read_text(encoding="utf-8"))
    return Counts(
        exit=facts["exit"],
        modules=tuple(facts["modules"]),
        processes=tuple(facts["processes"]),
        written=tuple(facts["written"]),
        changes=tuple(facts["changes"]),
        fsyncs=facts["fsyncs"],
    )


def keeps_to(budget: Budget, counts: Counts) -> None:
    assert counts.exit == 0
    modules = set(counts.modules) - WITHOUT_ANSWER
    assert len(modules) <= budget.modules + SPARE, counts.modules
    assert len(counts.processes) <= budget.processes, counts.processes
    assert len(counts.written) <= budget.written, counts.written
    assert len(counts.changes) <= budget.changes, counts.changes
    assert counts.fsyncs <= budget.fsyncs
    heavy = {name.partition(".")[0] for name in counts.modules} & set(HEAVY)
    assert heavy <= set(budget.may_import)


def registry_of(folder: Path, text: str) -> Path:
    registry = folder / ".hermes" / "agent-sessions.yaml"
    registry.parent.mkdir()
    registry.write_text(text)
    return registry


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def test_the_version_keeps_to_its_budget(tmp_path: Path) -> None:
    keeps_to(VERSION, counted(tmp_path, MAIN, "--version"))


@pytest.mark.parametrize(
    ("registry", "line"), AT_REST, ids=[f"{r.split()[5]}-{line}" for r, line in AT_REST]
)
def test_a_command_keeps_to_its_budget_at_rest(
    registry: str, line: str, tmp_path: Path, tmux_socket: str
) -> None:
    registry_of(tmp_path, registry)
    keeps_to(AT_REST[registry, line], counted(tmp_path, MAIN, *line.split()))


LIVES = 3  # on a busy machine a death is slow, and costs one look more: the quickest life counts


@pytest.mark.live
def test_each_command_keeps_to_its_budget_in_the_life_of_an_agent(
    tmp_path: Path, tmux_socket: str
) -> None:
    for life in range(LIVES):
        folder = tmp_path / str(life)
        folder.mkdir()
        dear = [
            (line, counts)
            for line, budget in LIFE.items()
            if not keeps_to_processes(budget, counts := life_line(folder, line, budget))
        ]
        if not dear:
            return
    assert not dear


def life_line(folder: Path, line: str, budget: Budget) -> Counts:
    """Run one line of a life and hold it to all of its budget but the processes."""
    with pytest.MonkeyPatch.context() as patch:
        if line in ("stop shop", "kill shop"):
            patch.setenv("UNHURRIED", "1")
        counts = counted(folder, MAIN, *line.split())
    keeps_to(replace(budget, processes=len(counts.processes)), counts)
    return counts


def keeps_to_processes(budget: Budget, counts: Counts) -> bool:
    return len(counts.processes) <= budget.processes


@pytest.mark.parametrize("with_ledger", [False, True])
def test_a_stop_of_what_was_stopped_writes_not_a_byte(
    with_ledger: bool, tmp_path: Path, tmux_socket: str
) -> None:
    registry = registry_of(tmp_path, RUNNING if with_ledger else STOPPED)
    if with_ledger:
        assert counted(tmp_path, MAIN, "stop", "shop").fsyncs > 0
    before = contents(registry.parent)
    assert ("agent-sessions.db" in before) is with_ledger
    assert counted(tmp_path, MAIN, "stop", "shop").exit == 0
    assert contents(registry.parent) == before


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
