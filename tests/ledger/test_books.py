"""Registry and ledger together: the registry is written first and is right; the ledger follows, or
is unavailable."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes import FakeClock
from tests.ledger_bench import TEXT, Bench, new_intent
from tmuxreap.core import faults
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import ProcessId, Row
from tmuxreap.ledger.books import Books, mirror_row
from tmuxreap.ledger.records import Begun, Busy, Closing, Intent
from tmuxreap.registry.file import RegistryFile


def test_the_ledger_lies_beside_the_resolved_registry(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "real.yaml").write_text(TEXT)
    (tmp_path / "link.yaml").symlink_to("deep/real.yaml")
    assert (
        Books(RegistryFile(tmp_path / "link.yaml"), FakeClock(), []).path
        == tmp_path / "deep" / "real.db"
    )


def test_reading_makes_no_ledger(bench: Bench) -> None:
    assert bench.books.events(None, None) == []
    assert bench.books.open_intents() == {}
    assert bench.books.heartbeats() == {}
    assert (bench.books.survivors("boot"), bench.books.mark("a"), bench.books.intent(1)) == (
        {},
        None,
        None,
    )
    assert [one.name for one in bench.registry.path.parent.iterdir()] == ["rows.yaml"]
    assert bench.warnings == []


def test_a_change_is_in_registry_and_ledger_with_the_row_as_it_was(bench: Bench) -> None:
    after = bench.stop_a()
    assert "name: a\n    status: stopped" in bench.registry.path.read_text()
    assert bench.sql("SELECT name, status, pane_cwd FROM sessions ORDER BY name") == [
        ("a", "stopped", "/x"),
        ("b", "stopped", None),
    ]
    (event,) = bench.books.events({"a"}, None)
    assert (event.kind, event.data, event.at) == ("stopped", {"why": "x"}, FakeClock().now())
    assert event.before == "name: a\n    status: running\n    pane: {cwd: /x}"
    assert not bench.books.is_behind(after)


def test_the_registry_is_written_before_the_ledger(bench: Bench) -> None:
    faults.arm("ledger=EIO")
    bench.stop_a()
    assert "name: a\n    status: stopped" in bench.registry.path.read_text()
    assert bench.sql("SELECT * FROM sessions") == []
    assert [warning.split(":")[0] for warning in bench.warnings] == ["ledger_not_written"]


def test_a_write_refused_by_the_registry_is_not_in_the_ledger(bench: Bench) -> None:
    faults.arm("temp_written=ENOSPC")
    with pytest.raises(Failure):
        bench.stop_a()
    assert not bench.books.path.exists()


def test_a_mirror_that_fell_behind_is_rebuilt(bench: Bench) -> None:
    bench.stop_a()
    bench.registry.path.write_text(TEXT.replace("name: b", "name: c"))  # edited by hand
    look = bench.registry.look()
    assert bench.books.is_behind(look)
    bench.books.follow(look)
    assert bench.sql("SELECT name, status FROM sessions ORDER BY name") == [
        ("a", "running"),
        ("c", "stopped"),
    ]
    assert not bench.books.is_behind(look)


def test_bad_rows_are_not_mirrored(bench: Bench) -> None:
    bench.registry.path.write_text(TEXT + "  - name: odd\n    status: paused\n")
    bench.books.follow(bench.registry.look())
    assert bench.sql("SELECT name FROM sessions ORDER BY name") == [("a",), ("b",)]


def test_a_row_in_the_mirror_is_the_row(bench: Bench) -> None:
    row = bench.registry.look().rows[0]
    assert isinstance(row, Row)
    mirrored = mirror_row(row)
    assert (mirrored.name, mirrored.status, mirrored.pane_cwd, mirrored.data) == (
        "a",
        "running",
        "/x",
        row.data,
    )


def test_an_intent_is_begun_and_closed_with_the_row(bench: Bench) -> None:
    begun = bench.begin()
    assert isinstance(begun, Begun)
    number = begun.intent.id
    assert list(bench.books.open_intents()) == ["a"]
    assert bench.books.still_open(number)
    bench.stop_a(Closing(number, "stopped", {"outcome": "stopped"}))
    assert bench.books.open_intents() == {}
    assert not bench.books.still_open(number)
    closed = bench.books.intent(number)
    assert closed is not None
    assert (closed.outcome, closed.result) == ("stopped", {"outcome": "stopped"})


def test_a_living_owner_is_waited_for_and_a_kill_takes_over(bench: Bench) -> None:
    first = bench.begin()
    assert isinstance(first, Begun)
    assert isinstance(bench.begin(alive=True), Busy)
    assert isinstance(bench.begin("b", alive=True), Begun)  # other rows are not affected
    second = bench.begin(alive=True, take_over=True)
    assert isinstance(second, Begun)
    assert not bench.books.still_open(first.intent.id)
    asked: list[Intent] = []
    bench.books.begin([new_intent("a")], lambda intent: not asked.append(intent), take_over=False)  # type: ignore[func-returns-value]
    assert [intent.id for intent in asked] == [second.intent.id]


def test_a_recorded_note_returns_its_number(bench: Bench) -> None:
    first, second = (
        bench.books.note("a", "draft", {"text": "hm"}),
        bench.books.note("a", "draft", {"text": "ho"}),
    )
    assert first is not None
    assert second == first + 1
    assert [event.data["text"] for event in bench.books.events({"a"}, None, first)] == ["ho"]


def test_marks_and_survivors_are_remembered(bench: Bench) -> None:
    from tmuxreap.ledger.records import Survivor

    bench.books.remember_mark("a", "mark-1")
    assert (bench.books.mark("a"), bench.books.name_of("mark-1")) == ("a" and "mark-1", "a")
    bench.books.remember_survivors("a", [Survivor(ProcessId(7, 8), "boot", "x")], None)
    assert bench.books.survivors("boot") == {"a": frozenset({ProcessId(7, 8)})}
    assert (
        bench.books.survivors("another boot").get("a", frozenset()) == frozenset()
    )  # pids of another boot prove nothing


def test_forgotten_history_is_gone(bench: Bench) -> None:
    bench.stop_a()
    bench.books.drop_events("a")
    assert bench.books.events(None, None) == []
