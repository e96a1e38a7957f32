"""Every writing verb x each of its steps x every fault at that step, on a real tmux server.

`python -m tests.fault_matrix [--page FILE] [VERB]...` runs all of it and prints the page, or writes
it; the tests run the fast part. Exit: 0 all holds, 1 something does not, 2 wrong words."""

from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml

from tests import plain_yaml
from tests.command_line import KILLED, Answer, Child, as_it_was, temporaries, tmuxreap
from tests.fault_steps import CASES, ERRORS, PASSED
from tests.real import until
from tests.scripts import script
from tmuxreap.__main__ import main as program
from tmuxreap.core import faults
from tmuxreap.core.faults import Step
from tmuxreap.ledger.ledger import Ledger

ABOVE = (
    "# of three hands\r\ntmux_sessions:\r\n  - {name: flow, status: stopped, note: 'x'}   #"
    " untouched\r\n"
)
BELOW = "  # of b\r\n  - name: b\r\n    status: 'stopped'\r\n    odd: !x {y: [1]}\r\n"
END = "end: 1\r\n"
ID = "11111111-2222-4333-8444-555555555555"

PROFILE = """
agents:
  toy:
    process: [toy]
    command: [{toy}]
    launch: [--id, '{{id}}']
    resume: [--resume, '{{id}}']
    screens: {{idle: '^toy>\\s*\\Z'}}
    keys: {{idle: [{{text: /exit}}, Enter], safe: [{{text: /exit}}, Enter]}}
    store: {{variable: TOY_HOME, default: ~/.toy}}
    conversation:
      artifact: '{{id}}.jsonl'
      message: user
      purge: ['{{id}}.jsonl', '{{id}}']
      locators: [launch, {{kind: argv, flags: [--id, --resume]}}]
"""
TOY = """#!/bin/sh
[ -n "$STUBBORN" ] && trap '' TERM HUP
mkdir -p "$HOME/.toy"; echo user > "$HOME/.toy/$2.jsonl"
printf 'toy> \\n'
while read -r line; do [ "$line" = /exit ] && [ -z "$STUBBORN" ] && exit 0; done
"""


