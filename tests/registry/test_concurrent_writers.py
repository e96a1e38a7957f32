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
from tmuxreap.registry.file import RegistryFile, edited
from tmuxreap.system import lock

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


def stopping(path: Path, name: str) -> Callable[[], int]:
    def work() -> int:
        RegistryFile(path).change(
            lambda look: edited(look, {name: {("status",): "stopped", ("by",): os.getpid()}})
        )
        return 0

    return work


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
