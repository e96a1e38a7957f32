"""Start, adopt and resume with real tmux: live sessions are recorded, failed starts leave
nothing."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import GUARD, marked
from tests.real import DEMO, PATIENCE_S, Real, alive, answer, until
from tmuxreap.commands import adopt, resume
from tmuxreap.core.errors import Failure

pytestmark = pytest.mark.live


def start_fails(real: Real, command: Sequence[str], **more: object) -> Failure:
    return real.fails(lambda: real.start(command=command, **more))


def nothing_is_left(real: Real) -> None:
    assert real.rows() == {}
    assert real.sessions() == set()
    until("the end of all of it", lambda: marked(os.environ[GUARD]) == {})


def test_a_start_records_these_fields(real: Real) -> None:
    begun = real.start(tags=("red",), task_id="T-1", ttl="2h")
    row = real.row()
    assert (begun["status"], begun["live"], begun["agent"]) == ("running", "alive", "demo")
    assert row["pane"]["pid"] == real.pid() == begun["pid"]
    assert (row["tags"], row["task_id"], row["ttl"]) == (["red"], "T-1", "2h")
    assert row["start_command"] == shlex.join(DEMO)
    assert row["conversation_source"] == "launch"
    assert row["demo_conversation_id_own"] == real.session_file()["sessionId"]
    assert row["tmux"]["session_id"] == real.ask("acme", "#{session_id}")
    environ = Path(f"/proc/{real.pid()}/environ").read_bytes().split(b"\0")
    assert f"TMUXREAP_REGISTRY={real.registry}".encode() in environ
    assert any(word.startswith(b"TMUXREAP_ID=") for word in environ)
    assert real.tmux("show-options", "-p", "-t", "=acme:") == ""


def test_a_command_that_exits_at_once_is_a_failed_start(real: Real) -> None:
    """Once its arguments are read: tmux 3.3a drops those that it reads after their sender's
    death."""
    read = 'until tmux capture-pane -p -t "$TMUX_PANE" | grep -q licence; do :; done'
    failure = start_fails(
        real, ["sh", "-c", f"echo no licence for you; {read}; exit 3"], confirm_s=PATIENCE_S
    )
    assert failure.code.text == "start_failed"
    assert "no licence for you" in failure.message
    nothing_is_left(real)


def test_a_missing_command_is_a_failed_start(real: Real) -> None:
    failure = start_fails(real, ["no-such-agent-anywhere", "--flag"], confirm_s=PATIENCE_S)
    assert failure.code.text == "start_failed"
    nothing_is_left(real)


def test_another_program_than_the_agent_is_a_failed_start(real: Real) -> None:
    line = "echo I am somebody else; trap '' HUP TERM; setsid sleep 600 & sleep 600"
    failure = start_fails(real, ["sh", "-c", line], confirm_s=0.3)
    assert failure.code.text == "start_failed"
    assert "no demo was recognised" in failure.message
    assert "I am somebody else" in failure.message
    nothing_is_left(real)


def test_a_failed_start_keeps_the_ended_row_as_it_was(real: Real) -> None:
    real.start()
    real.say("hello")
    real.stop()
    before = real.registry.read_bytes()
    assert start_fails(real, ["false", "x"], confirm_s=5.0).code.text == "start_failed"
    assert real.registry.read_bytes() == before
    assert real.sessions() == set()


def test_a_session_that_is_alive_is_not_started_twice(real: Real) -> None:
    real.start()
    pid, before = real.pid(), real.registry.read_bytes()
    assert real.fails(real.start).code.text == "session_exists"
    assert alive(pid)
    assert real.registry.read_bytes() == before


def test_a_stranger_of_that_name_is_not_taken_for_it(real: Real) -> None:
    stranger = real.bystander("acme")
    assert real.fails(real.start).code.text == "session_exists"
    assert alive(stranger)
    assert real.rows() == {}


def test_replace_ends_the_first_by_the_ladder(real: Real) -> None:
    real.start()
    real.say("hello")
    first, old = real.pid(), real.row()["demo_conversation_id_own"]
    begun = real.start(replace=True)
    assert not alive(first)
    assert begun["pid"] == real.pid() != first
    row = real.row()
    assert (row["status"], row["demo_conversation_id_own"] != old) == ("running", True)
    assert [event["reason"] for event in real.events("stopped")] == ["replaced"]


def test_replace_ends_a_stranger_of_that_name(real: Real) -> None:
    stranger = real.bystander("acme")
    real.start(replace=True)
    assert not alive(stranger)
    assert real.row()["pane"]["pid"] == real.pid()


def test_an_ended_row_runs_again_and_its_old_conversation_goes_to_the_events(real: Real) -> None:
    real.start("acme", "--exit-delay", "0.05", tags=("red",))
    old = real.row()["demo_conversation_id_own"]
    real.say("hello")
    real.stop()
    assert real.row()["resumable"] is True
    real.start(command=())
    row = real.row()
    assert row["status"] == "running"
    assert row["demo_conversation_id_own"] not in (None, old)
    assert row["tags"] == ["red"]
    assert {"stopped_at", "stopped_at_epoch", "stop_reason", "stopped_by", "resumable"} & set(
        row
    ) == set()
    assert [event["conversation_before"] for event in real.events("started")] == [None, old]


def test_without_a_command_the_rows_own_is_run(real: Real) -> None:
    real.start("acme", "--exit-delay", "0.05")
    real.stop()
    with real.app() as app:
        from tmuxreap.commands import start

        start.run(app, start.StartRequest("acme", confirm_s=0.02))
    real.shows("acme", "demo agent · conversation")
    argv = Path(f"/proc/{real.pid()}/cmdline").read_text().split("\0")
    assert argv[1:5] == ["-m", "tmuxreap.demo_agent", "--exit-delay", "0.05"]


def test_a_resume_of_a_living_session_is_refused(real: Real) -> None:
    real.start()
    real.say("hello")
    real.stop()
    stranger = real.bystander("acme")
    item = real.resume()
    assert item["error"]["code"] == "session_exists"
    assert alive(stranger)


def test_resume_prints_what_it_would_do(real: Real) -> None:
    real.start("acme", "--exit-delay", "0.05")
    real.say("hello")
    stopped = answer(real.stop())
    printed = real.resume(print_only=True)
    command = printed["command"]
    assert command == stopped["resume_command"]
    assert f"--exit-delay 0.05 --resume {stopped['conversation']['id']}" in command
    assert real.sessions() == set()
    assert real.row()["status"] == "stopped"


def test_the_dry_run_of_resume_and_adopt_does_nothing(real: Real) -> None:
    real.start()
    real.say("hello")
    with real.app() as app:
        request = adopt.AdoptRequest("acme", server=real.socket, dry_run=True)
        before = real.registry.read_bytes()
        planned = answer(adopt.run(app, request))
    assert (planned["outcome"], planned["agent"], planned["pid"]) == ("planned", "demo", real.pid())
    assert planned["conversation_id"] == real.session_file()["sessionId"]
    assert real.registry.read_bytes() == before
    real.stop()
    with real.app() as app:
        planned = answer(resume.run(app, resume.ResumeRequest(("acme",), dry_run=True)))
    assert (planned["outcome"], planned["cwd"]) == ("planned", str(real.folder))
    assert "--resume" in planned["command"]
    assert (real.row()["status"], real.sessions()) == ("stopped", set())
    real.bystander("acme")
    with real.app() as app:
        refused = answer(resume.run(app, resume.ResumeRequest(("acme",), dry_run=True)))
    assert refused["error"]["code"] == "session_exists"


def test_resume_goes_back_to_its_folder(real: Real) -> None:
    work = real.folder / "a folder"
    work.mkdir()
    real.start(cwd=str(work))
    real.say("hello")
    real.stop()
    real.resume()
    assert os.readlink(f"/proc/{real.pid()}/cwd") == str(work)
    real.shows("acme", "user: hello")
    real.stop()
    work.rmdir()
    assert real.resume()["error"]["code"] == "start_failed"
    assert real.sessions() == set()


def test_an_adopted_session_is_stopped_like_any_other(real: Real) -> None:
    real.tmux(
        "new-session", "-d", "-x", "100", "-y", "20", "-s", "acme", "-c", str(real.folder), *DEMO
    )
    real.shows("acme", "demo agent · conversation")
    real.say("hello")
    adopted = real.adopt(agent=None)
    assert (adopted["agent"], adopted["status"]) == ("demo", "running")
    assert real.row()["demo_conversation_id_own"] == real.session_file()["sessionId"]
    assert answer(real.stop())["stopped_by"] == "exit_keys"
    real.resume()
    real.shows("acme", "user: hello")


def test_show_names_every_process_and_why(real: Real) -> None:
    real.start("acme", "--spawn", "1")
    shown = real.show()
    assert [one["why"] for one in shown["processes"]] == ["pane", "tree"]
    assert shown["pane_state"] == "idle"
    assert shown["memory_mb"] > 1
