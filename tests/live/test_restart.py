"""Restarts by `watch`, on real tmux: back with the conversation after a crash, never after a
deliberate end, never twice."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.ledger_records import Ledger
from tests.live.test_watch import Watch, watching
from tests.real import DEMO, Real, alive, until
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.ledger.database import ledger_path

pytestmark = pytest.mark.live
RESTARTED = ["started", "dead", "restarting", "resumed"]


def begun(real: Real, name: str = "acme", restart: str = "on-failure", **more: Any) -> int:
    """Start a session with a resumable conversation."""
    real.start(name, restart=restart, **more)
    real.say(f"this is {name}", name)
    return real.pid(name)


def kinds(real: Real, name: str = "acme") -> list[str]:
    with Ledger.open(ledger_path(real.registry), now=time.time()) as ledger:
        beside = ("state", "id_changed")
        return [event.kind for event in ledger.events({name}) if event.kind not in beside]


def runs(real: Real, name: str = "acme") -> bool:
    return real.row(name)["status"] == "running"


def come_back(watch: Watch, *names: str) -> None:
    """Wait until each has restarted once, ignoring other events."""
    awaited = set(names or ("acme",))
    while awaited:
        event = watch.event()
        if event["event"] == "restarted":
            awaited.remove(event["name"])


def crash(real: Real, watch: Watch, name: str = "acme") -> None:
    os.kill(real.pid(name), signal.SIGKILL)
    watch.first("dead")  # now in the registry


def test_a_crashed_session_returns_with_its_conversation(real: Real) -> None:
    real.bystander()
    begun(real)
    before = real.session_file()["sessionId"]
    with watching(real, "--interval", "1h") as watch:
        crash(real, watch)
        event = watch.first("restarted")
        assert (event["name"], event["attempt"]) == ("acme", 1)
    assert runs(real)
    real.shows("acme", "You said: this is acme")
    assert real.session_file()["sessionId"] == before
    assert kinds(real) == RESTARTED
    assert "termination_mode" not in real.row()
    assert real.said().count(("user", "this is acme")) == 1


def test_the_end_of_the_agents_shell_is_a_loss_too(real: Real) -> None:
    real.bystander()
    shell = begun(real, command=["sh", "-ic", f"{' '.join(DEMO)}; exec sh -i"])
    with watching(real, "--interval", "1h") as watch:
        os.kill(shell, signal.SIGKILL)
        come_back(watch)
    real.shows("acme", "You said: this is acme")
    assert kinds(real) == RESTARTED


def test_a_tmux_that_is_killed_comes_back_with_all_of_its_sessions(
    real: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_STARTER", "kept")
    for name in ("a", "b"):
        begun(real, name)
    monkeypatch.delenv("OF_THE_STARTER")
    monkeypatch.setenv("OF_THE_WATCH", "never")
    with watching(real, "--interval", "1h") as watch:
        os.kill(int(real.ask("a", "#{pid}")), signal.SIGKILL)
        come_back(watch, "a", "b")
    for name in ("a", "b"):
        real.shows(name, f"You said: this is {name}")
        assert kinds(real, name) == RESTARTED
        environ = Path(f"/proc/{real.pid(name)}/environ").read_bytes().split(b"\0")
        assert b"OF_THE_STARTER=kept" in environ
        assert not [word for word in environ if word.startswith(b"OF_THE_WATCH")]
    assert "OF_THE_WATCH" not in real.tmux("show-environment", "-g")


def test_variables_that_tmux_updates_are_the_sessions_own(
    real: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`update-environment`: these come from the process that creates the session."""
    monkeypatch.setenv("SSH_AUTH_SOCK", "/its/agent")
    real.bystander()
    begun(real)
    monkeypatch.setenv("SSH_AUTH_SOCK", "/the/watch")
    with watching(real, "--interval", "1h") as watch:
        crash(real, watch)
        come_back(watch)
    assert real.tmux("show-environment", "-t", "=acme", "SSH_AUTH_SOCK") == (
        "SSH_AUTH_SOCK=/its/agent"
    )


