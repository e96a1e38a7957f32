"""`hook` and `heartbeat` as agents call them: real processes, a real ledger, hostile input, and the
answers."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from typing import Any

import pytest

from tests.hook_desk import ID, Desk, me, quiet
from tmuxreap.core.model import ProcessId
from tmuxreap.interfaces.hook import answer as pulse

# Events


def test_an_event_is_one_line_in_the_ledger_without_what_was_given(desk: Desk) -> None:
    secret = "sk-0123456789abcdef"
    done = desk.hook(
        hook_event_name="PreToolUse",
        session_id=ID,
        tool_name="Bash",
        tool_input={"command": secret},
        prompt=secret,
    )
    assert quiet(done)
    (beat,) = desk.beats()
    assert (beat.kind, beat.state, beat.conversation_id) == ("tool_before", "working", ID)
    assert beat.data["tool"] == "Bash"
    assert secret.encode() not in b"".join(
        file.read_bytes() for file in desk.registry.parent.iterdir()
    )


def test_an_event_may_come_as_an_argument(desk: Desk) -> None:
    assert quiet(desk.run("hook", "claude", '{"type": "agent-turn-complete", "thread-id": "t-1"}'))
    assert quiet(desk.run("hook", "claude", "sessionEnd", said=b"{}"))
    assert [(beat.kind, beat.conversation_id) for beat in desk.beats()] == [
        ("session_end", None),
        ("turn_end", "t-1"),
    ]


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\0\xff\xfe" * 500,
        b"not json",
        b"[1]",
        b"[" * 100_000,
        b'{"hook_event_name": ["x"], "session_id": {}}',
        b'{"hook_event_name": "\\ud800", "session_id": "a\\u001b[31m"}',
        b'{"tool_input": "' + b"x" * (1 << 20) + b'"}',
        b'{"n": ' + b"9" * 5000 + b"}",
        b'{"cwd": 7}',
        b'{"cwd": "/nowhere\\u0000"}',
    ],
)
def test_no_input_of_a_hook_fails_the_agent(desk: Desk, said: bytes) -> None:
    assert quiet(desk.run("hook", "claude", said=said))
    assert [(beat.kind, beat.state, beat.conversation_id) for beat in desk.beats()] == [
        ("unknown", "", None)
    ]


def test_a_hook_gives_up_a_ledger_that_cannot_be_had(desk: Desk) -> None:
    holder = sqlite3.connect(desk.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert quiet(desk.hook(hook_event_name="Stop"))  # the lock is held until below
    holder.close()
    assert desk.beats() == []


def test_a_broken_ledger_is_left_alone(desk: Desk) -> None:
    data = b"no database at all" * 100
    desk.path.write_bytes(data)
    assert quiet(desk.hook(hook_event_name="Stop"))
    assert desk.path.read_bytes() == data


def test_a_hook_creates_no_ledger(desk: Desk) -> None:
    desk.path.unlink()
    assert quiet(desk.hook(hook_event_name="Stop"))
    assert not desk.path.exists()


def test_a_hook_of_an_unknown_session_is_ignored(desk: Desk) -> None:
    assert quiet(
        desk.run("hook", "claude", said=b'{"hook_event_name": "Stop"}', TMUXREAP_ID="another")
    )
    assert quiet(desk.run("hook"))
    assert desk.beats() == []


def test_a_pipe_that_stays_open_delays_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "INPUT_S", 0.05)
    reader, writer = os.pipe()
    os.write(writer, b'{"a": 1}')
    try:
        assert pulse.read_input(reader) == b'{"a": 1}'
    finally:
        os.close(reader)
        os.close(writer)


def test_input_above_the_limit_is_read_to_its_end_and_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pulse, "INPUT_BYTES", 8)
    reader, writer = os.pipe()
    os.write(writer, b"x" * 20)
    os.close(writer)
    try:
        assert pulse.read_input(reader) == b""
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)


# The caller


# Stopping after the turn


def test_a_pending_request_is_answered_so_that_nothing_else_begins(desk: Desk) -> None:
    desk.ask_to_stop()
    why = "tmuxreap stops this session after its turn (tired)"
    answers = {
        word: json.loads(desk.hook(hook_event_name=word).stdout)
        for word in ("PreToolUse", "PostToolUse", "UserPromptSubmit")
    }
    assert all((one["continue"], one["stopReason"]) == (False, why) for one in answers.values())
    assert answers["PreToolUse"]["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": why,
    }
    assert answers["UserPromptSubmit"]["decision"] == "block"
    assert [beat.data["halted"] for beat in desk.beats()] == [True, True, True]
    assert quiet(desk.hook(hook_event_name="SessionStart"))


def test_a_request_whose_time_is_up_or_whose_owner_is_dead_is_void(desk: Desk) -> None:
    desk.ask_to_stop(waits_ms=0)
    assert quiet(desk.hook(hook_event_name="PreToolUse"))
    desk.ask_to_stop(owner=ProcessId(os.getpid(), me().start + 1))
    assert quiet(desk.hook(hook_event_name="PreToolUse"))
    desk.ask_to_stop()
    assert not quiet(desk.hook(hook_event_name="PreToolUse"))


# Heartbeats


def told(done: subprocess.CompletedProcess[bytes]) -> tuple[int, Any]:
    return done.returncode, json.loads(done.stdout)


def test_a_heartbeat_is_noted_by_name_or_by_where_it_is_called(desk: Desk) -> None:
    assert quiet(desk.run("heartbeat", "shop", "--state", "waiting"))
    assert quiet(desk.run("heartbeat", "--state=idle"))
    assert quiet(desk.run("heartbeat"))
    assert [(beat.kind, beat.state) for beat in desk.beats("shop")] == [("heartbeat", "waiting")]
    assert [(beat.kind, beat.state) for beat in desk.beats()] == [
        ("heartbeat", "working"),
        ("heartbeat", "idle"),
    ]


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (("nobody",), 3, "session_not_registered"),
        (("acme", "--state", "asleep"), 2, "usage"),
        (("--registry", "/nowhere/x.yaml"), 6, "registry_not_found"),
    ],
)
def test_a_faulty_heartbeat_is_reported(
    desk: Desk, words: tuple[str, ...], status: int, code: str
) -> None:
    ended, answer = told(desk.run("heartbeat", *words, "--json"))
    assert (ended, answer["error"]["code"]) == (status, code)
    assert desk.beats() == []


def test_a_heartbeat_that_must_answer_answers(desk: Desk) -> None:
    status, answer = told(desk.run("heartbeat", "acme", "--json"))
    assert (status, answer["results"]) == (0, [{"name": "acme", "state": "working", "error": None}])
    assert len(desk.beats()) == 1


def test_quick_hooks_load_no_command_line(desk: Desk) -> None:
    code = (
        "import sys; from tmuxreap.__main__ import main; main(['hook', 'claude']);"
        " print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TMUXREAP_ID": "mark-1", "TMUXREAP_REGISTRY": str(desk.registry)},
    )
    heavy = {
        "typer",
        "yaml",
        "subprocess",
        "tmuxreap.interfaces.cli.main",
        "tmuxreap.core.model",
        "tmuxreap.ledger.ledger",
    }
    assert not heavy & set(done.stdout.split())
