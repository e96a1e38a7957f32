"""Sessions that an agent's own daemon runs: listed, adopted, ended by the agent's own command, and
proven by its own list."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import stub_daemon
from tests.background import ONE, TWO, Daemon, said, told_as
from tests.real import Real, alive, answer, until
from tmuxreap.commands import adopt, attach, interrupt, resume
from tmuxreap.commands import list as listing
from tmuxreap.commands.reap import reap
from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.model import EndVerb
from tmuxreap.core.results import Result
from tmuxreap.ending.policy import Policy

pytestmark = pytest.mark.live
LONG_S = 60.0  # a limit: the end of the agent comes sooner


@pytest.fixture
def daemon(real: Real) -> Iterator[Daemon]:
    found = Daemon(real)
    yield found
    found.close()


def adopted(real: Real, seat: str = "demo:w1", name: str = "acme") -> dict[str, Any]:
    with real.app() as app:
        return answer(adopt.run(app, adopt.AdoptRequest(name, background=seat)))


def listed(real: Real, *targets: str, tree: bool = False) -> Result:
    with real.app() as app:
        return listing.run(app, listing.ListRequest(targets, tree=tree))


def test_an_unregistered_background_session_is_listed_with_the_command_that_adopts_it(
    real: Real, daemon: Daemon
) -> None:
    daemon.begin()
    (told,) = listed(real).more["unregistered"]
    command = "tmuxreap adopt demo-w1 --background demo:w1"
    assert told == {"name": "demo-w1", "agent": "demo", "command": command}


def test_a_process_in_reserve_is_no_session(real: Real, daemon: Daemon) -> None:
    daemon.begin(source="spare")
    assert listed(real).more["unregistered"] == []


def test_a_background_session_is_adopted_and_listed_with_its_state(
    real: Real, daemon: Daemon
) -> None:
    said(real)
    pid = daemon.begin(status="waiting", asks="may I?")
    adopted(real)
    row = real.row()
    assert (row["terminal"], row["pane"]["id"], row["pane"]["pid"]) == ("background", "w1", pid)
    assert row["demo_conversation_id_own"] == ONE
    (one,) = real.list()
    assert (one["live"], one["state"], one["seat"]) == ("alive", "waiting", "demo:w1")
    assert (one["waiting_for"], one["conversation_id"]) == ("may I?", ONE)
    assert listed(real).more["unregistered"] == []


def test_adopt_all_takes_the_background_sessions_of_this_folder(real: Real, daemon: Daemon) -> None:
    daemon.begin("w1")
    daemon.begin("w2", own=TWO, cwd="/")
    with real.app() as app:
        app.settings = type(app.settings)(
            app.settings.environ, real.folder, os.getuid(), os.getpid(), app.settings.platform
        )
        adopt.run_all(app, adopt.AdoptAllRequest(yes=True))
    assert list(real.rows()) == ["demo-w1"]


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_a_background_session_is_ended_by_its_own_command_and_stays_gone(
    real: Real, daemon: Daemon, verb: str
) -> None:
    said(real)
    pid = daemon.begin()
    adopted(real)
    result = answer(real.stop() if verb == "stop" else real.kill())
    assert (result["error"], result["stopped_by"]) == (None, "daemon")
    assert [rung["name"] for rung in result["rungs"] if rung["enough"]] == ["daemon"]
    assert (result["conversation"]["id"], result["resumable"]) == (ONE, True)
    assert (alive(pid), daemon.told(), daemon.process.poll()) == (False, [], None)
    assert real.row()["status"] == "stopped"
    assert answer(real.stop())["outcome"] == "already_stopped"


def test_a_session_that_its_daemon_keeps_is_not_called_gone(real: Real, daemon: Daemon) -> None:
    """Nor is it signalled: the daemon would bring it back."""
    pid = daemon.begin()
    daemon.mode(deaf=True)
    adopted(real)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tmuxreap.ending.plan.DAEMON_WAIT_S", 0.5)
        result = answer(real.stop())
    assert (result["outcome"], result["error"]["code"]) == ("survived", "still_running")
    assert (alive(pid), real.row()["status"]) == (True, "running")
    assert "stop w1" in result["error"]["hint"]


def test_a_session_that_comes_back_is_reported_as_respawned(real: Real, daemon: Daemon) -> None:
    told_as(respawn_s=5)
    daemon.begin()
    daemon.mode(revives=0.5)
    adopted(real)
    result = answer(real.stop())
    assert (result["outcome"], result["error"]["code"]) == ("survived", "respawned")
    assert real.row()["status"] == "running"


def test_an_end_whose_list_is_lost_meanwhile_is_not_proven(real: Real, daemon: Daemon) -> None:
    told_as(respawn_s=2)
    daemon.begin()
    adopted(real)

    def lose_the_list() -> None:
        until("its end", lambda: daemon.pid() is None)
        time.sleep(0.8)
        daemon.process.send_signal(signal.SIGSTOP)
        (daemon.store / "roster.json").write_text("{")

    losing = threading.Thread(target=lose_the_list)
    losing.start()
    result = answer(real.stop())
    losing.join()
    assert (result["outcome"], result["error"]["code"]) == ("failed", "tmux_unreachable")
    assert real.row()["status"] == "running"


def test_a_background_session_is_followed_to_another_process(real: Real, daemon: Daemon) -> None:
    """Its daemon brought it back."""
    pid = daemon.begin()
    adopted(real)
    os.kill(pid, signal.SIGKILL)
    until("its new process", lambda: daemon.pid() not in (None, pid))
    (one,) = real.list()
    assert (one["live"], one["pid"], one["drift"]) == ("alive", daemon.pid(), None)
    assert answer(real.stop())["error"] is None


def test_a_session_between_two_processes_is_not_gone(real: Real, daemon: Daemon) -> None:
    pid = daemon.begin()
    adopted(real)
    daemon.mode(respawn_s=60)
    os.kill(pid, signal.SIGKILL)
    until("its end", lambda: not alive(pid))
    (one,) = real.list()
    assert (one["live"], one["state"]) == ("alive", "unknown")
    result = answer(real.stop())
    assert (result["error"], result["stopped_by"], daemon.told()) == (None, "daemon", [])


def test_without_its_daemon_a_session_is_a_process_like_any_other(
    real: Real, daemon: Daemon
) -> None:
    told_as(end=["false"])
    pid = daemon.begin()
    adopted(real)
    daemon.kill()
    result = answer(real.stop())
    assert (result["error"], result["stopped_by"]) == (None, "sigterm")
    assert not alive(pid)


def test_a_list_that_cannot_be_read_is_unknown(real: Real, daemon: Daemon) -> None:
    daemon.begin()
    adopted(real)
    daemon.process.send_signal(signal.SIGSTOP)
    text = (daemon.store / "roster.json").read_text()
    (daemon.store / "roster.json").write_text(text[:20])
    assert real.list()[0]["live"] == "unknown"
    assert answer(real.stop())["error"]["code"] == "tmux_unreachable"
    (daemon.store / "roster.json").write_text(text)


def test_a_session_that_ended_by_itself_is_found_dead(real: Real, daemon: Daemon) -> None:
    said(real)
    pid = daemon.begin()
    adopted(real)
    (daemon.store / "wanted.json").write_text("{}")
    os.kill(pid, signal.SIGKILL)
    until("its end", lambda: "w1" not in daemon.list()["workers"])
    with real.app() as app:
        drifts = reconcile.run(app).as_json()["drifts"]
    assert [(it["name"], it["drift"]) for it in drifts] == [("acme", "dead")]
    assert (real.row()["status"], real.row()["resumable"]) == ("terminated", True)


# Shown, and taken up


def test_attach_shows_a_background_session_by_its_own_command(real: Real, daemon: Daemon) -> None:
    daemon.begin()
    adopted(real)
    with real.app() as app:
        words = attach.run(app, "acme")
    assert words is not None
    assert words[-2:] == ("attach", "w1")


def test_an_ended_background_session_is_resumed_in_tmux(real: Real, daemon: Daemon) -> None:
    said(real)
    daemon.begin(flags=["--plain"])
    adopted(real)
    error = real.resume()["error"]
    assert error["code"] == "session_exists"
    answer(real.stop())
    assert "--plain" in str(real.row()["start_command"])
    with real.app() as app:
        app.defaults = {"server": real.socket}
    real.edit("name: acme\n", f"name: acme\n    tmux_server: {real.socket}\n")
    resumed = real.resume()
    assert (resumed.get("error"), resumed["conversation_id"]) == (None, ONE)
    assert (real.row()["terminal"], real.row()["status"]) == ("tmux", "running")
    assert answer(real.stop())["stopped_by"] == "exit_keys"


# A conversation that its agent took along, and left the pane


def left(real: Real, daemon: Daemon, *, says_more: bool = True) -> int:
    """Let the agent take its conversation to its daemon, and leave. Return its process there. What
    it takes along is on disk once something more is said in it."""
    real.start()
    real.say("hello")
    old = real.session_file()["sessionId"]
    path = real.store / "conversations" / f"{old}.jsonl"
    if says_more:
        said(real, TWO)
    with path.open("a") as file:
        file.write(json.dumps({"continued": TWO}) + "\n")
    pid = daemon.begin(own=TWO, took=str(path))
    real.keys("acme", "C-u")
    real.submit("/exit")
    until("the end of the pane", lambda: "acme" not in real.sessions())
    return pid


def test_a_row_follows_its_conversation_into_the_daemon(real: Real, daemon: Daemon) -> None:
    pid = left(real, daemon)
    (one,) = real.list()
    assert (one["live"], one["drift"], one["seat"]) == ("alive", "moved", "demo:w1")
    assert listed(real).more["unregistered"] == []
    with real.app() as app:
        drifts = reconcile.run(app).as_json()["drifts"]
    assert [(it["name"], it["drift"], it["settled"]) for it in drifts] == [("acme", "moved", True)]
    row = real.row()
    assert (row["terminal"], row["pane"]["id"], row["pane"]["pid"]) == ("background", "w1", pid)
    assert (row["demo_conversation_id_own"], row["status"]) == (TWO, "running")
    (one,) = real.list()
    assert (one["live"], one["drift"]) == ("alive", None)
    assert (answer(real.stop())["stopped_by"], alive(pid)) == ("daemon", False)
    assert real.resume()["conversation_id"] == TWO


def test_a_stop_ends_what_went_into_the_daemon(real: Real, daemon: Daemon) -> None:
    pid = left(real, daemon)
    result = answer(real.stop())
    assert (result["error"], result["stopped_by"], alive(pid)) == (None, "daemon", False)
    assert (result["conversation"]["id"], result["resumable"]) == (TWO, True)
    assert real.row()["demo_conversation_id_own"] == TWO


@pytest.mark.parametrize("is_recorded", [False, True])
def test_an_empty_copy_leaves_the_conversation_that_it_was(
    real: Real, daemon: Daemon, *, is_recorded: bool
) -> None:
    """The copy has no file, and ends with its session: all that was said is in the first one."""
    pid = left(real, daemon, says_more=False)
    old = str(real.row()["demo_conversation_id_own"])
    if is_recorded:
        with real.app() as app:
            reconcile.run(app)
        assert real.row()["demo_conversation_id_own"] == TWO
    result = answer(real.stop())
    assert (result["stopped_by"], alive(pid)) == ("daemon", False)
    assert (result["conversation"]["id"], result["resumable"]) == (old, True)
    assert (real.row()["demo_conversation_id_own"], real.row()["resumable"]) == (old, True)
    assert real.resume()["conversation_id"] == old


def test_a_session_that_runs_again_after_its_end_is_revived(real: Real, daemon: Daemon) -> None:
    said(real)
    daemon.begin()
    adopted(real)
    assert answer(real.stop())["error"] is None
    (daemon.store / "jobs" / "w1" / "state.json").unlink()
    pid = daemon.begin()
    assert real.list()[0]["drift"] == "revived"
    assert real.resume()["error"]["code"] == "session_exists"
    assert (answer(real.stop())["stopped_by"], alive(pid)) == ("daemon", False)


def test_a_process_of_a_background_session_is_adopted_as_what_it_is(
    real: Real, daemon: Daemon
) -> None:
    pid = daemon.begin()
    with real.app() as app:
        request = adopt.AdoptRequest("acme", "demo", pid=pid)
        refused = real.fails(lambda: adopt.run(app, request))
    assert refused.hint == "tmuxreap adopt acme --background demo:w1"


# What stays as it is


def test_reap_names_what_outlives_its_parent_and_ends_none(real: Real, daemon: Daemon) -> None:
    real.start()
    pid = daemon.begin(own=TWO, launched_by=real.session_file()["sessionId"])
    real.say("hello")
    answer(real.stop())
    policy = Policy(EndVerb.STOP, "reaped")
    request = reap.ReapRequest(kinds=(Kind.ORPHAN,), policy=policy, yes=True)
    with real.app() as app:
        result = reap.run(app, request)
    kept = [(one.name, one.why) for one in result.more["kept"]]
    assert kept == [("acme/w1", "made to outlive; to end it: tmuxreap stop acme/w1")]
    assert alive(pid)


def test_a_plan_does_not_warn_of_the_session_itself(real: Real, daemon: Daemon) -> None:
    daemon.begin()
    adopted(real)
    planned = answer(real.stop(dry_run=True))
    assert (planned["outcome"], planned["warnings"]) == ("planned", [])
    assert [rung["name"] for rung in planned["plan"]["rungs"]] == ["daemon", "term", "kill"]
    assert daemon.told() == ["w1"]


def test_several_background_sessions_are_ended_at_the_same_time(real: Real, daemon: Daemon) -> None:
    daemon.mode(slow_s=2.0)
    for number in ("w1", "w2", "w3"):
        daemon.begin(number, own=f"{number[1]}{ONE[1:]}")
        adopted(real, f"demo:{number}", number)
    items = real.stop("w1", "w2", "w3").as_json()["results"]
    assert [it["error"] for it in items] == [None] * 3
    assert max(it["rungs"][0]["waited_ms"] for it in items) < 3 * 2000
    assert daemon.told() == []


def test_a_turn_that_no_command_ends_is_refused_with_the_way_to_it(
    real: Real, daemon: Daemon
) -> None:
    """No key goes to it."""
    daemon.begin(status="busy")
    adopted(real)
    with real.app() as app:
        (item,) = interrupt.run(app, interrupt.InterruptRequest(("acme",))).results
    assert item.error is not None
    assert item.error.code == "not_interruptible"
    assert "no command that ends only its turn" in item.error.message
    assert item.error.hint.endswith("tmuxreap attach acme")
    assert daemon.told() == ["w1"]


def test_an_interrupt_names_the_children_that_continue(real: Real, daemon: Daemon) -> None:
    real.start()
    pid = daemon.begin(own=TWO, launched_by=real.session_file()["sessionId"])
    with real.app() as app:
        item = answer(interrupt.run(app, interrupt.InterruptRequest(("acme",))))
    (warning,) = item["warnings"]
    assert warning.startswith("children_running: it launched the background session w1")
    assert warning.endswith("end it with: tmuxreap stop acme/w1")
    assert alive(pid)


# An entry that is none any more


def test_a_stopped_session_that_stays_in_the_list_has_ended(real: Real, daemon: Daemon) -> None:
    pid = daemon.begin()
    adopted(real)
    daemon.mode(respawn_s=600)
    stub_daemon.write(daemon.store / "jobs" / "w1" / "state.json", {"state": "stopped"})
    os.kill(pid, signal.SIGKILL)
    until("its end", lambda: not alive(pid))
    assert "w1" in daemon.list()["workers"]
    (one,) = real.list()
    assert (one["live"], one["drift"]) == ("gone", "dead")
    assert answer(real.stop())["stopped_by"] == "already_gone"


def test_an_entry_that_names_no_process_runs_nothing(real: Real, daemon: Daemon) -> None:
    pid = daemon.begin()
    adopted(real)
    daemon.process.send_signal(signal.SIGSTOP)
    listed_now = daemon.list()
    listed_now["workers"]["w1"].update(pid=None, start=None, agent=None, agent_start=None)
    stub_daemon.write(daemon.store / "roster.json", listed_now)
    assert real.list()[0]["live"] == "gone"
    os.kill(pid, signal.SIGKILL)


def test_a_zombie_is_not_taken_for_the_sessions_process(real: Real, daemon: Daemon) -> None:
    pid = daemon.begin()
    adopted(real)
    daemon.kill()
    os.kill(pid, signal.SIGKILL)
    zombie = subprocess.Popen(["sleep", "600"])
    started = stub_daemon.start_of(zombie.pid)
    zombie.send_signal(signal.SIGKILL)
    until("its death", lambda: not alive(zombie.pid))
    listed_now = daemon.list()
    listed_now["workers"]["w1"].update(pid=zombie.pid, start=started, agent=zombie.pid)
    stub_daemon.write(daemon.store / "roster.json", listed_now)
    assert real.list()[0]["live"] == "gone"
    assert answer(real.stop())["stopped_by"] == "already_gone"
    zombie.wait()


def test_a_resume_that_the_agent_refuses_is_a_failure_with_its_words(
    real: Real, daemon: Daemon
) -> None:
    said(real)
    daemon.begin()
    adopted(real)
    answer(real.stop())
    file = Path(os.environ["XDG_CONFIG_HOME"], "tmuxreap", "agents.yaml")
    told = json.loads(file.read_text())
    told["agents"]["demo"]["resume"] = ["--no-such-flag", "{id}"]
    file.write_text(json.dumps(told))
    with real.app() as app:
        request = resume.ResumeRequest(("acme",), confirm_s=LONG_S)
        (item,) = resume.run(app, request).results
    assert item.error is not None
    assert item.error.code == "start_failed"
    assert "--no-such-flag" in item.error.message
    assert real.row()["status"] == "stopped"


def test_a_look_starts_no_daemon(real: Real, daemon: Daemon) -> None:
    pid = daemon.begin()
    adopted(real)
    daemon.kill()
    os.kill(pid, signal.SIGKILL)
    until("its end", lambda: daemon.pid() is None)
    assert real.list()[0]["live"] == "gone"
    real.show()
    assert daemon.list()["daemon"] == daemon.process.pid


def test_a_session_with_an_unknown_state_is_alive(real: Real, daemon: Daemon) -> None:
    daemon.begin(status="pondering")
    adopted(real)
    (one,) = real.list()
    assert (one["live"], one["state"]) == ("alive", "unknown")


def test_a_session_of_another_store_is_not_found(real: Real, daemon: Daemon) -> None:
    daemon.begin()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(real.folder))
        assert listed(real).more["unregistered"] == []
        failure = real.fails(lambda: adopted(real))
    assert failure.code.text == "session_not_registered"