def test_a_session_is_back_after_a_reboot(real: Real) -> None:
    begun(real)
    boot = real.row()["tmux"]["boot_id"]
    os.kill(int(real.ask("acme", "#{pid}")), signal.SIGKILL)
    until("the server gone", lambda: real.sessions() == set())
    earlier = "00000000-0000-4000-8000-000000000000"
    real.edit(boot, earlier)
    with contextlib.closing(sqlite3.connect(ledger_path(real.registry))) as db, db:
        db.execute("UPDATE events SET data = replace(data, ?, ?)", (boot, earlier))
    with watching(real, "--interval", "1h") as watch:
        come_back(watch)
    assert real.events("dead")[0]["cause"] == "the machine was rebooted"
    real.shows("acme", "You said: this is acme")


def test_an_agent_that_a_person_ended_comes_back_only_with_always(real: Real) -> None:
    begun(real, "left")
    begun(real, "kept", restart="always")
    with watching(real, "--interval", "1h") as watch:
        for name in ("left", "kept"):
            real.submit("/exit", name)
        come_back(watch, "kept")
        assert kinds(real, "left") == ["started", "dead"]


def test_a_registry_that_came_from_elsewhere_runs_nothing(real: Real) -> None:
    """A repository may bring a registry, with a lost row and a command of its author."""
    real.bystander()
    began = real.folder / "began"
    real.registry.write_text(f"""\
tmux_sessions:
  - name: theirs
    status: terminated
    termination_mode: lost
    terminated_at_epoch: 1600000000
    restart: always
    start_command: "touch {began}"
    tmux_server: {real.socket}
    pane: {{pid: 4194301, cmd: sh, cwd: {real.folder}}}
""")
    with watching(real, "--interval", "1") as watch:
        event = watch.first("restart_given_up")
        assert (event["name"], event["hint"]) == ("theirs", "tmuxreap resume theirs")
        watch.rests()
    assert not began.exists()
    assert real.events("restarting") == []


def test_the_command_that_is_run_again_is_that_of_the_start(real: Real) -> None:
    real.bystander()
    began = real.folder / "began"
    real.start(restart="always")  # without a message: its command is run again
    real.edit(f"start_command: {' '.join(DEMO)}", f"start_command: touch {began}")
    with watching(real, "--interval", "1h") as watch:
        crash(real, watch)
        come_back(watch)
    real.shows("acme", "demo agent · conversation")
    assert not began.exists()


def test_a_ledger_that_came_from_elsewhere_runs_nothing(real: Real) -> None:
    real.bystander()
    began = real.folder / "began"
    real.start(restart="always")
    real.edit(f"start_command: {' '.join(DEMO)}", f"start_command: touch {began}")
    real.adopt()
    with contextlib.closing(sqlite3.connect(ledger_path(real.registry))) as db, db:
        theirs = "json_set(data, '$.user', 'another')"
        db.execute(f"UPDATE events SET data = {theirs} WHERE kind = 'adopted'")
    with watching(real, "--interval", "1h") as watch:
        crash(real, watch)
        watch.first("restart_given_up")
    assert not began.exists()


def test_a_session_whose_task_is_done_is_not_restarted(real: Real) -> None:
    real.bystander()
    begun(real, task_id="T-1")
    with contextlib.closing(sqlite3.connect(ledger_path(real.registry))) as db, db:
        db.execute("INSERT INTO orchestrator_task (task_id, status) VALUES ('T-1', 'completed')")
    with watching(real, "--interval", "1h") as watch:
        crash(real, watch)
        event = watch.first("restart_given_up")
    assert "its task T-1 is completed" in event["evidence"]
    assert real.events("restarting") == []


def test_the_last_agent_that_exits_with_its_server_is_not_restarted(real: Real) -> None:
    begun(real)
    with watching(real, "--interval", "1h") as watch:
        real.submit("/exit")
        assert watch.first("dead")["cause"] in ("exit status 0", None)
        watch.switches(after_s=1.5)
        assert watch.quiet()


