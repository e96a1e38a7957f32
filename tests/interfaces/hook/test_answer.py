"""`hook` and `heartbeat` as agents call them: real processes, a real ledger, hostile input; and what is answered."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tmuxreap.agents.hooks.events import halt, meaning
from tmuxreap.core.model import ProcessId
from tmuxreap.interfaces.hook import answer as pulse
from tmuxreap.interfaces.hook import speaker
from tmuxreap.ledger.ledger import Ledger
from tmuxreap.ledger.records import Heartbeat, MirrorRow, NewIntent

ID = "e4d745b8-0584-46dc-828b-77f88ae13a1a"


# An agent as far as hooks are concerned: a process on a terminal that calls them.
AGENT = """import fcntl, subprocess, sys, termios
fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0)
sys.exit(subprocess.run(sys.argv[2:]).returncode)"""


class Desk:
    """A registry with two rows: `acme`, started with a mark, and `shop`, adopted from a pane."""

    def __init__(self, folder: Path) -> None:
        self.registry = folder / ".hermes" / "agent-sessions.yaml"
        self.registry.parent.mkdir()
        self.registry.write_text("tmux_sessions:\n- {name: acme, status: running}\n- {name: shop, status: running}\n")
        self.path = self.registry.with_suffix(".db")
        self.folder = folder
        with self.ledger() as ledger:
            ledger.mirror([self.row("acme"), self.row("shop")], "d")
            ledger.remember_mark("acme", "mark-1", 1.0)

    def row(self, name: str) -> MirrorRow:
        socket = str(self.folder / "s")
        data = {
            "name": name, "agent": "claude", "pane": {"id": "%7"}, "tmux": {"socket": socket, "server_pid": 42},
            "claude_session_id_own": ID,
        }  # fmt: skip
        return MirrorRow(name, "running", "/x", {"name": name, "agent": "claude"} if name == "acme" else data)

    def ledger(self) -> Ledger:
        return Ledger.open(self.path, now=time.time())

    def beats(self, name: str = "acme") -> list[Heartbeat]:
        with self.ledger() as ledger:
            return ledger.heartbeats(name)

    def run(self, *words: str, said: bytes = b"", **environ: str) -> subprocess.CompletedProcess[bytes]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("TMUX", "CLAUDE"))}
        given = {"TMUXREAP_ID": "mark-1", "TMUXREAP_REGISTRY": str(self.registry), **environ}
        environ = {key: value for key, value in {**kept, **given}.items() if value}
        master, terminal = pty.openpty()
        agent = [sys.executable, "-c", AGENT, str(terminal), sys.executable, "-m", "tmuxreap", *words]
        try:
            return subprocess.run(
                agent, input=said, capture_output=True, timeout=20, check=False, env=environ, cwd=self.folder,
                pass_fds=(terminal,), start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(master)
            os.close(terminal)

    def hook(self, agent: str = "claude", **facts: object) -> subprocess.CompletedProcess[bytes]:
        return self.run("hook", agent, said=json.dumps(facts).encode())

    def ask_to_stop(self, waits_ms: int = 60_000, owner: ProcessId | None = None) -> None:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        new = NewIntent(
            "acme", "stop", "tired", "agent", owner or me(), boot, time.time() + 99, (),
            json.dumps({"after_turn": {"waits_ms": waits_ms}}),
        )  # fmt: skip
        with self.ledger() as ledger:
            ledger.begin_intent(new, owner_alive=lambda _: False, take_over=True, now=time.time())


def me() -> ProcessId:
    return ProcessId(os.getpid(), int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]))


def quiet(done: subprocess.CompletedProcess[bytes]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def speaks(
    monkeypatch: pytest.MonkeyPatch, desk: Desk, agent: str, conversation: str | None, *, terminal: int, **environ: str
) -> str | None:
    for name in ("TMUX", "TMUX_PANE", "TMUXREAP_ID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    db = sqlite3.connect(desk.path)
    try:
        return speaker.who(db, agent, conversation, (1, 2, terminal, agent))
    finally:
        db.close()


# What is understood.


@pytest.mark.parametrize(
    ("word", "about", "found"),
    [
        ("SessionStart", "", ("session_start", "idle")),
        ("UserPromptSubmit", "", ("prompt", "working")),
        ("userPromptSubmitted", "", ("prompt", "working")),
        ("BeforeTool", "", ("tool_before", "working")),
        ("PostToolUseFailure", "", ("tool_after", "working")),
        ("agent-turn-complete", "", ("turn_end", "idle")),
        ("Notification", "permission_prompt", ("permission", "waiting")),
        ("Notification", "ToolPermission", ("permission", "waiting")),
        ("Notification", "idle_prompt", ("turn_end", "idle")),
        ("Notification", "auth_success", ("Notification", "")),
        ("SomethingNew", "", ("SomethingNew", "")),
        ("", "", ("unknown", "")),
    ],
)
def test_each_agent_has_its_own_words_for_the_same(word: str, about: str, found: tuple[str, str]) -> None:
    assert meaning(word, about) == found


def test_an_event_is_one_line_in_the_ledger_without_what_was_said(desk: Desk) -> None:
    secret = "sk-0123456789abcdef"
    done = desk.hook(
        hook_event_name="PreToolUse", session_id=ID, tool_name="Bash", tool_input={"command": secret}, prompt=secret
    )
    assert quiet(done)
    (beat,) = desk.beats()
    assert (beat.kind, beat.state, beat.conversation_id) == ("tool_before", "working", ID)
    assert beat.data["tool"] == "Bash"
    assert secret.encode() not in b"".join(file.read_bytes() for file in desk.registry.parent.iterdir())


def test_an_event_may_come_as_an_argument(desk: Desk) -> None:
    assert quiet(desk.run("hook", "claude", '{"type": "agent-turn-complete", "thread-id": "t-1"}'))
    assert quiet(desk.run("hook", "claude", "sessionEnd", said=b"{}"))
    assert [(beat.kind, beat.conversation_id) for beat in desk.beats()] == [("session_end", None), ("turn_end", "t-1")]


@pytest.mark.parametrize(
    "said",
    [
        b"", b"\0\xff\xfe" * 500, b"not json", b"[1]", b"[" * 100_000, b'{"hook_event_name": ["x"], "session_id": {}}',
        b'{"hook_event_name": "\\ud800", "session_id": "a\\u001b[31m"}', b'{"tool_input": "' + b"x" * (1 << 20) + b'"}',
        b'{"n": ' + b"9" * 5000 + b"}", b'{"cwd": 7}', b'{"cwd": "/nowhere\\u0000"}',
    ],
)  # fmt: skip
def test_whatever_comes_in_the_agent_is_not_failed(desk: Desk, said: bytes) -> None:
    assert quiet(desk.run("hook", "claude", said=said))
    assert [(beat.kind, beat.state, beat.conversation_id) for beat in desk.beats()] == [("unknown", "", None)]


def test_a_ledger_that_cannot_be_had_is_given_up(desk: Desk) -> None:
    holder = sqlite3.connect(desk.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    began = time.monotonic()
    assert quiet(desk.hook(hook_event_name="Stop"))
    assert time.monotonic() - began < 2.0
    holder.close()
    assert desk.beats() == []


@pytest.mark.parametrize("data", [b"no database at all" * 100, b""])
def test_a_broken_ledger_is_left_alone(desk: Desk, data: bytes) -> None:
    desk.path.write_bytes(data)
    assert quiet(desk.hook(hook_event_name="Stop"))
    assert desk.path.read_bytes() == data


def test_no_ledger_is_made(desk: Desk) -> None:
    desk.path.unlink()
    assert quiet(desk.hook(hook_event_name="Stop"))
    assert not desk.path.exists()


def test_one_that_is_nobody_here_is_passed_over(desk: Desk) -> None:
    assert quiet(desk.run("hook", "claude", said=b'{"hook_event_name": "Stop"}', TMUXREAP_ID="another"))
    assert quiet(desk.run("hook"))
    assert desk.beats() == []


def test_a_pipe_that_stays_open_holds_nobody_up(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "INPUT_S", 0.05)
    reader, writer = os.pipe()
    os.write(writer, b'{"a": 1}')
    try:
        assert pulse.read_input(reader) == b'{"a": 1}'
    finally:
        os.close(reader)
        os.close(writer)


# Who speaks.


def test_the_mark_tells_who_speaks_and_only_the_latest_of_a_session(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert speaks(monkeypatch, desk, "claude", None, terminal=9, TMUXREAP_ID="mark-1") == "acme"
    with desk.ledger() as ledger:
        ledger.remember_mark("acme", "mark-2", 2.0)
    assert speaks(monkeypatch, desk, "claude", None, terminal=9, TMUXREAP_ID="mark-1") is None
    assert speaks(monkeypatch, desk, "claude", None, terminal=9, TMUXREAP_ID="mark-2") == "acme"


def test_one_that_is_just_being_started_is_known_by_the_mark_that_it_was_given(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = json.dumps({"marks": ["mark-2", "mark-of-a-dead-start"]})
    new = NewIntent("new", "start", "started", "session", me(), "boot", time.time() + 60, (), plan)
    with desk.ledger() as ledger:
        ledger.begin_intent(new, owner_alive=lambda _: True, take_over=False, now=time.time())
    assert speaks(monkeypatch, desk, "claude", None, terminal=9, TMUXREAP_ID="mark-2") == "new"
    assert speaks(monkeypatch, desk, "claude", None, terminal=9, TMUXREAP_ID="mark-of-a-dead-start") is None


def test_an_agent_that_is_a_script_speaks_for_itself_and_not_for_what_is_above_it(desk: Desk) -> None:
    script = desk.folder / "claude"
    script.write_text(f"#!/usr/bin/env bash\n{sys.executable} -m tmuxreap hook claude </dev/null\n:\n")
    environ = {**os.environ, "TMUXREAP_ID": "mark-1", "TMUXREAP_REGISTRY": str(desk.registry)}
    with subprocess.Popen(["bash", str(script)], env=environ, stdin=subprocess.DEVNULL) as process:
        assert process.wait(20) == 0
    (beat,) = desk.beats()
    assert process.pid in [beat.data["pid"], *(pid for pid, _ in beat.data["below"])]  # type: ignore[attr-defined]


def test_the_pane_tells_it_of_an_adopted_one(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    where = f"{desk.folder}/s"
    assert speaks(monkeypatch, desk, "claude", None, terminal=9, TMUX=f"{where},42,0", TMUX_PANE="%7") == "shop"
    for socket, server, pane in ((where, 43, "%7"), (where, 42, "%77"), (where + "x", 42, "%7")):
        found = speaks(monkeypatch, desk, "claude", None, terminal=9, TMUX=f"{socket},{server},0", TMUX_PANE=pane)
        assert found is None


def test_of_one_without_a_terminal_the_conversation_goes_first(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shared daemon, or an agent that a tool of this one has started, carries the mark of the pane."""
    assert speaks(monkeypatch, desk, "claude", ID, terminal=0, TMUXREAP_ID="mark-1") == "shop"
    assert speaks(monkeypatch, desk, "claude", "other", terminal=0, TMUXREAP_ID="mark-1") == "acme"


