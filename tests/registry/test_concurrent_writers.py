"""Many processes write one registry: with the lock nothing is lost; without it nothing of ours is
lost silently."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import plain_yaml
from tests.command_line import Child, command, temporaries
from tmuxreap.core.errors import Code, Failure
from tmuxreap.ledger.ledger import Ledger
from tmuxreap.registry.file import RegistryFile, RegistryLook, edited
from tmuxreap.system import lock

AT_ONCE = 50
ROWS = 100


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tempfile.mkdtemp(prefix="tr", dir="/tmp")
    for name in ("TMUX", "TMUX_PANE", "TMUXREAP_FAULT", "TMUXREAP_ID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("TMUX_TMPDIR", "HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, folder)
    path = tmp_path / "rows.yaml"
    monkeypatch.setenv("TMUXREAP_REGISTRY", str(path))
    path.write_text(text(ROWS))
    # The test is about lost rows, not about the machine's speed.
    monkeypatch.setattr(lock, "WAIT_S", 120.0)
    monkeypatch.setattr(Ledger, "busy_s", 120.0)
    yield path
    shutil.rmtree(folder)


def text(rows: int) -> str:
    return "tmux_sessions:\n" + "".join(
        f"  # of {n}\n  - name: s{n}\n    status: running\n" for n in range(rows)
    )


def statuses(path: Path) -> dict[str, str]:
    return {
        row["name"]: row["status"] for row in plain_yaml.load(path.read_text())["tmux_sessions"]
    }


def together(works: list[Callable[[], int]]) -> list[int]:
    """Start all of them at one barrier; return their exit codes."""
    reader, writer = os.pipe()

    def behind_the_gate(work: Callable[[], int]) -> Callable[[], int]:
        def start() -> int:
            os.close(writer)
            os.read(reader, 1)
            return work()

        return start

    children = [Child(behind_the_gate(work)) for work in works]
    os.close(writer)
    ends = [child.answer() for child in children]
    os.close(reader)
    assert all(end.exit == 0 for end in ends), next(end.err for end in ends if end.exit != 0)
    return [end.exit for end in ends]


def stopping(path: Path, name: str) -> Callable[[], int]:
    def work() -> int:
        RegistryFile(path).change(
            lambda look: edited(look, {name: {("status",): "stopped", ("by",): os.getpid()}})
        )
        return 0

    return work


def test_a_hundred_processes_change_a_hundred_rows(registry: Path) -> None:
    works = [stopping(registry, f"s{n}") for n in range(ROWS)]
    for start in range(0, ROWS, AT_ONCE):  # half of them at a time, to spare the machine
        together(works[start : start + AT_ONCE])
    assert statuses(registry) == {f"s{n}": "stopped" for n in range(ROWS)}
    written = plain_yaml.load(registry.read_text())["tmux_sessions"]
    assert len({row["by"] for row in written}) == ROWS
    lines = [line for line in registry.read_text().splitlines() if " by: " not in line]
    assert "\n".join(lines) + "\n" == text(ROWS).replace("running", "stopped")
    assert temporaries(registry.parent) == []


def test_the_same_row_is_changed_one_after_the_other(registry: Path) -> None:
    registry.write_text("tmux_sessions:\n  - name: a\n    status: running\n    count: 0\n")

    def count() -> int:
        def one_more(look: RegistryLook) -> str:
            row = look.named("a")
            assert row is not None
            return edited(look, {"a": {("count",): int(str(row.data["count"])) + 1}})

        RegistryFile(registry).change(one_more)
        return 0

    together([count] * 40)
    assert plain_yaml.load(registry.read_text())["tmux_sessions"][0]["count"] == 40


def test_whole_commands_can_run_at_once(registry: Path) -> None:
    """Stop and forget, each in its own process, on one registry and ledger."""
    registry.write_text(text(12).replace("s1\n    status: running", "s1\n    status: stopped"))
    verbs = [("stop", f"s{n}") for n in range(12) if n != 1] + [("forget", "s1")]
    answers = [child.answer() for child in [command(*words, "--json") for words in verbs]]
    assert [answer.exit for answer in answers] == [0] * 12
    assert [answer.json["warnings"] for answer in answers] == [[]] * 12
    assert statuses(registry) == {f"s{n}": "stopped" for n in range(12) if n != 1}
    events = command("events", "--json").answer().json["results"]
    assert sorted(event["name"] for event in events) == sorted(name for _, name in verbs)


def test_two_stops_of_one_row_end_it_once(registry: Path) -> None:
    answers = [child.answer() for child in [command("stop", "s7", "--json") for _ in range(8)]]
    results = [answer.json["results"][0] for answer in answers]
    assert all(answer.exit == 0 for answer in answers), answers
    assert {result["outcome"] for result in results} <= {"stopped", "already_stopped"}
    own = [result for result in results if result["outcome"] == "stopped" and not result["joined"]]
    assert len(own) == 1
    events = command("events", "s7", "--json").answer().json["results"]
    assert [event["kind"] for event in events] == ["stopped"]


@pytest.mark.parametrize("pace_s", [0.0005, 0.005])
def test_a_writer_without_the_lock_loses_nothing(pace_s: float, registry: Path) -> None:
    """The other writer adds lines all the while. Reported successes stay; reported failures had no
    effect."""
    registry.write_text(text(20))
    enough = registry.with_name("enough")
    begun = registry.with_name("begun")

    def foreign() -> int:
        while not enough.exists():
            with registry.open("ab") as file:
                file.write(b"# foreign\n")
            begun.touch()
            time.sleep(pace_s)  # the pace of a busy writer; nothing is awaited
        return 0

    child = Child(foreign)
    while not begun.exists():
        time.sleep(0.001)
    told: dict[str, str] = {}
    for n in range(20):
        try:
            stopping(registry, f"s{n}")()
            told[f"s{n}"] = "stopped"
        except Failure as failure:
            assert failure.code is Code.REGISTRY_UNWRITABLE
            told[f"s{n}"] = "running"
    enough.touch()
    assert child.answer().exit == 0
    assert statuses(registry) == told
    assert temporaries(registry.parent) == []
