"""The ledger on real files: what is recorded, who may end what, and failures of file and disk."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.ledger_records import NOW, begin, begun, intent, row, rows_of, run_in_processes
from tmuxreap.core.model import ProcessId
from tmuxreap.ledger.database import LedgerUnavailable
from tmuxreap.ledger.ledger import Ledger
from tmuxreap.ledger.records import (
    Begun,
    Busy,
    Closing,
    Heartbeat,
    Mirror,
    MirrorRow,
    NewEvent,
    NewIntent,
    PaneOption,
    Pulse,
    Survivor,
)

# Its path


def test_opening_a_good_one_again_keeps_everything_and_warns_of_nothing(path: Path) -> None:
    with Ledger.open(path, now=NOW) as first:
        first.record_event(NewEvent("api", "stopped"), NOW)
    with Ledger.open(path, now=NOW + 1) as second:
        assert [event.kind for event in second.events()] == ["stopped"]
        assert second.warnings == []


# The mirror


def test_before_the_first_mirror_there_is_no_digest(ledger: Ledger) -> None:
    assert ledger.mirrored_digest() is None


def test_a_mirror_replaces_the_one_before(ledger: Ledger, path: Path) -> None:
    ledger.mirror([row("api"), row("web")], "d1")
    ledger.mirror([row("web", "stopped"), row("new")], "d2")
    assert sorted(rows_of(path, "SELECT name, status FROM sessions")) == [
        ("new", "running"),
        ("web", "stopped"),
    ]
    assert ledger.mirrored_digest() == "d2"


def test_of_two_rows_of_one_name_the_first_is_mirrored(ledger: Ledger, path: Path) -> None:
    ledger.mirror([row("api", "running"), row("api", "stopped")], "d1")
    assert rows_of(path, "SELECT name, status FROM sessions") == [("api", "running")]


def test_only_rows_that_differ_are_rewritten(ledger: Ledger, path: Path) -> None:
    ledger.mirror([row("api"), row("web"), row("db")], "d1")
    before = set(rows_of(path, "SELECT name, rowid FROM sessions"))
    ledger.mirror([row("api", "stopped"), row("web"), row("db")], "d2")
    after = set(rows_of(path, "SELECT name, rowid FROM sessions"))
    assert [name for name, _ in after - before] == ["api"]


def test_a_change_needs_only_the_changed_row(ledger: Ledger, path: Path) -> None:
    ledger.mirror([row("api"), row("web")], "d1")
    ledger.write(Mirror([row("api", "stopped")], "d2", base="d1"), now=NOW)
    assert sorted(rows_of(path, "SELECT name, status FROM sessions")) == [
        ("api", "stopped"),
        ("web", "running"),
    ]
    assert ledger.mirrored_digest() == "d2"


def test_a_change_to_a_registry_that_is_not_mirrored_is_left_to_the_rebuild(
    ledger: Ledger, path: Path
) -> None:
    ledger.mirror([row("api"), row("web")], "d1")
    ledger.write(
        Mirror([row("api", "stopped")], "d9", base="d8"), [NewEvent("api", "stopped")], now=NOW
    )
    assert rows_of(path, "SELECT status FROM sessions WHERE name = 'api'") == [("running",)]
    assert ledger.mirrored_digest() == "d1"
    assert len(ledger.events()) == 1


def test_rows_that_are_hard_to_write_as_json_do_not_stop_the_mirror(
    ledger: Ledger, path: Path
) -> None:
    cycle: dict[str, object] = {}
    cycle["self"] = cycle
    ledger.mirror(
        [
            row("dates", at=datetime(2026, 11, 18, tzinfo=timezone.utc)),
            row("keys", odd={(1, 2): "x", "good": 1}),
            row("cycle", odd=cycle),
            MirrorRow("proxy", "running", None, MappingProxyType({"a": 1})),
        ],
        "d1",
    )
    data = {
        name: json.loads(str(text))
        for name, text in rows_of(path, "SELECT name, data FROM sessions")
    }
    assert data["dates"]["at"] == "2026-11-18 00:00:00+00:00"
    assert data["keys"]["odd"] == {"good": 1}
    assert data["cycle"] == {}
    assert data["proxy"] == {"a": 1}


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


def test_events_by_name_time_and_number(ledger: Ledger) -> None:
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


def test_history_is_dropped_for_one_name_and_what_is_under_way_stays(ledger: Ledger) -> None:
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


# Intents


def test_an_intent_is_kept_as_it_was_given(ledger: Ledger) -> None:
    plan = (
        '{"schema": "tmuxreap/1",\n\t"nach": "\u00fc\u2028\U0001f600 \\u00fc", "n": 1.0,  "nul":'
        ' "\x00"}\n'
    )
    options = (
        PaneOption("/tmp/s", "%3", "remain-on-exit", None),
        PaneOption("/tmp/s", "%3", "synchronize-panes", "on"),
    )
    new = NewIntent(
        "api", "stop", "tidy up", "pane", ProcessId(42, 99), "boot-1", NOW + 30, options, plan
    )
    answer = begin(ledger, new)
    assert isinstance(answer, Begun)
    assert answer.inherited is None
    kept = ledger.open_intent("api")
    assert kept == answer.intent == ledger.intent(answer.intent.id)
    assert kept is not None
    assert kept.plan.encode() == plan.encode()
    assert (kept.verb, kept.reason, kept.scope, kept.owner) == (
        "stop",
        "tidy up",
        "pane",
        ProcessId(42, 99),
    )
    assert (kept.boot_id, kept.created_at, kept.deadline, kept.options) == (
        "boot-1",
        NOW,
        NOW + 30,
        options,
    )
    assert (kept.outcome, kept.result, kept.closed_at, kept.taken_over_by) == (
        None,
        None,
        None,
        None,
    )


def test_while_its_owner_lives_the_row_is_its_own(ledger: Ledger) -> None:
    first = begun(ledger, intent())
    answer = begin(ledger, intent(pid=200))
    assert isinstance(answer, Busy)
    assert answer.intent.id == first
    assert [open_one.id for open_one in ledger.open_intents()] == [first]


def test_a_kill_takes_over_and_the_owner_can_see_it(ledger: Ledger) -> None:
    first = begun(ledger, intent(verb="stop"))
    answer = begin(ledger, intent(verb="kill", pid=200), take_over=True)
    assert isinstance(answer, Begun)
    assert answer.inherited is not None
    assert (answer.inherited.id, answer.inherited.reason) == (first, "stop by hand")
    seen = ledger.intent(first)
    assert seen is not None
    assert (seen.outcome, seen.taken_over_by, seen.closed_at) == (
        "taken_over",
        answer.intent.id,
        NOW,
    )
    assert seen.result == {"by_verb": "kill", "owner_was_alive": True}
    assert not ledger.still_open(first)
    assert ledger.still_open(answer.intent.id)


def test_the_intent_of_a_dead_owner_is_taken_over_with_its_reason(ledger: Ledger) -> None:
    first = begun(ledger, intent(verb="stop"))
    answer = begin(ledger, intent(verb="stop", pid=200), alive=False)
    assert isinstance(answer, Begun)
    assert answer.inherited is not None
    assert answer.inherited.reason == "stop by hand"
    seen = ledger.intent(first)
    assert seen is not None
    assert seen.result == {"by_verb": "stop", "owner_was_alive": False}


def test_rows_do_not_hold_up_each_other(ledger: Ledger) -> None:
    first = begun(ledger, intent("api"))
    answers = ledger.begin_intents(
        [intent("web"), intent("api", pid=200), intent("db")],
        owner_alive=lambda found: found.name == "api",
        take_over=False,
        now=NOW,
    )
    assert [type(answer) for answer in answers] == [Begun, Busy, Begun]
    assert answers[1] == Busy(ledger.open_intents()[0])
    assert [found.name for found in ledger.open_intents()] == ["api", "web", "db"]
    assert ledger.open_intents()[0].id == first


def test_a_closed_intent_has_no_effect_any_more(ledger: Ledger) -> None:
    number = begun(ledger, intent())
    assert ledger.close_intent(Closing(number, "survived", {"survivors": [5]}), NOW + 1)
    assert not ledger.close_intent(Closing(number, "stopped"), NOW + 2)
    closed = ledger.intent(number)
    assert closed is not None
    assert (closed.outcome, closed.result, closed.closed_at) == (
        "survived",
        {"survivors": [5]},
        NOW + 1,
    )
    assert ledger.open_intent("api") is None
    assert not ledger.hand_over(number, ProcessId(300, 8))
    assert isinstance(begin(ledger, intent()), Begun)


def test_the_finisher_becomes_the_owner(ledger: Ledger) -> None:
    number = begun(ledger, intent(pid=100))
    assert ledger.hand_over(number, ProcessId(300, 8))
    handed = ledger.open_intent("api")
    assert handed is not None
    assert (handed.owner, handed.handed_from, handed.boot_id) == (ProcessId(300, 8), 100, "boot-1")


def test_of_many_that_begin_at_once_one_gets_the_row(path: Path) -> None:
    def work(number: int) -> None:
        with Ledger.open(path, now=NOW, busy_s=20) as ledger:
            answer = begin(ledger, intent(pid=1000 + number))
        os._exit(3 if isinstance(answer, Begun) else 0)

    codes = run_in_processes(20, work)
    assert sorted(codes) == [0] * 19 + [3]


# Survivors, marks, heartbeats, tasks


def test_survivors_are_remembered_until_they_are_gone(ledger: Ledger, path: Path) -> None:
    node = Survivor(ProcessId(5, 60), "boot-1", "node")
    other = Survivor(ProcessId(6, 61), "boot-1", "sh")
    ledger.remember_survivors("api", [node, other], now=10.0, intent_id=4)
    ledger.remember_survivors("api", [node], now=20.0, intent_id=5)
    ledger.remember_survivors("web", [other], now=20.0)
    assert ledger.survivors("api") == (node, other)
    assert rows_of(path, "SELECT since, intent_id FROM survivors WHERE pid = 5") == [(10.0, 4)]
    ledger.forget_survivors("api", [other])
    assert ledger.all_survivors() == {"api": (node,), "web": (other,)}
    assert ledger.survivors("nobody") == ()


def test_a_reused_pid_is_another_survivor(ledger: Ledger) -> None:
    ledger.remember_survivors("api", [Survivor(ProcessId(5, 60), "boot-1", "node")], now=10.0)
    ledger.remember_survivors("api", [Survivor(ProcessId(5, 60), "boot-2", "node")], now=20.0)
    ledger.forget_survivors("api", [Survivor(ProcessId(5, 60), "boot-1", "node")])
    assert [survivor.boot_id for survivor in ledger.survivors("api")] == ["boot-2"]


def test_marks_lead_to_names_and_the_latest_counts(ledger: Ledger) -> None:
    ledger.remember_mark("api", "uuid-1", 10.0)
    ledger.remember_mark("api", "uuid-2", 20.0)
    assert ledger.mark_of("api") == "uuid-2"
    assert (ledger.name_of("uuid-1"), ledger.name_of("uuid-2")) == ("api", "api")
    assert (ledger.mark_of("web"), ledger.name_of("uuid-9")) == (None, None)


@pytest.mark.parametrize("at", ["'abc'", "9e999", "-1", "x'ff'"])
def test_a_heartbeat_at_no_moment_is_none(at: str, ledger: Ledger, path: Path) -> None:
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


def test_the_last_heartbeat_of_each(ledger: Ledger) -> None:
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


def test_the_pulse_of_each_keeps_the_conversation_that_was_told_last(ledger: Ledger) -> None:
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


# Other tools' tables


# Unreadable ledgers


# Unavailable ledgers


# Concurrent writers, and one that is killed