def test_one_without_a_terminal_and_with_another_conversation_is_not_told_to_halt(desk: Desk) -> None:
    with contextlib.closing(speaker.opened(str(desk.path))) as db:
        assert speaker.is_its_own(db, "shop", "claude", ID, (7, 1, 0, "claude"))
        assert speaker.is_its_own(db, "shop", "claude", "other", (7, 1, 9, "claude"))
        assert speaker.is_its_own(db, "acme", "claude", "other", (7, 1, 0, "claude"))  # nobody knows what it is in
        assert not speaker.is_its_own(db, "shop", "claude", "other", (7, 1, 0, "claude"))
        assert not speaker.is_its_own(db, "shop", "gemini", "other", (7, 1, 0, "node"))
        assert speaker.is_its_own(db, "shop", "claude", "other", (7, 1, 0, "python3"))  # no agent: it speaks for one


def test_another_kind_of_agent_in_the_same_terminal_is_not_this_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert speaks(monkeypatch, desk, "gemini", None, terminal=9, TMUXREAP_ID="mark-1") is None


# Stop after the turn.


def test_a_pending_request_is_answered_so_that_nothing_else_begins(desk: Desk) -> None:
    desk.ask_to_stop()
    why = "tmuxreap stops this session after its turn (tired)"
    answers = {
        word: json.loads(desk.hook(hook_event_name=word).stdout)
        for word in ("PreToolUse", "PostToolUse", "UserPromptSubmit")
    }
    assert all((one["continue"], one["stopReason"]) == (False, why) for one in answers.values())
    assert answers["PreToolUse"]["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": why,
    }  # fmt: skip
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


