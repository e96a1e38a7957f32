"""Promise 5, the registry's half: wherever a command is cut off, the registry is whole, the lock is
free, and the next command completes everything."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests import fault_matrix, fault_steps
from tests.command_line import KILLED, Answer, Child, as_it_was, temporaries
from tests.command_line import tmuxreap as run
from tests.fault_steps import LEDGER, WRITE
from tmuxreap.__main__ import main
from tmuxreap.core import faults
from tmuxreap.core.faults import Step

ABOVE = (
    "# of three hands\r\ntmux_sessions:\r\n  - {name: flow, status: running, note: 'x'}   #"
    " untouched\r\n"
)
OLD = {
    "stop": "  - name: a   # ours\r\n    status: running\r\n    pane: {cwd: /x}\r\n",
    "forget": "  - name: a   # ours\r\n    status: stopped\r\n    stop_reason: done\r\n",
}
BELOW = "  # of b\r\n  - name: b\r\n    status: 'stopped'\r\n    odd: !x {y: [1]}\r\nend: 1"

FAULTS = ("kill", "ENOSPC", "EIO", "EROFS")
PASSED = {
    "stop": (Step.READ, Step.LOCK, Step.INTENT, Step.PROVEN, *WRITE, *LEDGER),
    "forget": (Step.READ, *WRITE, *LEDGER),
}
NO_FILE = (Step.PROVEN,)  # no file access there: a disk cannot fail
RENAMED = (Step.REPLACED, Step.FOLDER_SYNCED, *LEDGER)  # from here on the new registry is in place
CASES = [
    (verb, step, fault)
    for verb, steps in PASSED.items()
    for step in steps
    for fault in FAULTS
    if fault == "kill" or step not in NO_FILE
]
# A killed process leaves its temporary file: nothing is left to remove it.
LEFT_BY_KILL = (Step.TEMP_CREATED, Step.TEMP_WRITTEN, Step.TEMP_SYNCED)


def is_free(lock: Path) -> bool:
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def own_row(registry: Path, verb: str) -> str:
    """Return the state of our row; everything around it must be unchanged, to the byte."""
    text = registry.read_bytes().decode()
    assert yaml.compose(text) is not None
    assert text.startswith(ABOVE), text
    assert text.endswith(BELOW), text
    between = text[len(ABOVE) : len(text) - len(BELOW)]
    if between == OLD[verb]:
        return "old"
    if verb == "forget":
        assert between == ""
        return "new"
    row = yaml.safe_load(between)[0]
    assert {**row, "status": "running"}.items() >= {
        "name": "a",
        "status": "running",
        "pane": {"cwd": "/x"},
    }.items()
    assert row["status"] == "stopped"
    assert set(row) - {"name", "status", "pane"} == {
        "stopped_at",
        "stopped_at_epoch",
        "stop_reason",
        "termination_mode",
        "stopped_by",
        "resumable",
    }
    assert row["stop_reason"] == "disk went"
    return "new"


def words(verb: str) -> tuple[str, ...]:
    return (
        ("stop", "a", "--reason", "disk went", "--json")
        if verb == "stop"
        else ("forget", "a", "--json")
    )


@dataclass(frozen=True)
class Left:
    """The state after a fault."""

    exit: int
    code: str | None
    row: str
    temporaries: int
    open_intents: int

    def __str__(self) -> str:
        told = (
            "killed"
            if self.exit == KILLED
            else f"exit {self.exit}{f' {self.code}' if self.code else ''}"
        )
        return (
            f"{told}; row {self.row}; temp files {self.temporaries}; open intents"
            f" {self.open_intents}"
        )


def open_intents(registry: Path) -> int:
    ledger = registry.with_name("agent-sessions.db")
    if not ledger.exists():
        return 0
    with contextlib.closing(sqlite3.connect(ledger)) as db, db:
        tables = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'intents'").fetchone()[
            0
        ]
        found = (
            db.execute("SELECT count(*) FROM intents WHERE outcome IS NULL").fetchone()[0]
            if tables
            else 0
        )
    db.close()
    return int(found)


def faulty(armed: str, *words: str) -> Answer:
    """Run the program with a fault; only one that kills needs a process of its own."""
    if armed.endswith("=kill"):
        return run(*words, env={"TMUXREAP_FAULT": armed})
    with as_it_was():
        os.environ["TMUXREAP_FAULT"] = armed
        answer = run(*words)
    faults.arm("")
    return answer


def broken(registry: Path, verb: str, step: Step, fault: str) -> tuple[Left, Answer]:
    registry.write_bytes((ABOVE + OLD[verb] + BELOW).encode())
    answer = faulty(f"{step.value}={fault}", *words(verb))
    code = answer.error["code"] if answer.exit > 0 else None
    row = own_row(registry, verb)
    return (
        Left(answer.exit, code, row, len(temporaries(registry.parent)), open_intents(registry)),
        answer,
    )


@pytest.mark.parametrize(
    ("verb", "step", "fault"), CASES, ids=lambda value: getattr(value, "value", value)
)
def test_the_registry_is_whole_after_a_fault_at_any_step(
    verb: str, step: Step, fault: str, registry: Path
) -> None:
    left, answer = broken(registry, verb, step, fault)
    print(f"{verb} {step.value}={fault}: {left}")  # pytest -rP shows the whole table
    killed = fault == "kill"
    assert (left.exit == KILLED) is killed
    assert left.exit != 70, answer.err
    assert left.row == ("new" if step in RENAMED or left.exit == 0 else "old")
    assert left.temporaries == (1 if killed and step in LEFT_BY_KILL else 0)
    assert is_free(registry.with_name("agent-sessions.yaml.lock"))
    if not killed and step in (Step.INTENT, *LEDGER):
        # The ledger is optional: without it the work continues, and the answer says so.
        assert left.exit == 0
        warnings = answer.json["warnings"]
        assert [w.split(":")[0] for w in warnings] == [
            "intent_not_recorded" if step is Step.INTENT else "ledger_not_written"
        ]
    elif not killed and step in (Step.REPLACED, Step.FOLDER_SYNCED):
        # It is in the file, so that is reported; a power cut could undo it, so the intent
        # stays.
        assert left.exit == 0
        assert [w.split(":")[0] for w in answer.json["warnings"]] == ["registry_not_synced"]
        assert left.open_intents == (1 if verb == "stop" else 0)
    elif not killed:
        assert left.exit == 6
    converges(registry, verb, left)


def converges(registry: Path, verb: str, left: Left) -> None:
    """Repeating the command completes it, whatever was left behind."""
    again = run(*words(verb))
    assert again.exit == (3 if verb == "forget" and left.row == "new" else 0), again
    assert own_row(registry, verb) == "new"
    assert len(temporaries(registry.parent)) == left.temporaries
    if left.exit == KILLED:  # only a killed one could not clean up
        bystander = run("stop", "flow", "--json")
        assert (bystander.exit, bystander.json["results"][0]["outcome"]) == (0, "stopped")
        assert yaml.compose(registry.read_bytes().decode()) is not None
        assert mirror(registry)["flow"] == "stopped"
        assert ("a" in mirror(registry)) is (verb == "stop")


def mirror(registry: Path) -> dict[str, str]:
    db = sqlite3.connect(registry.with_name("agent-sessions.db"))
    found = dict(db.execute("SELECT name, status FROM sessions").fetchall())
    db.close()
    return found


@pytest.mark.parametrize("verb", PASSED)
def test_every_step_of_a_command_is_broken_by_a_test(
    verb: str, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listed step that the command never reaches proves nothing; an unlisted one is not
    tested."""
    registry.write_bytes((ABOVE + OLD[verb] + BELOW).encode())
    monkeypatch.setenv("TMUXREAP_FAULT", "no step=kill")
    assert run(*words(verb)).exit == 0
    met = {Step(name) for name in faults._passed}
    faults.arm("")
    assert met - {Step.HANGUP, Step.KILL, Step.KEYS} == set(PASSED[verb])