class Bench:
    """A folder and a server that outlive each fault, and what the fault leaves behind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = Path(os.environ["HOME"])  # of the server, and so of the agents in it
        self.socket = str(folder / "s")
        self.registry = folder / "r" / "agent-sessions.yaml"
        toy = folder / "toy"
        toy.write_text(TOY)
        toy.chmod(0o755)
        (folder / "tmuxreap").mkdir()
        (folder / "tmuxreap" / "agents.yaml").write_text(PROFILE.format(toy=toy))
        self.toy = str(toy)
        self.tmux("new-session", "-d", "-s", "quiet", "sleep", "7200")

    def close(self) -> None:
        subprocess.run(
            ["tmux", "-N", "-S", self.socket, "kill-server"],
            capture_output=True,
            timeout=5,
            check=False,
        )

    def tmux(self, *words: str) -> str:
        where = ["tmux", "-f", "/dev/null", "-S", self.socket]
        environ = {
            name: value for name, value in os.environ.items() if name != "TESTED_BY"
        }  # it outlives a test
        done = subprocess.run(
            [*where, *words], env=environ, capture_output=True, text=True, timeout=10, check=True
        )
        return done.stdout

    def run(self, *words: str, fault: tuple[Step, str] | None = None, passed: str = "") -> Answer:
        """Run a verb, without a fault in this process. `passed`: which passing of the step is
        meant, if not the first."""
        if fault is None:
            with as_it_was():
                self._enter()
                return tmuxreap(*words, "--json")

        def work() -> int:
            faults._fail = break_as(self.registry)
            Ledger.busy_s = 0.02
            self._enter()
            os.environ["TMUXREAP_FAULT"] = f"{fault[0].value}{passed}={fault[1]}"
            return program([*words, "--json"])

        return Child(work).answer()

    def _enter(self) -> None:
        """Let this process work in the bench's folder, with its settings."""
        os.environ.update(
            HOME=str(self.folder),
            XDG_CONFIG_HOME=str(self.folder),
            TMUX_TMPDIR=str(self.folder),
            TMUXREAP_REGISTRY=str(self.registry),
            PATH=f"{self.folder}:{os.environ['PATH']}",
        )
        for name in ("TMUX", "TMUX_PANE", "TMUXREAP_ID", "TMUXREAP_FAULT"):
            os.environ.pop(name, None)
        os.chdir(self.folder)

    def prepare(self, verb: str) -> None:
        shutil.rmtree(self.registry.parent, ignore_errors=True)
        self.registry.parent.mkdir()
        self.registry.write_bytes((ABOVE + BELOW + END).encode())
        environ = ["-e", f"HOME={self.folder}"]
        if verb == "adopt":
            self.tmux(
                "new-session",
                "-d",
                "-s",
                "a",
                *environ,
                self.toy,
                "--id",
                "11111111-2222-4333-8444-555555555555",
            )
        elif verb not in ("start", "headless"):
            stubborn = ("--", "env", "STUBBORN=1", self.toy) if verb == "kill" else ()
            place = ("--agent", "toy", "--confirm", "0.02", "--server", self.socket)
            started = self.done("start", "a", *place, *stubborn)
            if not stubborn:  # whose words have no id
                self.writes(started.json["results"][0])
        if verb in ("resume", "forget"):
            self.done("stop", "a")
        if verb == "reconcile":
            self.end()

    def done(self, *words: str) -> Answer:
        answer = self.run(*words)
        assert answer.exit == 0, answer
        return answer

    def writes(self, started: dict[str, Any]) -> None:
        """Wait for the message in the agent's conversation, which is why it can be resumed."""
        if conversation := started["conversation_id"]:
            file = self.home / ".toy" / f"{conversation}.jsonl"
            until("its conversation", lambda: file.exists() and file.read_text())

    def words(self, verb: str) -> tuple[str, ...]:
        start = ("start", "a", "--agent", "toy", "--confirm", "0.02")
        return {
            "start": (*start, "--server", self.socket),
            "headless": (*start, "--terminal", "none"),
            "adopt": ("adopt", "a", "--agent", "toy", "--server", self.socket),
            "resume": ("resume", "a", "--confirm", "0.02"),
            "stop": ("stop", "a", "--reason", "why", "--yes"),
            "kill": ("kill", "a", "--reason", "why", "--grace", "0.02", "--yes"),
            "purge": ("stop", "a", "--reason", "why", "--purge-conversation", "--yes"),
            "send": ("send", "a", "go on", "--confirm", "0.3"),
            "restart": ("restart", "a", "--confirm", "0.02"),
            "restart again": ("restart", "a", "--confirm", "0.02"),
            "forget": ("forget", "a"),
            "reconcile": ("reconcile",),
        }[verb]

    def end(self) -> None:
        """End the session `a` and all its processes."""
        listed = subprocess.run(
            ["tmux", "-N", "-S", self.socket, "list-panes", "-s", "-t", "=a:", "-F", "#{pane_pid}"],
            capture_output=True,
            text=True,
            check=False,
        )
        for pid in [*map(int, listed.stdout.split()), *self.headless()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        subprocess.run(
            ["tmux", "-N", "-S", self.socket, "kill-session", "-t", "=a:"],
            capture_output=True,
            check=False,
        )

    # Observations

    def alive(self) -> bool:
        """Tell whether the session lives, in tmux or headless."""
        names = self.tmux("list-sessions", "-F", "#{session_name}").split()
        return "a" in names or bool(self.headless())

    def headless(self) -> list[int]:
        """Return headless agents and their keepers."""
        found = []
        for home in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (home / "cmdline").read_bytes().split(b"\0")
                ours = (
                    self.toy.encode() in words
                    or f"{self.registry.parent}/".encode() in b" ".join(words)
                )
                if ours and b"tmux" not in words[0] and int(home.name) != os.getpid():
                    found.append(int(home.name))
        return found

    def row(self) -> dict[str, Any] | None:
        text = re.sub(r"!x ", "", self.registry.read_bytes().decode())
        return next(
            (row for row in plain_yaml.load(text)["tmux_sessions"] if row["name"] == "a"), None
        )

    def whole(self) -> None:
        text = self.registry.read_bytes().decode()
        assert yaml.compose(text) is not None
        assert text.startswith(ABOVE), text
        assert BELOW in text, text
        assert text.endswith(END), text
        self.row()

    def free(self) -> None:
        with open(f"{self.registry}.lock", "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def open_intents(self) -> list[str]:
        ledger = self.registry.with_suffix(".db")
        if not ledger.exists():
            return []
        with contextlib.closing(sqlite3.connect(ledger)) as db:
            return [
                name for (name,) in db.execute("SELECT name FROM intents WHERE outcome IS NULL")
            ]


def break_as(registry: Path) -> Any:
    """Install the fault in the child."""
    held = []

    def fail(fault: str) -> None:
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        faults.arm("")
        ledger = registry.with_suffix(".db")
        if fault == "clock_back":
            real = time.time
            time.time = lambda: real() - 86_400.0
        elif fault == "ledger_locked":
            if ledger.exists():
                held.append(sqlite3.connect(ledger, isolation_level=None))
                held[0].execute("BEGIN IMMEDIATE")
        elif fault == "ledger_broken":
            if ledger.exists():
                ledger.write_bytes(b"no database " * 400)
                ledger.with_name(ledger.name + "-wal").unlink(missing_ok=True)
        else:
            number: int = getattr(errno, fault)
            raise OSError(number, os.strerror(number))

    return fail


def check(bench: Bench, verb: str, step: Step, fault: str) -> str:
    """Cause the fault, reconcile twice, and return the state; assert what must hold after any
    fault."""
    bench.prepare(verb)
    try:
        return _checked(bench, verb, step, fault)
    finally:
        bench.end()


def _checked(bench: Bench, verb: str, step: Step, fault: str) -> str:
    passed = "@2" if verb == "restart again" else ""
    answer = bench.run(*bench.words(verb), fault=(step, fault), passed=passed)
    assert (answer.exit == KILLED) is (fault == "kill"), answer
    assert answer.exit not in (70, 99), answer
    bench.whole()
    bench.free()
    first = bench.run("reconcile")
    assert first.exit == 0, first
    bench.whole()
    settled = bench.registry.read_bytes()
    second = bench.run("reconcile")
    assert second.json["actions"] == [], (answer, first, second)
    assert bench.registry.read_bytes() == settled
    assert temporaries(bench.registry.parent) == []
    drifts = {one["name"]: one["drift"] for one in second.json["drifts"]}
    row, alive = bench.row(), bench.alive()
    if alive:
        told = row is not None and row["status"] == "running" and not drifts
        strange = verb == "adopt" and row is None  # on a server that the registry does not name
        assert told or "a" in drifts or strange, (answer, first.out, second.out, row)
        if verb != "headless":
            assert bench.tmux("show-options", "-p", "-t", "=a:") == "", (answer, first, second)
    else:
        assert row is None or row["status"] != "running", (answer, first.out, row)
        assert drifts == {}, second
    assert bench.open_intents() == [] or "a" in drifts, (answer, second)
    if row is not None and row["status"] != "running" and verb in ("stop", "kill", "purge"):
        lost = fault == "ledger_broken" or row.get("termination_mode") == "lost"
        assert lost or row.get("stop_reason") == "why", row
    if row is not None and row["status"] != "running" and verb.startswith("restart"):
        lost = fault == "ledger_broken" or row.get("termination_mode") == "lost"
        assert lost or row.get("stop_reason") == "restarted", row
        assert row["resumable"] is True, row
    return told_as(row, alive, drifts)


def told_as(row: dict[str, Any] | None, alive: bool, drifts: dict[str, str]) -> str:
    if drifts:
        return f"alive, told: {drifts['a']}"
    if row is None:
        return "no row, its session alive" if alive else "no row, no session"
    mode = row.get("termination_mode")
    return str(row["status"]) + (f" ({mode})" if mode and not alive else "")


def table(found: dict[tuple[str, Step, str], str]) -> Iterator[str]:
    """Format the table; consecutive steps with equal results share a line."""
    heads = [
        "kill",
        "disk (ENOSPC, EIO, EROFS)",
        "clock set back",
        "ledger locked",
        "ledger broken",
    ]
    yield "| verb | step | " + " | ".join(heads) + " |"
    yield "|---" * (len(heads) + 2) + "|"
    for verb, steps in PASSED.items():
        if not any(case[0] == verb for case in found):
            continue
        lines = [
            (step.value, tuple(cell(found, verb, step, head) for head in heads)) for step in steps
        ]
        for cells, same in groupby(lines, key=lambda line: line[1]):
            yield f"| {verb} | {', '.join(name for name, _ in same)} | {' | '.join(cells)} |"


def cell(found: dict[tuple[str, Step, str], str], verb: str, step: Step, head: str) -> str:
    kinds = (
        ERRORS
        if head.startswith("disk")
        else (head.replace("clock set back", "clock back").replace(" ", "_"),)
    )
    told = {found[(verb, step, fault)] for fault in kinds if (verb, step, fault) in found}
    return " / ".join(sorted(told)) or "-"


@contextlib.contextmanager
def bench() -> Iterator[Bench]:
    folder = Path(tempfile.mkdtemp(prefix="tr", dir="/tmp"))
    made = Bench(folder)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder)


measured = script("measured.py")
PAGE = """# After a crash of tmuxreap itself

tmuxreap was killed at every step of every verb, and every step was made to fail: full disk, broken
disk, read-only disk, clock set back, ledger locked, ledger broken. In each case the registry can be
read afterwards, the other rows are unchanged to the byte, and the lock is free. This is the state
after one `reconcile`. A dash means that no file is touched at that step, so no disk can fail.
*told* means that the session is reported with the command that fixes it.

`headless` is `start --terminal none`. `send` and `restart` are played on a running session;
`restart again` is the part of a restart in which its row is written a second time, as the agent is
back.

{count} cases, {failed} of them wrong, played by `python -m tests.fault_matrix --page
docs/reports/fault-matrix.md` on a real tmux server on {date}, at the commit {commit}, in {minutes}
minutes; the tests play a part of it.

{table}

A purge that died before deleting anything counts as a stop, and can be repeated. After that it is
recorded as a purge. A failed `read` changes nothing.
"""


def played(cases: Sequence[tuple[str, Step, str]]) -> tuple[dict[tuple[str, Step, str], str], int]:
    """Return the state after each case, and how many were wrong; tell the progress."""
    found: dict[tuple[str, Step, str], str] = {}
    failed = 0
    with bench() as made:
        for number, case in enumerate(cases, 1):
            if number % 50 == 0:
                print(f"{number} of {len(cases)}, {failed} wrong", file=sys.stderr, flush=True)
            try:
                found[case] = check(made, *case)
            except Exception as error:
                failed += 1
                found[case] = "**wrong**"
                said = (case[0], case[1].value, case[2], type(error).__name__)
                print(*said, str(error)[:3000], file=sys.stderr, flush=True)
    return found, failed


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("fault_matrix", description=__doc__)
    parser.add_argument("verbs", nargs="*", choices=[*PASSED, []], metavar="VERB")
    parser.add_argument("--page", type=Path, help="where to write the page")
    asked = parser.parse_args(words)
    cases = [case for case in CASES if not asked.verbs or case[0] in asked.verbs]
    began = time.monotonic()
    found, failed = played(cases)
    page = PAGE.format(
        count=len(cases),
        failed=failed,
        date=measured.date(),
        commit=measured.commit(),
        minutes=round((time.monotonic() - began) / 60),
        table="\n".join(table(found)),
    )
    if asked.page:
        asked.page.write_text(page)
    else:
        print(page, end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