def test_events_without_a_say_are_not_answered() -> None:
    assert [kind for kind in ("session_start", "session_end", "heartbeat", "x") if halt(kind, "", "")] == []


# Heartbeats.


def told(done: subprocess.CompletedProcess[bytes]) -> tuple[int, Any]:
    return done.returncode, json.loads(done.stdout)


def test_a_heartbeat_is_noted_by_name_or_by_where_it_is_called(desk: Desk) -> None:
    assert quiet(desk.run("heartbeat", "shop", "--state", "waiting"))
    assert quiet(desk.run("heartbeat", "--state=idle"))
    assert quiet(desk.run("heartbeat"))
    assert [(beat.kind, beat.state) for beat in desk.beats("shop")] == [("heartbeat", "waiting")]
    assert [(beat.kind, beat.state) for beat in desk.beats()] == [("heartbeat", "working"), ("heartbeat", "idle")]


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (("nobody",), 3, "session_not_registered"),
        (("acme", "--state", "asleep"), 2, "usage"),
        (("--registry", "/nowhere/x.yaml"), 6, "registry_not_found"),
    ],
)
def test_what_is_wrong_with_a_heartbeat_is_said(desk: Desk, words: tuple[str, ...], status: int, code: str) -> None:
    ended, answer = told(desk.run("heartbeat", *words, "--json"))
    assert (ended, answer["error"]["code"]) == (status, code)
    assert desk.beats() == []


def test_a_heartbeat_that_has_to_answer_does(desk: Desk) -> None:
    status, answer = told(desk.run("heartbeat", "acme", "--json"))
    assert (status, answer["results"]) == (0, [{"name": "acme", "state": "working", "error": None}])
    assert len(desk.beats()) == 1


def test_the_quick_ones_load_no_command_line(desk: Desk) -> None:
    code = "import sys; from tmuxreap.__main__ import main; main(['hook', 'claude']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
        env={**os.environ, "TMUXREAP_ID": "mark-1", "TMUXREAP_REGISTRY": str(desk.registry)},
    )  # fmt: skip
    heavy = {
        "typer",
        "yaml",
        "subprocess",
        "tmuxreap.interfaces.cli.main",
        "tmuxreap.core.model",
        "tmuxreap.ledger.ledger",
    }
    assert not heavy & set(done.stdout.split())
