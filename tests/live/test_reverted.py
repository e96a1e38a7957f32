"""A registry that goes back in time (an editor's old buffer, a checkout, a writer without the lock)
undoes nothing: for rows of ours, and for those that another tool writes by hand."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from typing import Any

import pytest

from tests.live.test_watch import watching
from tests.real import CONFIRM_S, DEMO, Real, alive, answer, until
from tmuxreap.commands import resume, stop
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.model import EndVerb, Scope
from tmuxreap.ending.policy import Policy
from tmuxreap.ledger.database import ledger_path

pytestmark = pytest.mark.live

KINDS = ("ours", "by hand")


def begun(real: Real, kind: str = "ours", name: str = "acme", **more: Any) -> int:
    """Start a session that can be resumed, and return the pid of its agent."""
    if kind == "ours":
        real.start(name, **more)
    else:
        real.tmux("new-session", "-d", "-s", name, "-c", str(real.folder), *DEMO)
        real.shows(name, "demo agent · conversation")
        pane = {"pid": real.pid(name), "cmd": "python", "cwd": str(real.folder)}
        row = {"name": name, "status": "running", "tmux_server": real.socket, "pane": pane}
        text = real.registry.read_text().replace("tmux_sessions: []", "tmux_sessions:")
        real.registry.write_text(f"{text}- {json.dumps(row)}\n")
    real.say(f"this is {name}", name)
    return real.pid(name)


def settled(real: Real) -> list[dict[str, Any]]:
    with real.app() as app:
        found: Any = reconcile.run(app).as_json()["drifts"]
    return [one for one in found if one["name"] != "quiet"]


def kinds_of(drifts: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    return [(one["drift"], one["settled"]) for one in drifts]


def later(real: Real) -> None:
    """Let the last correction be longer ago than the pause between two."""
    with contextlib.closing(sqlite3.connect(ledger_path(real.registry))) as db, db:
        db.execute("UPDATE events SET at = at - 60")


@pytest.mark.parametrize("kind", KINDS)
def test_a_stop_that_an_old_copy_undoes_is_written_again(real: Real, kind: str) -> None:
    real.bystander()
    begun(real, kind)
    old = real.registry.read_bytes()
    real.stop(reason="done for good")
    new = real.row()
    real.registry.write_bytes(old)
    assert kinds_of(settled(real)) == [("reverted", True)]
    assert real.row() == new
    assert settled(real) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_stop_of_a_row_that_went_back_finds_it_stopped(real: Real, kind: str) -> None:
    real.bystander()
    begun(real, kind)
    old = real.registry.read_bytes()
    real.stop(reason="done for good")
    for end in (real.stop, real.kill):
        real.registry.write_bytes(old)
        told = end(reason="another")
        (item,) = told.results
        facts = item.as_json()
        assert (told.exit, facts["outcome"]) == (0, "already_stopped")
        assert (facts["stop_reason"], facts["status"]) == ("done for good", "stopped")
        assert facts["resumable"] is True
        assert real.registry.read_bytes() == old
        assert any("reverted: " in warning for warning in facts["warnings"])


def test_a_list_reports_a_reverted_row_and_writes_nothing(real: Real) -> None:
    real.bystander()
    begun(real)
    old = real.registry.read_bytes()
    real.stop()
    real.registry.write_bytes(old)
    (told,) = real.list()
    assert told["drift"] == "reverted"
    assert real.show()["drift"] == "reverted"
    assert real.registry.read_bytes() == old


@pytest.mark.parametrize("kind", KINDS)
def test_a_kill_and_a_loss_come_back_as_what_they_were(real: Real, kind: str) -> None:
    real.bystander()
    pid = begun(real, kind)
    begun(real, kind, "other")
    old = real.registry.read_bytes()
    real.kill("other", reason="it hung")
    real.tmux("kill-session", "-t", "=acme")
    until("the agent gone", lambda: not alive(pid))
    assert kinds_of(settled(real)) == [("dead", True)]
    new = real.rows()
    real.registry.write_bytes(old)
    assert sorted(kinds_of(settled(real))) == [("reverted", True), ("reverted", True)]
    assert real.rows() == new


@pytest.mark.parametrize("kind", KINDS)
def test_a_resume_that_an_old_copy_undoes_runs_again(real: Real, kind: str) -> None:
    real.bystander()
    begun(real, kind)
    running = real.registry.read_bytes()
    real.stop(reason="first")
    stopped = real.registry.read_bytes()
    real.resume()
    new = real.row()
    for old in (running, stopped):
        real.registry.write_bytes(old)
        assert kinds_of(settled(real)) == [("reverted", True)]
        filled = {name: value for name, value in new.items() if value is not None}
        assert filled.items() <= real.row().items()
        assert "stopped_at" not in real.row()
        assert alive(real.pid())
        later(real)


def test_a_stop_ends_what_runs_though_an_old_copy_says_that_it_ended(real: Real) -> None:
    real.bystander()
    begun(real)
    real.stop(reason="first")
    stopped = real.registry.read_bytes()
    real.resume()
    pid, known = real.pid(), real.row()
    real.registry.write_bytes(stopped)
    told = real.stop(reason="second")
    assert [item.as_json()["outcome"] for item in told.results] == ["stopped"]
    assert not alive(pid)
    row = real.row()
    assert (row["status"], row["stop_reason"], row["pane"]) == ("stopped", "second", known["pane"])
    new = real.row()
    real.registry.write_bytes(stopped)
    assert kinds_of(settled(real)) == [("reverted", True)]  # its second end is the newer one
    assert real.row() == new


@pytest.mark.parametrize("kind", KINDS)
def test_an_older_end_in_an_old_copy_undoes_no_newer_one(real: Real, kind: str) -> None:
    real.bystander()
    begun(real, kind)
    real.stop(reason="first")
    first = real.registry.read_bytes()
    real.resume()
    real.stop(reason="second")
    new = real.row()
    real.registry.write_bytes(first)
    (told,) = real.list()
    assert (told["drift"], real.show()["drift"]) == ("reverted", "reverted")
    again = answer(real.stop(reason="third"))
    assert (again["outcome"], again["stop_reason"]) == ("already_stopped", "second")
    assert real.registry.read_bytes() == first
    assert kinds_of(settled(real)) == [("reverted", True)]
    assert real.row() == new
    assert settled(real) == []


def test_a_conversation_that_was_purged_is_not_called_resumable_by_an_old_copy(
    real: Real,
) -> None:
    real.bystander()
    begun(real)
    real.stop(reason="first")
    stopped = real.registry.read_bytes()
    policy = Policy(EndVerb.STOP, "manual_stop", purge=True)
    with real.app() as app:
        stop.run(app, stop.EndRequest(("acme",), policy, yes=True))
    assert real.row()["resumable"] is False
    real.registry.write_bytes(stopped)
    assert kinds_of(settled(real)) == [("reverted", True)]
    assert (real.row()["status"], real.row()["resumable"]) == ("terminated", False)


def test_an_end_unknown_to_the_ledger_stands_beside_a_newer_one(real: Real) -> None:
    real.bystander()
    begun(real)
    real.stop(reason="first")
    real.resume()
    real.stop(reason="second")
    real.edit("stop_reason: second", "stop_reason: by another hand")
    assert settled(real) == []
    assert real.row()["stop_reason"] == "by another hand"


def test_the_newest_end_counts_where_a_copy_is_older_than_two_of_them(real: Real) -> None:
    real.bystander()
    begun(real)
    old = real.registry.read_bytes()
    real.stop(reason="first")
    real.resume()
    real.stop(reason="second")
    new = real.row()
    real.registry.write_bytes(old)
    assert kinds_of(settled(real)) == [("reverted", True)]
    assert real.row() == new


def test_a_resume_uses_what_the_ledger_knows(real: Real) -> None:
    real.bystander()
    begun(real, "by hand")
    old = real.registry.read_bytes()
    real.stop()
    real.registry.write_bytes(old)
    with real.app() as app:
        resumed = answer(resume.run(app, resume.ResumeRequest(("acme",), confirm_s=CONFIRM_S)))
    assert resumed["status"] == "running"
    real.shows("acme", "You said: this is acme")


def test_a_writer_of_old_memory_is_reported_and_not_fought(real: Real) -> None:
    real.bystander()
    begun(real)
    old = real.registry.read_bytes()
    real.stop()
    real.registry.write_bytes(old)
    assert kinds_of(settled(real)) == [("reverted", True)]
    real.registry.write_bytes(old)
    (drift,) = settled(real)
    assert (drift["drift"], drift["settled"]) == ("reverted", False)
    assert ".lock" in drift["hint"]
    assert real.registry.read_bytes() == old
    later(real)
    assert kinds_of(settled(real)) == [("reverted", True)]
    assert real.row()["status"] == "stopped"


def test_an_end_by_another_tool_is_kept(real: Real) -> None:
    real.start()
    real.edit("status: running", "status: stopped")
    assert kinds_of(settled(real)) == [("revived", False)]
    assert real.row()["status"] == "stopped"
    real.adopt()
    real.edit("status: running", "status: stopped")
    assert kinds_of(settled(real)) == [("revived", False)]


def test_a_start_by_another_tool_is_kept(real: Real) -> None:
    real.bystander()
    begun(real, "by hand")
    real.stop(reason="by us")
    real.registry.write_text("tmux_sessions: []\n")
    pid = begun(real, "by hand")
    assert kinds_of(settled(real)) == [("id_changed", True)]
    real.tmux("kill-session", "-t", "=acme")
    until("the agent gone", lambda: not alive(pid))
    assert kinds_of(settled(real)) == [("dead", True)]
    assert real.row()["termination_mode"] == "lost"


def test_fields_of_another_tool_stay_when_an_end_is_written_again(real: Real) -> None:
    real.bystander()
    begun(real)
    old = real.registry.read_text()
    real.stop()
    mine = old.replace("status: running", "status: running\n    note: 'mine, by hand'  # kept")
    real.registry.write_text(mine)
    settled(real)
    assert real.row()["note"] == "mine, by hand"
    assert "note: 'mine, by hand'  # kept" in real.registry.read_text()
    assert real.row()["status"] == "stopped"


def test_only_the_pane_that_had_ended_counts_where_its_session_lives_on(real: Real) -> None:
    begun(real)
    real.tmux("split-window", "-d", "-t", "=acme:", "sh", "-c", "sleep 600; :")
    old = real.registry.read_bytes()
    real.stop(scope=Scope.PANE)
    new = real.row()
    real.registry.write_bytes(old)
    told = real.stop()
    assert [item.as_json()["outcome"] for item in told.results] == ["already_stopped"]
    assert "acme" in real.sessions()
    assert kinds_of(settled(real)) == [("reverted", True)]
    assert real.row() == new


@pytest.mark.parametrize("when", ["on-failure", "always"])
def test_a_watch_never_starts_again_what_an_old_copy_shows_as_running(
    real: Real, when: str
) -> None:
    real.bystander()
    begun(real, restart=when)
    old = real.registry.read_bytes()
    with watching(real, "--interval", "1") as watch:
        real.stop(reason="done for good")
        real.registry.write_bytes(old)
        event = watch.first("reverted")
        assert (event["name"], event["settled"]) == ("acme", True)
        until("written again", lambda: real.row()["status"] == "stopped")
        watch.rests()
    assert real.row()["stop_reason"] == "done for good"
    assert real.events("restarting") == []
    assert "acme" not in real.sessions()
