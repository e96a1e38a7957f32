"""Finds the caller: by its mark, a process that was seen, or its conversation."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import time

import pytest

from tests.hook_desk import ID, Desk, me, process
from tmuxreap.core.model import ProcessId
from tmuxreap.interfaces.hook import speaker
from tmuxreap.ledger.records import MirrorRow, NewIntent, News
from tmuxreap.ledger.schema import connect
from tmuxreap.system.processes import procfs


def speaks(
    monkeypatch: pytest.MonkeyPatch,
    desk: Desk,
    agent: str,
    conversation: str | None,
    *,
    terminal: int,
    **environ: str,
) -> str | None:
    for name in ("TMUX", "TMUX_PANE", "TMUXREAP_ID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    db = sqlite3.connect(desk.path)
    try:
        return speaker.row_of_caller(db, agent, conversation, (1, 2, terminal, agent))
    finally:
        db.close()


def test_only_the_latest_mark_of_a_session_identifies_a_hook(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert speaks(monkeypatch, desk, "claude", None, terminal=9, TMUXREAP_ID="mark-1") == "acme"
    with desk.ledger() as ledger:
        ledger.remember_mark("acme", "mark-2", 2.0)
    assert speaks(monkeypatch, desk, "claude", None, terminal=9, TMUXREAP_ID="mark-1") is None
    assert speaks(monkeypatch, desk, "claude", None, terminal=9, TMUXREAP_ID="mark-2") == "acme"


def test_a_starting_session_is_recognised_by_its_mark(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = json.dumps({"marks": ["mark-2", "mark-of-a-dead-start"]})
    new = NewIntent("new", "start", "started", "session", me(), "boot", time.time() + 60, (), plan)
    with desk.ledger() as ledger:
        ledger.begin_intent(new, owner_alive=lambda _: True, take_over=False, now=time.time())
    assert speaks(monkeypatch, desk, "claude", None, terminal=9, TMUXREAP_ID="mark-2") == "new"
    assert (
        speaks(monkeypatch, desk, "claude", None, terminal=9, TMUXREAP_ID="mark-of-a-dead-start")
        is None
    )


def test_an_agent_that_is_a_script_speaks_for_itself_and_not_for_what_is_above_it(
    desk: Desk,
) -> None:
    script = desk.folder / "claude"
    script.write_text(
        f"#!/usr/bin/env bash\n{sys.executable} -m tmuxreap hook claude </dev/null\n:\n"
    )
    environ = {**os.environ, "TMUXREAP_ID": "mark-1", "TMUXREAP_REGISTRY": str(desk.registry)}
    with subprocess.Popen(["bash", str(script)], env=environ, stdin=subprocess.DEVNULL) as process:
        assert process.wait(20) == 0
    (beat,) = desk.beats()
    assert process.pid in [beat.data["pid"], *(pid for pid, _ in beat.data["below"])]  # type: ignore[attr-defined]


def test_a_process_seen_by_a_look_identifies_a_row_of_another_tool(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    above = process(os.getppid())

    def heard(status: str = "running", agent: str = "claude", name: str = "hand") -> str | None:
        row = {"name": name, "pane": {"pid": above.pid}}
        with desk.ledger() as ledger:
            ledger.mirror([MirrorRow(name, status, "/x", row | {"agent": agent})], "d")
        where = {"TMUX": "/tmp/tmux-0/default,42,0", "TMUX_PANE": "%1"}
        return speaks(monkeypatch, desk, "claude", None, terminal=9, **where)

    def seen(process: ProcessId, boot_id: str = procfs.boot_id(), name: str = "hand") -> None:
        with desk.ledger() as ledger:
            ledger.at(2.0).remember_seen(boot_id, [News(name, {process: None})])

    assert heard() is None  # its pid stands in the row, which a reader judges
    seen(above, "another boot")
    assert heard() is None
    for other in (ProcessId(os.getpid(), above.start), ProcessId(above.pid, above.start + 1)):
        seen(other)
        assert heard() is None
    seen(above)
    assert heard() == "hand"
    assert heard(status="stopped") is None
    assert heard(agent="codex") is None
    assert heard(name="other") is None


def test_a_process_seen_in_two_rows_identifies_neither(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    above = process(os.getppid())
    with desk.ledger() as ledger:
        news = [News(name, {above: None}) for name in ("acme", "shop")]
        ledger.at(2.0).remember_seen(procfs.boot_id(), news)
    where = {"TMUX": "/tmp/tmux-0/default,42,0", "TMUX_PANE": "%1"}
    assert speaks(monkeypatch, desk, "claude", None, terminal=9, **where) is None


def test_the_intent_identifies_a_row_that_is_not_mirrored(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def planned(pid: int) -> None:
        plan = json.dumps({"socket": "/tmp/s", "pane": "%1", "processes": [{"pid": pid}]})
        until = time.time() + 60
        new = NewIntent("hand", "stop", "r", "session", me(), "boot", until, (), plan)
        with desk.ledger() as ledger:
            ledger.mirror([], "d")
            ledger.begin_intent(new, owner_alive=lambda _: True, take_over=True, now=time.time())

    def heard(socket: str = "/tmp/s", pane: str = "%1") -> str | None:
        given = {"TMUX": f"{socket},42,0", "TMUX_PANE": pane}
        return speaks(monkeypatch, desk, "claude", None, terminal=9, **given)

    planned(os.getppid())
    assert (heard(), heard(pane="%2"), heard("/tmp/other")) == ("hand", None, None)
    planned(os.getpid())
    assert heard() is None


def test_the_conversation_decides_first_without_a_terminal(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shared daemon, or an agent started by this one's tool, carries the mark of the pane."""
    assert speaks(monkeypatch, desk, "claude", ID, terminal=0, TMUXREAP_ID="mark-1") == "shop"
    assert speaks(monkeypatch, desk, "claude", "other", terminal=0, TMUXREAP_ID="mark-1") == "acme"


def test_a_hook_of_another_conversation_without_a_terminal_gets_no_stop(
    desk: Desk,
) -> None:
    with contextlib.closing(connect(str(desk.path), 1)) as db:
        assert speaker.is_own_agent(db, "shop", "claude", ID, (7, 1, 0, "claude"))
        assert speaker.is_own_agent(db, "shop", "claude", "other", (7, 1, 9, "claude"))
        assert speaker.is_own_agent(
            db, "acme", "claude", "other", (7, 1, 0, "claude")
        )  # its conversation is unknown
        assert not speaker.is_own_agent(db, "shop", "claude", "other", (7, 1, 0, "claude"))
        assert not speaker.is_own_agent(db, "shop", "gemini", "other", (7, 1, 0, "node"))
        assert speaker.is_own_agent(
            db, "shop", "claude", "other", (7, 1, 0, "python3")
        )  # no agent: it reports for one


def test_another_kind_of_agent_in_the_same_terminal_is_not_mistaken(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert speaks(monkeypatch, desk, "gemini", None, terminal=9, TMUXREAP_ID="mark-1") is None
