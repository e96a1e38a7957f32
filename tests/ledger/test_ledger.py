"""The ledger on real files: events, survivors, marks, heartbeats and tasks."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from tests.ledger_records import NOW, Ledger, begun, intent, row, rows_of
from tmuxreap.core.model import ProcessId
from tmuxreap.ledger.database import LedgerUnavailable
from tmuxreap.ledger.records import (
    Closing,
    Heartbeat,
    Mirror,
    NewEvent,
    Pulse,
    Survivor,
)

# Its path


def test_reopening_a_good_ledger_keeps_everything_without_a_warning(path: Path) -> None:
    with Ledger.open(path, now=NOW) as first:
        first.record_event(NewEvent("api", "stopped"), NOW)
    with Ledger.open(path, now=NOW + 1) as second:
        assert [event.kind for event in second.events()] == ["stopped"]
        assert second.warnings == []


# Events


def test_an_event_keeps_the_row_as_it_was(ledger: Ledger) -> None:
    before = "- name: api\n  note: 'ü' # tail \r\n"
    ledger.record_event(NewEvent("api", "stopped", {"rungs": ["keys"]}, before), NOW)
    [event] = ledger.events()
    assert (event.at, event.timestamp) == (NOW, "2026-11-18T11:06:40Z")
    assert (event.name, event.kind, event.data, event.before) == (
        "api",
        "stopped",
        {"rungs": ["keys"]},
        before,
    )


def test_events_are_selected_by_name_time_and_number(ledger: Ledger) -> None:
    for at, name in [(10.0, "api"), (20.0, "web"), (30.0, "api"), (40.0, "db")]:
        ledger.record_event(NewEvent(name, "seen"), at)
    numbers = [event.id for event in ledger.events()]
    assert numbers == sorted(set(numbers))
    assert [e.at for e in ledger.events({"api"})] == [10.0, 30.0]
    assert [e.at for e in ledger.events(["api", "db"], since=30.0)] == [30.0, 40.0]
    assert [e.at for e in ledger.events(after_id=numbers[1])] == [30.0, 40.0]
    assert ledger.events([]) == []


def test_mirror_events_and_ends_are_written_together_or_not_at_all(ledger: Ledger) -> None:
    ledger.mirror([row("api")], "d1")
    number = begun(ledger, intent("api"))
    unwritable = NewEvent("api", "stopped", {}, "\ud800")
    with pytest.raises(LedgerUnavailable):
        ledger.write(
            Mirror([row("api", "stopped")], "d2"),
            [unwritable],
            [Closing(number, "stopped")],
            now=NOW,
        )
    assert (ledger.mirrored_digest(), ledger.events(), ledger.still_open(number)) == (
        "d1",
        [],
        True,
    )
    closed = ledger.write(
        Mirror([row("api", "stopped")], "d2"),
        [NewEvent("api", "stopped")],
        [Closing(number, "stopped")],
        now=NOW,
    )
    assert closed == {number}
    assert (ledger.mirrored_digest(), len(ledger.events()), ledger.still_open(number)) == (
        "d2",
        1,
        False,
    )


def test_history_is_dropped_for_one_name_and_what_is_in_progress_stays(ledger: Ledger) -> None:
    for name in ("api", "web"):
        ledger.record_event(NewEvent(name, "stopped"), NOW)
        ledger.record_heartbeat(Heartbeat(name, NOW, "idle", "stop", None, {}))
    old = begun(ledger, intent("api"))
    ledger.close_intent(Closing(old, "survived"), NOW)
    current = begun(ledger, intent("api"))
    ledger.remember_survivors("api", [Survivor(ProcessId(5, 6), "boot-1", "node")], now=NOW)
    ledger.drop_events("api")
    assert [event.name for event in ledger.events()] == ["web"]
    assert list(ledger.last_heartbeats()) == ["web"]
    assert ledger.intent(old) is None
    assert [found.id for found in ledger.open_intents()] == [current]
    assert len(ledger.survivors("api")) == 1


# Survivors, marks, heartbeats, tasks


def test_survivors_are_remembered_since_they_were_first_seen(ledger: Ledger, path: Path) -> None:
    node = Survivor(ProcessId(5, 60), "boot-1", "node")
    other = Survivor(ProcessId(6, 61), "boot-1", "sh")
    ledger.remember_survivors("api", [node, other], now=10.0, intent_id=4)
    ledger.remember_survivors("api", [node], now=20.0, intent_id=5)
    ledger.remember_survivors("web", [other], now=20.0)
    assert ledger.survivors("api") == (node, other)
    assert rows_of(path, "SELECT since, intent_id FROM survivors WHERE pid = 5") == [(10.0, 4)]
    assert ledger.all_survivors() == {"api": (node, other), "web": (other,)}
    assert ledger.survivors("nobody") == ()


def test_a_reused_pid_is_another_survivor(ledger: Ledger) -> None:
    ledger.remember_survivors("api", [Survivor(ProcessId(5, 60), "boot-1", "node")], now=10.0)
    ledger.remember_survivors("api", [Survivor(ProcessId(5, 60), "boot-2", "node")], now=20.0)
    assert [survivor.boot_id for survivor in ledger.survivors("api")] == ["boot-1", "boot-2"]


def test_marks_lead_to_names_and_the_latest_counts(ledger: Ledger) -> None:
    ledger.remember_mark("api", "uuid-1", 10.0)
    ledger.remember_mark("api", "uuid-2", 20.0)
    assert ledger.mark_of("api") == "uuid-2"
    assert (ledger.name_of("uuid-1"), ledger.name_of("uuid-2")) == ("api", "api")
    assert (ledger.mark_of("web"), ledger.name_of("uuid-9")) == (None, None)


@pytest.mark.parametrize("at", ["'abc'", "9e999", "-1", "x'ff'"])
def test_a_heartbeat_without_a_valid_time_is_ignored(at: str, ledger: Ledger, path: Path) -> None:
    ledger.record_heartbeat(Heartbeat("web", NOW, "working", "prompt", None, {}))
    with contextlib.closing(sqlite3.connect(path)) as other, other:
        other.execute(
            f"INSERT INTO heartbeats (name, at, state, kind, data) VALUES ('api', {at}, 'working',"
            " 'x', '{}')"
        )
    assert (list(ledger.pulses()), list(ledger.last_heartbeats()), ledger.heartbeats("api")) == (
        ["web"],
        ["web"],
        [],
    )
    assert ledger.last_heartbeat("api") is None


def test_the_last_heartbeat_of_each_session_is_known(ledger: Ledger) -> None:
    tool = Heartbeat("api", 10.0, "working", "tool", "c-1", {"tool": "Bash"})
    ended = Heartbeat("api", 20.0, "idle", "stop", None, {})
    ledger.record_heartbeat(tool)
    ledger.record_heartbeat(ended)
    ledger.record_heartbeat(Heartbeat("web", 5.0, "waiting", "dialog", None, {}))
    assert ledger.last_heartbeat("api") == ended
    assert ledger.heartbeats("api") == [ended, tool]
    assert {name: beat.state for name, beat in ledger.last_heartbeats().items()} == {
        "api": "idle",
        "web": "waiting",
    }
    assert ledger.last_heartbeat("nobody") is None


def test_each_heartbeat_keeps_the_last_reported_conversation(ledger: Ledger) -> None:
    assert ledger.pulses() == {}
    ledger.record_heartbeat(Heartbeat("api", 10.0, "idle", "session_start", "c-1", {}))
    ledger.record_heartbeat(Heartbeat("api", 20.0, "idle", "session_start", "c-2", {}))
    ledger.record_heartbeat(Heartbeat("api", 30.0, "working", "heartbeat", None, {}))
    ledger.record_heartbeat(Heartbeat("web", 5.0, "waiting", "permission", None, {}))
    assert ledger.pulses() == {
        "api": Pulse("heartbeat", "working", 30.0, "c-2"),
        "web": Pulse("permission", "waiting", 5.0, None),
    }


def test_old_heartbeats_of_that_session_make_room(ledger: Ledger) -> None:
    ledger.record_heartbeat(Heartbeat("web", 1.0, "idle", "stop", None, {}))
    for at in range(70):
        ledger.record_heartbeat(Heartbeat("api", float(at), "working", "tool", None, {}))
    kept = ledger.heartbeats("api")
    assert [kept[0].at, kept[-1].at, len(kept)] == [69.0, 20.0, 50]
    assert len(ledger.heartbeats("web")) == 1


def test_a_task_is_added_and_changed(ledger: Ledger, path: Path) -> None:
    ledger.set_task("t1", "terminating", None, NOW)
    ledger.set_task("t1", "failed", "Agent killed: stuck", NOW + 60)
    ledger.set_task("t2", "ready", None, NOW)
    assert sorted(rows_of(path, "SELECT * FROM orchestrator_task")) == [
        ("t1", "failed", "Agent killed: stuck", "2026-11-18T11:07:40Z"),
        ("t2", "ready", None, "2026-11-18T11:06:40Z"),
    ]


# Of many


def test_only_requested_sessions_are_read(ledger: Ledger) -> None:
    life = {"status": "stopped", "stopped_at": "2026-11-18T09:12:33Z"}
    names = [f"n{number}" for number in range(1200)]
    for name in names:
        ledger.record_event(NewEvent(name, "stopped", {"life": life}), NOW)
    assert set(ledger.end_keys(["n7", "other"])) == {"n7"}
    assert set(ledger.end_keys(names)) == set(names)
    assert ledger.end_keys([]) == {}
