"""The ledger on real files: what is recorded, who may end what, and what happens when the file or the disk is bad."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import signal
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType

import pytest

from tmuxreap.core.model import ProcessId
from tmuxreap.ledger import database
from tmuxreap.ledger.database import LedgerUnavailable, ledger_path
from tmuxreap.ledger.ledger import Ledger
from tmuxreap.ledger.records import (
    Begun,
    Busy,
    Closing,
    Heartbeat,
    Intent,
    Mirror,
    MirrorRow,
    NewEvent,
    NewIntent,
    PaneOption,
    Pulse,
    Survivor,
)

NOW = 1795000000.25  # 2026-11-18T11:06:40Z
FORK = multiprocessing.get_context("fork")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent-sessions.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger.open(path, now=NOW, busy_s=0.1) as opened:
        yield opened


def rows_of(path: Path, sql: str) -> list[tuple[object, ...]]:
    """As another tool sees it."""
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def execute(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        for statement in statements:
            connection.execute(statement)
    finally:
        connection.close()


def all_at_once(count: int, work: Callable[[int], None]) -> list[int]:
    """The exit codes of so many processes that were let go at the same moment."""
    gate = FORK.Barrier(count)

    def child(number: int) -> None:
        gate.wait(30)
        work(number)

    children = [FORK.Process(target=child, args=(number,)) for number in range(count)]
    for process in children:
        process.start()
    for process in children:
        process.join(60)
    return [process.exitcode if process.exitcode is not None else -999 for process in children]


def row(name: str, status: str = "running", **data: object) -> MirrorRow:
    return MirrorRow(name, status, "/work", {"name": name, "status": status, **data})


def intent(name: str = "api", verb: str = "stop", pid: int = 100, plan: str = "{}") -> NewIntent:
    return NewIntent(name, verb, f"{verb} by hand", "agent", ProcessId(pid, 7), "boot-1", NOW + 30, (), plan)


def begin(ledger: Ledger, new: NewIntent, *, alive: bool = True, take_over: bool = False) -> Begun | Busy:
    return ledger.begin_intent(new, owner_alive=lambda _: alive, take_over=take_over, now=NOW)


def begun(ledger: Ledger, new: NewIntent) -> int:
    answer = begin(ledger, new)
    assert isinstance(answer, Begun)
    return answer.intent.id


# Where it lies


@pytest.mark.parametrize(
    ("registry", "expected"),
    [
        ("/p/.hermes/agent-sessions.yaml", "/p/.hermes/agent-sessions.db"),
        ("/p/two.dots.yml", "/p/two.dots.db"),
        ("/p/bare", "/p/bare.db"),
        ("/p/rows.db", "/p/rows.db.db"),
    ],
)
def test_it_lies_beside_the_registry_and_is_never_the_registry(registry: str, expected: str) -> None:
    assert ledger_path(Path(registry)) == Path(expected)


def test_the_file_and_its_sidecars_are_private(path: Path) -> None:
    before = os.umask(0)
    try:
        with Ledger.open(path, now=NOW) as ledger:
            ledger.record_event(NewEvent("api", "stopped"), NOW)
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == {path.name: 0o600, f"{path.name}-wal": 0o600, f"{path.name}-shm": 0o600}


def test_a_file_that_others_could_read_is_made_private(path: Path) -> None:
    Ledger.open(path, now=NOW).close()
    path.chmod(0o644)
    with Ledger.open(path, now=NOW):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_it_is_a_wal_and_only_endings_wait_for_the_disk(ledger: Ledger, path: Path) -> None:
    def synchronous() -> int:
        return int(ledger._db.fetch("PRAGMA synchronous")[0][0])

    seen: list[int] = []

    def owner_alive(_: Intent) -> bool:
        seen.append(synchronous())
        return False

    begun(ledger, intent())
    ledger.begin_intent(intent(), owner_alive=owner_alive, take_over=False, now=NOW)
    assert rows_of(path, "PRAGMA journal_mode") == [("wal",)]
    assert (seen, synchronous()) == ([2], 1)


def test_names_with_signs_that_mean_something_in_an_address(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=ro#b%41 c.db"
    with Ledger.open(path, now=NOW) as ledger:
        ledger.record_event(NewEvent("api", "stopped"), NOW)
    assert [file.name for file in tmp_path.iterdir()] == ["a?mode=ro#b%41 c.db"]


def test_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Ledger.open(Path("rows.db"), now=NOW).close()
    assert (tmp_path / "rows.db").exists()


def test_opening_a_good_one_again_keeps_everything_and_warns_of_nothing(path: Path) -> None:
    with Ledger.open(path, now=NOW) as first:
        first.record_event(NewEvent("api", "stopped"), NOW)
    with Ledger.open(path, now=NOW + 1) as second:
        assert [event.kind for event in second.events()] == ["stopped"]
        assert second.warnings == []


# The mirror


def test_the_mirror_has_the_form_that_existing_readers_know(ledger: Ledger, path: Path) -> None:
    ledger.mirror([MirrorRow("api", "running", None, {"name": "api", "tags": ["x"]})], "d1")
    assert rows_of(path, "SELECT * FROM sessions") == [("api", "running", None, '{"name": "api", "tags": ["x"]}')]
    assert ledger.mirrored_digest() == "d1"


def test_before_the_first_mirror_there_is_no_digest(ledger: Ledger) -> None:
    assert ledger.mirrored_digest() is None


def test_a_mirror_replaces_the_one_before(ledger: Ledger, path: Path) -> None:
    ledger.mirror([row("api"), row("web")], "d1")
    ledger.mirror([row("web", "stopped"), row("new")], "d2")
    assert sorted(rows_of(path, "SELECT name, status FROM sessions")) == [("new", "running"), ("web", "stopped")]
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
    assert sorted(rows_of(path, "SELECT name, status FROM sessions")) == [("api", "stopped"), ("web", "running")]
    assert ledger.mirrored_digest() == "d2"


def test_a_change_to_a_registry_that_is_not_mirrored_is_left_to_the_rebuild(ledger: Ledger, path: Path) -> None:
    ledger.mirror([row("api"), row("web")], "d1")
    ledger.write(Mirror([row("api", "stopped")], "d9", base="d8"), [NewEvent("api", "stopped")], now=NOW)
    assert rows_of(path, "SELECT status FROM sessions WHERE name = 'api'") == [("running",)]
    assert ledger.mirrored_digest() == "d1"
    assert len(ledger.events()) == 1


def test_rows_that_are_hard_to_write_as_json_do_not_stop_the_mirror(ledger: Ledger, path: Path) -> None:
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
    data = {name: json.loads(str(text)) for name, text in rows_of(path, "SELECT name, data FROM sessions")}
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
    assert (event.name, event.kind, event.data, event.before) == ("api", "stopped", {"rungs": ["keys"]}, before)


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
        ledger.write(Mirror([row("api", "stopped")], "d2"), [unwritable], [Closing(number, "stopped")], now=NOW)
    assert (ledger.mirrored_digest(), ledger.events(), ledger.still_open(number)) == ("d1", [], True)
    closed = ledger.write(
        Mirror([row("api", "stopped")], "d2"), [NewEvent("api", "stopped")], [Closing(number, "stopped")], now=NOW
    )
    assert closed == {number}
    assert (ledger.mirrored_digest(), len(ledger.events()), ledger.still_open(number)) == ("d2", 1, False)


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
    plan = '{"schema": "tmuxreap/1",\n\t"nach": "\u00fc\u2028\U0001f600 \\u00fc", "n": 1.0,  "nul": "\x00"}\n'
    options = (
        PaneOption("/tmp/s", "%3", "remain-on-exit", None),
        PaneOption("/tmp/s", "%3", "synchronize-panes", "on"),
    )
    new = NewIntent("api", "stop", "tidy up", "pane", ProcessId(42, 99), "boot-1", NOW + 30, options, plan)
    answer = begin(ledger, new)
    assert isinstance(answer, Begun)
    assert answer.inherited is None
    kept = ledger.open_intent("api")
    assert kept == answer.intent == ledger.intent(answer.intent.id)
    assert kept is not None
    assert kept.plan.encode() == plan.encode()
    assert (kept.verb, kept.reason, kept.scope, kept.owner) == ("stop", "tidy up", "pane", ProcessId(42, 99))
    assert (kept.boot_id, kept.created_at, kept.deadline, kept.options) == ("boot-1", NOW, NOW + 30, options)
    assert (kept.outcome, kept.result, kept.closed_at, kept.taken_over_by) == (None, None, None, None)


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
    assert (seen.outcome, seen.taken_over_by, seen.closed_at) == ("taken_over", answer.intent.id, NOW)
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
    assert (closed.outcome, closed.result, closed.closed_at) == ("survived", {"survivors": [5]}, NOW + 1)
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

    codes = all_at_once(20, work)
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
    with sqlite3.connect(path) as other:
        other.execute(
            f"INSERT INTO heartbeats (name, at, state, kind, data) VALUES ('api', {at}, 'working', 'x', '{{}}')"
        )
    assert (list(ledger.pulses()), list(ledger.last_heartbeats()), ledger.heartbeats("api")) == (["web"], ["web"], [])
    assert ledger.last_heartbeat("api") is None


def test_the_last_heartbeat_of_each(ledger: Ledger) -> None:
    tool = Heartbeat("api", 10.0, "working", "tool", "c-1", {"tool": "Bash"})
    ended = Heartbeat("api", 20.0, "idle", "stop", None, {})
    ledger.record_heartbeat(tool)
    ledger.record_heartbeat(ended)
    ledger.record_heartbeat(Heartbeat("web", 5.0, "waiting", "dialog", None, {}))
    assert ledger.last_heartbeat("api") == ended
    assert ledger.heartbeats("api") == [ended, tool]
    assert {name: beat.state for name, beat in ledger.last_heartbeats().items()} == {"api": "idle", "web": "waiting"}
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


def test_the_view_of_lives(ledger: Ledger, path: Path) -> None:
    ledger.record_heartbeat(Heartbeat("alive", NOW, "working", "tool", None, {}))
    ledger.mirror(
        [
            row("alive", pane={"pid": 41}, task_id="t1", stopped_at="old", termination_mode="kill"),
            row("killed", "stopped", stopped_at="2026-11-18T09:12:33Z", termination_mode="kill", stop_reason="stuck"),
            row("stopped", "stopped", stopped_at="2026-11-18T09:12:33Z", termination_mode="graceful"),
            row("lost", "terminated", terminated_at="2026-11-18T10:00:00Z", pane="no mapping"),
            row("odd", "running", weight=float("nan")),
        ],
        "d1",
    )
    execute(path, "INSERT INTO sessions VALUES ('broken', 'running', NULL, '{oops')")
    seen = {found[0]: found[1:] for found in rows_of(path, "SELECT * FROM agent_lifecycle")}
    columns = ["agent_id", "pid", "status", "task_id", "last_heartbeat", "completed_at", "error_message"]
    assert [found[1] for found in rows_of(path, "PRAGMA table_info(agent_lifecycle)")] == columns
    assert seen == {
        "alive": (41, "running", "t1", "2026-11-18T11:06:40Z", None, None),
        "killed": (None, "killed", None, None, "2026-11-18T09:12:33Z", "Agent killed: stuck"),
        "stopped": (None, "stopped", None, None, "2026-11-18T09:12:33Z", None),
        "lost": (None, "terminated", None, None, "2026-11-18T10:00:00Z", None),
        "odd": (None, "running", None, None, None, None),
        "broken": (None, "running", None, None, None, None),
    }


def test_the_view_without_json_functions(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tmuxreap.ledger.database.speaks_json", lambda db: False)
    monkeypatch.setattr("tmuxreap.ledger.ledger.speaks_json", lambda db: False)
    with Ledger.open(path, now=NOW) as ledger:
        ledger.mirror([row("api", "stopped", termination_mode="kill")], "d1")
    assert rows_of(path, "SELECT * FROM agent_lifecycle") == [("api", None, "stopped", None, None, None, None)]


# Other tools' tables


def test_tables_of_another_tool_are_joined_not_replaced(path: Path) -> None:
    execute(
        path,
        "CREATE TABLE sessions (name TEXT, status TEXT, data TEXT)",
        "CREATE TABLE orchestrator_task (task_id TEXT, title TEXT, status TEXT)",
        "INSERT INTO orchestrator_task VALUES ('t1', 'Fix it', 'running')",
    )
    with Ledger.open(path, now=NOW) as ledger:
        assert ledger.warnings == []
        ledger.mirror([row("api")], "d1")
        ledger.set_task("t1", "failed", "gone", NOW)
    assert rows_of(path, "SELECT name, pane_cwd FROM sessions") == [("api", "/work")]
    assert rows_of(path, "SELECT * FROM orchestrator_task") == [("t1", "Fix it", "failed")]


# A ledger that cannot be read


def not_a_database(path: Path) -> None:
    path.write_bytes(b"tmux_sessions: []\n" * 400)


def truncated(path: Path) -> None:
    with Ledger.open(path, now=NOW) as ledger:
        ledger.mirror([row(f"n{number}", note="x" * 500) for number in range(100)], "d1")
    os.truncate(path, 9000)


def overwritten_header(path: Path) -> None:
    Ledger.open(path, now=NOW).close()
    with path.open("r+b") as file:
        file.write(b"\xff" * 100)


def from_the_future(path: Path) -> None:
    Ledger.open(path, now=NOW).close()
    execute(path, "PRAGMA user_version = 99")


def without_its_tables(path: Path) -> None:
    Ledger.open(path, now=NOW).close()
    execute(path, "DROP TABLE events")


@pytest.mark.parametrize("spoil", [not_a_database, truncated, overwritten_header, from_the_future, without_its_tables])
def test_an_unreadable_ledger_is_kept_and_made_anew(path: Path, spoil: Callable[[Path], None]) -> None:
    spoil(path)
    content = path.read_bytes()
    with Ledger.open(path, now=NOW + 5) as ledger:
        ledger.record_event(NewEvent("api", "stopped"), NOW + 5)
        assert [event.kind for event in ledger.events()] == ["stopped"]
        [warning] = ledger.warnings
    aside = path.with_name(f"{path.name}.broken-1795000005")
    assert aside.read_bytes() == content
    assert warning.startswith(f"could not read the ledger {path}: ")
    assert aside.name in warning
    with Ledger.open(path, now=NOW + 6) as again:
        assert again.warnings == []


def test_damage_that_shows_later_is_handled_in_the_same_way(path: Path) -> None:
    with Ledger.open(path, now=NOW) as ledger:
        ledger.mirror([row(f"n{number}", note="x" * 500) for number in range(300)], "d1")
    content = bytearray(path.read_bytes())
    content[4096 * 40 :] = b"\xee" * len(content[4096 * 40 :])
    path.write_bytes(content)
    with Ledger.open(path, now=NOW) as ledger:
        assert ledger.warnings == []
        ledger.mirror([row("api")], "d2")
        assert len(ledger.warnings) == 1
        assert ledger.mirrored_digest() == "d2"


def test_the_write_ahead_log_goes_with_a_ledger_that_is_set_aside(path: Path) -> None:
    from_the_future(path)
    user = sqlite3.connect(path, isolation_level=None)
    try:
        user.execute("CREATE TABLE future (word TEXT)")
        user.execute("INSERT INTO future VALUES ('kept')")
        Ledger.open(path, now=NOW).close()
        aside = f"{path.name}.broken-1795000000"
        assert {file.name for file in path.parent.iterdir()} == {path.name, aside, f"{aside}-wal", f"{aside}-shm"}
    finally:
        user.close()
    assert rows_of(path.with_name(aside), "SELECT word FROM future") == [("kept",)]
    Ledger.open(path, now=NOW).close()


def test_two_broken_ones_in_a_second_are_both_kept(path: Path) -> None:
    for content in (b"first " * 200, b"second " * 200):
        path.write_bytes(content)
        Ledger.open(path, now=NOW).close()
    assert path.with_name(f"{path.name}.broken-1795000000").read_bytes().startswith(b"first")
    assert path.with_name(f"{path.name}.broken-1795000000.1").read_bytes().startswith(b"second")


def test_numbers_go_on_rising_in_a_ledger_made_anew(path: Path) -> None:
    with Ledger.open(path, now=NOW) as ledger:
        old_intent = begun(ledger, intent())
        ledger.record_event(NewEvent("api", "asked"), NOW)
        old_event = ledger.events()[0].id
    not_a_database(path)
    with Ledger.open(path, now=NOW + 1) as ledger:
        assert begun(ledger, intent("other")) > old_intent
        ledger.record_event(NewEvent("api", "asked"), NOW)
        assert len(ledger.events(after_id=old_event)) == 1


def test_an_owner_whose_intent_was_lost_goes_on(path: Path) -> None:
    with Ledger.open(path, now=NOW) as ledger:
        number = begun(ledger, intent())
    not_a_database(path)
    with Ledger.open(path, now=NOW + 1) as ledger:
        assert ledger.still_open(number)
        assert ledger.close_intent(Closing(number, "stopped"), NOW + 2)


def test_who_has_it_open_while_it_is_set_aside_moves_to_the_new_one(path: Path) -> None:
    with Ledger.open(path, now=NOW) as watcher:
        watcher.record_event(NewEvent("api", "old"), NOW)
        execute(path, "PRAGMA user_version = 99")
        with Ledger.open(path, now=NOW + 1) as other:
            other.record_event(NewEvent("api", "by other"), NOW + 1)
            watcher.record_event(NewEvent("api", "by watcher"), NOW + 2)
    with Ledger.open(path, now=NOW + 3) as ledger:
        assert [event.kind for event in ledger.events()] == ["by other", "by watcher"]


def test_a_ledger_that_was_deleted_is_made_anew(ledger: Ledger, path: Path) -> None:
    path.unlink()
    ledger.record_event(NewEvent("api", "stopped"), NOW)
    assert path.exists()
    assert len(ledger.events()) == 1


def test_who_waited_while_another_set_it_aside_takes_the_new_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    not_a_database(path)

    def another_was_first(descriptor: int, operation: int) -> None:
        monkeypatch.undo()
        with Ledger.open(path, now=NOW) as other:
            other.record_event(NewEvent("api", "by other"), NOW)

    monkeypatch.setattr("tmuxreap.ledger.database.fcntl.flock", another_was_first)
    with Ledger.open(path, now=NOW + 1) as ledger:
        assert ledger.warnings == []
        assert [event.kind for event in ledger.events()] == ["by other"]
    assert [file.name for file in path.parent.glob("*.broken-*")] == [f"{path.name}.broken-1795000000"]


def test_a_broken_one_that_vanished_is_made_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    not_a_database(path)

    def vanishing(db: sqlite3.Connection, now: float) -> None:
        monkeypatch.undo()
        path.unlink()
        raise sqlite3.DatabaseError("file is not a database")

    monkeypatch.setattr("tmuxreap.ledger.database._bring_up_to_date", vanishing)
    with Ledger.open(path, now=NOW) as ledger:
        assert ledger.warnings == []
        assert ledger.events() == []


def test_one_that_vanishes_while_it_is_opened_is_made_anew_and_private(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def vanishing(path: Path, busy_s: float, now: float) -> sqlite3.Connection:
        monkeypatch.undo()
        path.unlink()
        return database._connect(path, busy_s, now)

    monkeypatch.setattr("tmuxreap.ledger.database._connect", vanishing)
    with Ledger.open(path, now=NOW) as ledger:
        ledger.record_event(NewEvent("api", "stopped"), NOW)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_one_that_vanishes_before_it_is_opened_is_made_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def vanishing(path: Path) -> None:
        monkeypatch.undo()

    monkeypatch.setattr("tmuxreap.ledger.database._make_ready", vanishing)
    with Ledger.open(path, now=NOW) as ledger:
        assert (ledger.events(), ledger.warnings) == ([], [])


def test_a_newer_process_that_was_faster_is_not_turned_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from_the_future(path)

    def version_of_old(db: sqlite3.Connection) -> int:
        monkeypatch.undo()
        return 0

    monkeypatch.setattr("tmuxreap.ledger.database._version", version_of_old)
    Ledger.open(path, now=NOW).close()
    assert rows_of(path, "PRAGMA user_version") == [(99,)]


def test_many_that_find_it_broken_at_once_set_it_aside_once(path: Path) -> None:
    not_a_database(path)

    def work(number: int) -> None:
        with Ledger.open(path, now=NOW + number, busy_s=20) as ledger:
            ledger.record_event(NewEvent(f"n{number}", "seen"), NOW)

    assert all_at_once(20, work) == [0] * 20
    with Ledger.open(path, now=NOW) as ledger:
        assert len(ledger.events()) == 20
    assert len(list(path.parent.glob("*.broken-*"))) == 1


# A ledger that cannot be had


def test_a_lock_that_is_not_given_up(ledger: Ledger, path: Path) -> None:
    holder = sqlite3.connect(path, isolation_level=None)
    try:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnavailable, match="locked") as caught:
            ledger.record_event(NewEvent("api", "stopped"), NOW)
        assert str(caught.value) == f"could not use the ledger {path}: database is locked"
        assert ledger.events() == []  # readers do not wait for a writer
        holder.execute("ROLLBACK")
    finally:
        holder.close()
    ledger.record_event(NewEvent("api", "stopped"), NOW)
    assert len(ledger.events()) == 1


def test_a_lock_of_another_process(path: Path) -> None:
    Ledger.open(path, now=NOW).close()
    held, release = FORK.Event(), FORK.Event()

    def hold() -> None:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        held.set()
        release.wait(30)

    process = FORK.Process(target=hold)
    process.start()
    assert held.wait(30)
    try:
        with Ledger.open(path, now=NOW, busy_s=0.1) as ledger, pytest.raises(LedgerUnavailable, match="locked"):
            begin(ledger, intent())
    finally:
        release.set()
        process.join(30)
    with Ledger.open(path, now=NOW) as ledger:
        assert isinstance(begin(ledger, intent()), Begun)


@pytest.mark.parametrize("full_at", [0, 64])
def test_a_full_disk_loses_nothing_that_was_written(path: Path, full_at: int) -> None:
    with Ledger.open(path, now=NOW) as ledger:
        ledger.record_event(NewEvent("api", "kept"), NOW)

    def work(number: int) -> None:
        ledger = Ledger.open(path, now=NOW)
        size = path.with_name(f"{path.name}-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + full_at * 1024, resource.RLIM_INFINITY))
        try:
            ledger.record_event(NewEvent("api", "too big", {"text": "x" * 300_000}), NOW)
        except LedgerUnavailable as error:
            ledger.close()
            os._exit(3 if "full" in error.reason or "I/O" in error.reason else 4)

    assert all_at_once(1, work) == [3]
    with Ledger.open(path, now=NOW) as ledger:
        assert [event.kind for event in ledger.events()] == ["kept"]
        assert ledger.warnings == []


def test_a_full_database(ledger: Ledger) -> None:
    ledger._db.run(lambda db: db.execute("PRAGMA max_page_count = 30").fetchall())
    with pytest.raises(LedgerUnavailable, match="full"):
        ledger.record_event(NewEvent("api", "too big", {"text": "x" * 300_000}), NOW)
    ledger.record_event(NewEvent("api", "small"), NOW)
    assert [event.kind for event in ledger.events()] == ["small"]
    assert ledger.warnings == []


def test_a_folder_that_must_not_be_written(tmp_path: Path) -> None:
    """Root may write everywhere, so that a child gives up being root."""
    folder = Path(tempfile.mkdtemp(prefix="ledger-"))
    folder.chmod(0o555)

    def work(number: int) -> None:
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        try:
            Ledger.open(folder / "rows.db", now=NOW)
        except LedgerUnavailable as error:
            os._exit(3 if error.reason == "Permission denied" else 4)

    try:
        assert all_at_once(1, work) == [3]
        assert list(folder.iterdir()) == []
    finally:
        folder.rmdir()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="No such file or directory"):
        Ledger.open(tmp_path / "gone" / "rows.db", now=NOW)


def link(path: Path) -> None:
    target = path.with_name("elsewhere.db")
    Ledger.open(target, now=NOW).close()
    path.symlink_to(target)


@pytest.mark.parametrize("make", [link, Path.mkdir, os.mkfifo])
def test_what_is_no_plain_file_is_not_opened(path: Path, make: Callable[[Path], None]) -> None:
    make(path)
    with pytest.raises(LedgerUnavailable, match="is not a regular file"):
        Ledger.open(path, now=NOW)
    assert not list(path.parent.glob("*.broken-*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_a_file_of_another_user_is_not_trusted(path: Path, suffix: str) -> None:
    Ledger.open(path, now=NOW).close()
    foreign = path.with_name(path.name + suffix)
    foreign.touch()
    os.chown(foreign, 12345, 12345)
    with pytest.raises(LedgerUnavailable, match=r"belongs to another user \(uid 12345\)"):
        Ledger.open(path, now=NOW)


def test_a_value_that_cannot_be_stored_is_an_answer_too(ledger: Ledger) -> None:
    with pytest.raises(LedgerUnavailable, match="surrogates"):
        ledger.remember_mark("a\udc80", "uuid", NOW)
    with pytest.raises(LedgerUnavailable, match="too large"):
        begin(ledger, intent(pid=2**70))
    assert ledger.warnings == []


# Many at once, and a death in the middle


def test_many_that_create_it_at_once_all_succeed(path: Path) -> None:
    def work(number: int) -> None:
        with Ledger.open(path, now=NOW, busy_s=20) as ledger:
            ledger.record_event(NewEvent(f"n{number}", "seen"), NOW)

    assert all_at_once(20, work) == [0] * 20
    with Ledger.open(path, now=NOW) as ledger:
        assert len(ledger.events()) == 20
        assert ledger.warnings == []
    assert rows_of(path, "PRAGMA journal_mode") == [("wal",)]
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_fifty_writers_at_once_lose_nothing(path: Path) -> None:
    Ledger.open(path, now=NOW).close()

    def work(number: int) -> None:
        with Ledger.open(path, now=NOW, busy_s=20) as ledger:
            for turn in range(5):
                change = Mirror([row(f"n{number}", str(turn))], f"{number}-{turn}")
                ledger.write(change, [NewEvent(f"n{number}", str(turn))], now=NOW)
            begun(ledger, intent(f"n{number}"))

    assert all_at_once(50, work) == [0] * 50
    with Ledger.open(path, now=NOW) as ledger:
        kinds = {name: [e.kind for e in ledger.events({name})] for name in (f"n{number}" for number in range(50))}
        assert kinds == {f"n{number}": ["0", "1", "2", "3", "4"] for number in range(50)}
        assert len(ledger.open_intents()) == 50
        assert len({found.id for found in ledger.open_intents()}) == 50
    assert len(rows_of(path, "SELECT name FROM sessions")) == 1  # each full mirror shows its own rows and no others


def test_a_death_in_the_middle_of_a_transaction_leaves_what_was_there(path: Path) -> None:
    with Ledger.open(path, now=NOW) as ledger:
        first = begun(ledger, intent())
    inside = FORK.Event()

    def die(number: int) -> None:
        ledger = Ledger.open(path, now=NOW)
        ledger.record_event(NewEvent("api", "committed"), NOW)

        def owner_alive(_: object) -> bool:
            inside.set()
            signal.pause()
            return False

        news = [intent("web"), intent("api", pid=200)]
        ledger.begin_intents(news, owner_alive=owner_alive, take_over=True, now=NOW)

    process = FORK.Process(target=die, args=(0,))
    process.start()
    assert inside.wait(30)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(30)
    with Ledger.open(path, now=NOW) as ledger:
        assert [found.id for found in ledger.open_intents()] == [first]
        assert [event.kind for event in ledger.events()] == ["committed"]
        assert ledger.warnings == []
        assert isinstance(begin(ledger, intent("web")), Begun)


def test_closing_twice_and_using_it_again(ledger: Ledger) -> None:
    ledger.close()
    ledger.close()
    ledger.record_event(NewEvent("api", "stopped"), NOW)
    assert len(ledger.events()) == 1