def test_the_request_of_a_stop_is_known_after_a_kill(registry: Path) -> None:
    """From the intent on, the reason is in the ledger, for reconcile."""
    broken(registry, "stop", Step.PROVEN, "kill")
    db = sqlite3.connect(registry.with_name("agent-sessions.db"))
    assert db.execute("SELECT name, verb, reason, outcome FROM intents").fetchall() == [
        ("a", "stop", "disk went", None)
    ]
    db.close()


def test_a_full_file_system_keeps_the_registry_whole(registry: Path) -> None:
    """A real kernel error, not ours: no file may grow to the registry's size."""
    text = (f"# {'x' * 9000}\n" + ABOVE + OLD["stop"] + BELOW).encode()
    registry.write_bytes(text)

    def full() -> int:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(text) - 1, resource.RLIM_INFINITY))
        return main(list(words("stop")))

    answer = Child(full).answer()
    assert (answer.exit, answer.error["code"]) == (6, "registry_unwritable")
    assert "File too large" in answer.error["message"]
    assert answer.json["warnings"] == []  # tried before anything else
    assert registry.read_bytes() == text
    assert temporaries(registry.parent) == []
    assert run(*words("stop")).json["results"][0]["outcome"] == "stopped"
    assert registry.read_bytes().startswith(text[: text.index(b"name: a")])
    assert mirror(registry) == {
        "flow": "running",
        "a": "stopped",
    }  # b has its own tag, which we cannot read