def test_a_stop_cancels_a_pending_restart(real: Real) -> None:
    real.bystander()
    begun(real)
    with watching(real, "--interval", "1h") as watch:
        crash(real, watch)
        watch.process.send_signal(signal.SIGSTOP)  # or its restart starts, on a busy machine
        before = real.registry.read_bytes()
        (told,) = real.stop().results
        watch.process.send_signal(signal.SIGCONT)
        assert told.as_json()["outcome"] == "already_stopped"
        assert real.registry.read_bytes() == before
        watch.switches(after_s=2.0)
        assert watch.quiet()
    assert kinds(real) == ["started", "dead", "restart_cancelled"]
    assert real.sessions() == {"quiet"}


@pytest.mark.parametrize("after_s", [0.0, 0.15, 0.3, 0.6, 1.1, 1.6])
def test_a_stop_at_any_moment_of_a_restart_leaves_it_ended(real: Real, after_s: float) -> None:
    """The pause is over, its process starts, the session is created, confirmed, recorded."""
    real.bystander()
    begun(real)
    with watching(real, "--interval", "1h") as watch:
        crash(real, watch)
        time.sleep(0.9 + after_s)
        (told,) = real.stop().results
        assert told.error is None, told
        watch.switches(after_s=2.5)
        assert not runs(real)
        assert real.sessions() == {"quiet"}
    assert kinds(real).count("dead") == 1


def test_two_watches_bring_a_session_back_once(real: Real) -> None:
    real.bystander()
    begun(real)
    with watching(real, "--interval", "1h") as one, watching(real, "--interval", "1h") as two:
        os.kill(real.pid(), signal.SIGKILL)
        until("back", lambda: "resumed" in kinds(real))
        one.switches(after_s=2.5)
        two.switches()
    assert kinds(real) == RESTARTED
    assert len([name for name in real.sessions() if name == "acme"]) == 1


def test_a_watch_that_is_killed_leaves_its_work_to_the_next(real: Real) -> None:
    real.bystander()
    begun(real)
    watch = Watch(real, "--interval", "1h")
    os.kill(real.pid(), signal.SIGKILL)
    until("the end in the ledger", lambda: "dead" in kinds(real))
    watch.process.kill()
    watch.process.communicate()
    with watching(real, "--interval", "1h") as other:
        come_back(other)
    assert kinds(real) == RESTARTED


def test_a_crash_loop_is_given_up_and_costs_nothing(real: Real) -> None:
    """Its conversation exists, but what resumes it dies at once."""
    real.bystander()
    begun(real, restart_limit="2/10m")
    broken = f"{sys.executable} -m tmuxreap.demo_agent --broken"
    real.edit(f"start_command: {' '.join(DEMO)}", f"start_command: {broken}")
    real.adopt()  # its command is recorded anew
    with watching(real, "--interval", "1h") as watch:
        crash(real, watch)
        for _ in range(2):
            watch.first("restart_failed")
        assert watch.first("restart_given_up")["hint"] == "tmuxreap resume acme"
        watch.rests()
        assert watch.switches() == watch.switches(after_s=1.0)
    assert kinds(real)[-1] == "restart_given_up"
    assert not alive(int(real.row()["pane"]["pid"]))


def test_a_ledger_that_is_locked_holds_up_restarts_and_nothing_else(real: Real) -> None:
    real.bystander()
    begun(real)
    with watching(real, "--interval", "1") as watch:
        db = sqlite3.connect(ledger_path(real.registry), isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        os.kill(real.pid(), signal.SIGKILL)
        until("the end in the registry", lambda: not runs(real))
        watch.first("ledger_not_written")
        assert real.sessions() == {"quiet"}
        db.execute("ROLLBACK")
        db.close()
        come_back(watch)
    assert runs(real)


def test_a_ledger_that_is_gone_leaves_it_to_a_person(real: Real) -> None:
    """Whether its restart was cancelled is no longer known."""
    real.bystander()
    begun(real)
    os.kill(real.pid(), signal.SIGKILL)
    until("gone", lambda: real.sessions() == {"quiet"})
    with real.app() as app:
        reconcile.run(app)
    real.stop()  # cancels it
    for file in real.folder.glob("*.db*"):
        file.unlink()
    with watching(real, "--interval", "1h") as watch:
        event = watch.first("restart_given_up")
        assert event["hint"] == "tmuxreap resume acme"
        assert "the ledger has no start" in event["evidence"]
    assert not runs(real)
