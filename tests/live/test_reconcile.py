"""Each way in which registry, ledger and tmux can disagree, created for real."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ledger_records import Ledger
from tests.real import DEMO, Real, alive, answer, until
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.model import ProcessId, Scope
from tmuxreap.core.results import Result
from tmuxreap.core.text import Style
from tmuxreap.interfaces.text.report import lines
from tmuxreap.ledger.database import ledger_path
from tmuxreap.ledger.records import NewIntent
from tmuxreap.system.processes.linux import boot_id, real_processes

pytestmark = pytest.mark.live


def run(real: Real, *, dry_run: bool = False) -> Result:
    with real.app() as app:
        return reconcile.run(app, dry_run=dry_run)


def drifts(result: Result) -> dict[str, str]:
    found: Any = result.as_json()["drifts"]
    assert result.exit == 0
    return {one["name"]: one["drift"] for one in found}


@contextlib.contextmanager
def unchanged(real: Real) -> Iterator[None]:
    before = real.registry.read_bytes()
    yield
    assert real.registry.read_bytes() == before


def test_a_session_that_died_is_recorded_once(real: Real) -> None:
    real.start()
    real.say("hello")
    real.bystander()
    real.tmux("kill-session", "-t", "=acme")
    pid = real.row()["pane"]["pid"]
    until("the agent gone", lambda: not alive(pid))
    with unchanged(real):
        assert drifts(run(real, dry_run=True)) == {"acme": "dead"}
    result = run(real)
    assert result.more["tmux_confirmed"] is True
    assert [action["name"] for action in result.as_json()["actions"]] == ["acme"]  # type: ignore[attr-defined]
    row = real.row()
    assert (row["status"], row["termination_mode"], row["resumable"]) == (
        "terminated",
        "lost",
        True,
    )
    assert "stopped_at" not in row
    with unchanged(real):
        assert drifts(run(real)) == {}
    assert real.resume()["live"] == "alive"


def test_all_rows_settle_in_one_run_when_the_server_is_gone(real: Real) -> None:
    for name in ("a", "b", "c"):
        real.start(name)
    pids = [real.row(name)["pane"]["pid"] for name in ("a", "b", "c")]
    real.tmux("kill-server")
    until("all gone", lambda: not any(alive(pid) for pid in pids))
    assert drifts(run(real)) == {"a": "dead", "b": "dead", "c": "dead"}
    assert {row["status"] for row in real.rows().values()} == {"terminated"}
    with unchanged(real):
        assert drifts(run(real)) == {}


def test_an_agent_that_left_its_shell_is_reported_and_left(real: Real) -> None:
    real.start(command=["sh", "-ic", f"{' '.join(DEMO)}; exec sh -i"])
    real.submit("/exit")
    words = Path(f"/proc/{real.pid()}/cmdline")
    until("the shell alone", lambda: words.read_bytes() == b"sh\0-i\0")  # after the exec
    with unchanged(real):
        assert drifts(run(real)) == {"acme": "agent_gone"}
    assert len(real.events("agent_gone")) == 1
    run(real)
    assert len(real.events("agent_gone")) == 1
    assert "acme" in real.sessions()


def test_another_session_of_the_name_is_reported_and_left_alone(real: Real) -> None:
    real.start()
    real.bystander()
    real.tmux("kill-session", "-t", "=acme")
    real.bystander("acme")
    with unchanged(real):
        assert drifts(run(real)) == {"acme": "replaced"}
    assert real.sessions() == {"quiet", "acme"}


def test_an_ended_row_whose_session_is_back_is_reported_as_revived(real: Real) -> None:
    real.start()
    real.stop()
    real.bystander("acme")
    with unchanged(real):
        assert drifts(run(real)) == {"acme": "revived"}


def test_a_session_is_back_also_where_only_the_pane_was_ended(real: Real) -> None:
    """Its own session lives on rightly without that pane; another of its name does not."""
    real.start()
    real.bystander()
    real.tmux("split-window", "-d", "-t", "=acme:", "sleep 600")
    real.stop("acme", scope=Scope.PANE)
    with unchanged(real):
        assert drifts(run(real)) == {}
    real.tmux("kill-session", "-t", "=acme")
    real.bystander("acme")
    with unchanged(real):
        assert drifts(run(real)) == {"acme": "revived"}


def test_an_agent_without_a_row_on_a_named_server_is_reported(real: Real) -> None:
    real.start()
    real.bystander("stray", *DEMO)
    real.bystander("quiet")
    until("the stray agent", lambda: drifts(run(real)) == {"stray": "unregistered"})


def test_a_changed_conversation_is_recorded(real: Real) -> None:
    real.start()
    old = real.row()["demo_conversation_id_own"]
    real.submit("/clear")
    until("the new conversation", lambda: real.session_file()["sessionId"] != old)
    assert drifts(run(real)) == {"acme": "id_changed"}
    assert real.row()["demo_conversation_id_own"] == real.session_file()["sessionId"]
    with unchanged(real):
        assert drifts(run(real)) == {}


def test_processes_that_outlived_the_session_are_no_death(real: Real) -> None:
    real.start("acme", "--ignore", "hup,term")
    pid = real.pid()
    real.bystander()
    real.tmux("kill-session", "-t", "=acme")
    with unchanged(real):
        assert drifts(run(real)) == {"acme": "survivors"}
    assert alive(pid)
    assert real.stop(grace_s=0.1).exit == 0
    assert not alive(pid)


def test_a_mirror_that_fell_behind_is_healed(real: Real) -> None:
    real.start()
    real.registry.write_text(
        real.registry.read_text().replace("agent: demo", "agent: demo # by hand")
    )
    assert drifts(run(real)) == {}
    with contextlib.closing(sqlite3.connect(ledger_path(real.registry))) as ledger:
        assert ledger.execute("SELECT name, status FROM sessions").fetchall() == [
            ("acme", "running")
        ]


def test_tmux_that_cannot_be_asked_says_nothing_of_death(real: Real) -> None:
    real.start()
    socket = real.row()["tmux"]["socket"]
    os.rename(socket, socket + ".away")
    try:
        with unchanged(real):
            result = run(real)
        assert result.more["tmux_confirmed"] is False
        assert (result.exit, result.as_json()["drifts"]) == (4, [])
        assert [warning.partition(": ")[0] for warning in result.warnings] == [
            "could not look at acme"
        ]
        assert list(lines(result, Style())) == [
            "nothing to settle among the sessions that could be looked at"
        ]
    finally:
        os.rename(socket + ".away", socket)


def test_a_row_that_is_being_ended_is_left_to_its_owner(real: Real) -> None:
    real.start()
    real.tmux("kill-session", "-t", "=acme")
    another = real_processes().identify(os.getppid())
    assert another is not None
    intend(real, another)
    with unchanged(real):
        assert drifts(run(real)) == {}


def test_a_stop_of_a_dead_owner_keeps_its_reason(real: Real) -> None:
    real.start()
    pid = real.pid()
    real.tmux("kill-session", "-t", "=acme")
    until("the agent gone", lambda: not alive(pid))
    intend(real, ProcessId(999_999, 1))
    assert drifts(run(real)) == {"acme": "dead"}
    row = real.row()
    assert (row["status"], row["stop_reason"], row["termination_mode"]) == (
        "stopped",
        "night",
        "graceful",
    )


@pytest.mark.parametrize("status", ["running", "stopped"])
def test_an_interrupted_purge_that_had_deleted_the_conversation_is_a_purge(
    real: Real, status: str
) -> None:
    real.start()
    real.say("hello")
    if status == "running":
        pid = real.pid()
        real.tmux("kill-session", "-t", "=acme")
        until("the agent gone", lambda: not alive(pid))
    else:
        assert answer(real.stop())["outcome"] == "stopped"
    intend(real, ProcessId(999_999, 1), '{"purge": true}')
    for path in (real.store / "conversations").iterdir():
        path.unlink()
    run(real)
    row = real.row()
    assert (row["status"], row["termination_mode"], row["resumable"]) == (
        "terminated",
        "purge",
        False,
    )
    assert drifts(run(real)) == {}


def test_an_interrupted_purge_that_had_deleted_nothing_is_a_stop(real: Real) -> None:
    real.start()
    real.say("hello")
    assert answer(real.stop())["resumable"] is True
    intend(real, ProcessId(999_999, 1), '{"purge": true}')
    run(real)
    assert (real.row()["status"], real.row()["resumable"]) == ("stopped", True)


def intend(real: Real, owner: ProcessId, plan: str = "{}") -> None:
    with Ledger.open(ledger_path(real.registry), now=1.0) as ledger:
        new = NewIntent("acme", "stop", "night", "agent", owner, boot_id(), 9e9, (), plan)
        ledger.begin_intent(new, owner_alive=lambda _: True, take_over=False, now=1.0)