@pytest.mark.live
@pytest.mark.parametrize(
    "step", [Step.WRITE_LOCK, Step.TEMP_WRITTEN, Step.TEMP_SYNCED], ids=lambda step: step.value
)
def test_a_start_that_cannot_be_written_leaves_no_agent(
    step: Step, tmux_socket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unregistered agent could not be stopped by name."""
    path = tmp_path / "rows.yaml"
    path.write_bytes((ABOVE + OLD["forget"] + BELOW).encode())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMUXREAP_REGISTRY", str(path))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent.parent))
    words = ("start", "new", "--agent", "demo", "--confirm", "0.3", "--json")
    answer = run(*words, env={"TMUXREAP_FAULT": f"{step.value}=ENOSPC"})
    assert (answer.exit, answer.error["code"]) == (6, "registry_unwritable")
    assert path.read_bytes() == (ABOVE + OLD["forget"] + BELOW).encode()
    listing = subprocess.run(["tmux", "-N", "ls"], capture_output=True, text=True, timeout=60)
    assert "new:" not in listing.stdout
    assert run(*words).exit == 0
    assert run("kill", "new", "--grace", "1", "--json").exit == 0


# The whole matrix is `python -m tests.fault_matrix`; here are the cases not covered above.
QUICK = [
    *[("start", step, "kill") for step in fault_steps.MADE],
    *[("start", step, "EIO") for step in (Step.INTENT, Step.WRITE_LOCK, Step.FOLDER_SYNCED)],
    *[("resume", step, "kill") for step in (Step.CREATED, Step.TEMP_WRITTEN, Step.REPLACED)],
    *[("kill", step, "kill") for step in (Step.HANGUP, Step.KILL, Step.PROVEN, Step.TEMP_SYNCED)],
    *[("purge", step, "kill") for step in (Step.PROVEN, Step.PURGED, Step.REPLACED)],
    *[("reconcile", step, "kill") for step in (Step.TEMP_WRITTEN, Step.REPLACED, Step.LEDGER)],
    *[("adopt", step, "kill") for step in (Step.TEMP_WRITTEN, Step.LEDGER)],
    *[("stop", step, "ledger_broken") for step in (Step.INTENT, Step.PROVEN, Step.LEDGER)],
    *[("restart", step, "kill") for step in (Step.PROVEN, Step.HELD, Step.CREATED)],
    ("restart again", Step.REPLACED, "kill"),
    ("stop", Step.PROVEN, "ledger_locked"),
    ("kill", Step.INTENT, "clock_back"),
]


@pytest.fixture(scope="module")
def bench() -> Iterator[fault_matrix.Bench]:
    with fault_matrix.bench() as made:
        yield made


@pytest.mark.live
@pytest.mark.parametrize(
    ("verb", "step", "fault"), QUICK, ids=lambda value: getattr(value, "value", value)
)
def test_a_command_cut_off_at_any_step_is_settled_by_reconcile(
    verb: str, step: Step, fault: str, bench: fault_matrix.Bench
) -> None:
    print(f"{verb} {step.value}={fault}: {fault_matrix.check(bench, verb, step, fault)}")
