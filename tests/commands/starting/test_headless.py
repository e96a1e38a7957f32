"""`start --terminal none`: an agent without tmux, with which every verb works."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.real import CONFIRM_S, DEMO, Real, alive, answer, until
from tmuxreap.agents.demo import Store
from tmuxreap.commands import adopt, attach, forget, interrupt, start, stop
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.commands.stop import EndRequest
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import EndVerb
from tmuxreap.core.values import replace
from tmuxreap.ending.policy import Policy

pytestmark = pytest.mark.live
CONVERSATION = "7d1f2c3a-1111-4222-8333-444455556666"
TMUXREAP = [sys.executable, "-m", "tmuxreap"]


@pytest.fixture
def real(tmux_socket: str, tmp_path: Path) -> Real:
    return Real(tmux_socket, tmp_path)


THROUGH_A_SHELL_S = 1.0  # until what a shell executes is there, also on a busy machine


def begin(real: Real, *command: str, **more: Any) -> dict[str, Any]:
    request = start.StartRequest(
        "acme",
        "demo",
        cwd=str(real.folder),
        terminal="none",
        confirm_s=CONFIRM_S,
        command=command or tuple(DEMO),
    )
    with real.app() as app:
        return answer(start.run(app, replace(request, **more)))


def log(real: Real) -> Path:
    return real.folder / "agent-sessions.logs" / "acme.log"


def ready(real: Real) -> int:
    until("its screen", lambda: log(real).exists() and "demo agent" in log(real).read_text())
    return int(real.row()["pane"]["pid"])


def killed(real: Real) -> None:
    """Kill the agent, and wait for its death: on a busy machine that takes a moment."""
    pid = ready(real)
    os.kill(pid, 9)
    until("its death", lambda: not alive(pid))


def nothing_runs(real: Real) -> bool:
    mark = str(real.registry).encode()
    for home in Path("/proc").glob("[0-9]*"):
        try:
            if b"TMUXREAP_REGISTRY=" + mark in (home / "environ").read_bytes():
                return False
        except OSError:
            continue
    return True


@pytest.mark.parametrize("verb", [EndVerb.STOP, EndVerb.KILL], ids=lambda verb: verb.value)
def test_a_headless_agent_is_started_seen_and_ended_with_all_that_it_began(
    real: Real, verb: EndVerb
) -> None:
    helper = "setsid sleep 600 </dev/null >/dev/null 2>&1 & exec "
    begun = begin(real, "sh", "-c", helper + " ".join(DEMO), confirm_s=THROUGH_A_SHELL_S)
    pid = ready(real)
    assert (begun["live"], begun["agent"], begun["pid"]) == ("alive", "demo", pid)
    row = real.row()
    assert (row["terminal"], row["status"], "tmux_server" in row) == ("none", "running", False)
    shown = real.show()
    assert {one["name"] for one in shown["processes"]} == {"python", "sleep"}
    assert "demo agent · conversation" in shown["screen"]
    assert [one["live"] for one in real.list()] == ["alive"]
    told = answer(real.stop() if verb is EndVerb.STOP else real.kill())
    assert told["stopped_by"] == {"stop": "hangup", "kill": "sigterm"}[verb.value]
    assert nothing_runs(real)
    assert (real.row()["status"], alive(pid)) == ("stopped", False)
    assert "demo agent" in real.row()["last_visible_status"]
    assert real.sessions() == set()


def test_a_killed_headless_agent_is_found_dead(real: Real) -> None:
    begin(real)
    killed(real)
    with real.app() as app:
        found = [dict(one.as_json()) for one in reconcile.run(app).results]
    assert [one["drift"] for one in found] == ["dead"]
    assert (real.row()["status"], real.row()["termination_mode"]) == ("terminated", "lost")


def test_a_leftover_process_is_not_the_agent(real: Real) -> None:
    helper = "setsid sleep 600 </dev/null >/dev/null 2>&1 & exec "
    begin(real, "sh", "-c", helper + " ".join(DEMO), confirm_s=THROUGH_A_SHELL_S)
    killed(real)
    with real.app() as app:
        found = [dict(one.as_json()) for one in reconcile.run(app).results]
    assert [one["drift"] for one in found] == ["survivors"]
    told = answer(real.stop())
    assert (told["stopped_by"], [one["name"] for one in told["swept"]]) == (
        "already_gone",
        ["sleep"],
    )
    assert nothing_runs(real)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["/nowhere/agent"], "/nowhere/agent: No such file or directory"),
        (["sh", "-c", "echo no key; exit 3"], "no key"),
        (["sh", "-c", "setsid sleep 600 </dev/null >/dev/null 2>&1 & echo no key"], "no key"),
        (["sleep", "600"], "no demo was recognised in it"),
    ],
)
def test_a_failed_start_leaves_nothing(real: Real, command: list[str], said: str) -> None:
    before = real.registry.read_bytes()
    failure = real.fails(lambda: begin(real, *command, confirm_s=5.0 if "sh" in command else 0.1))
    assert (failure.code.text, said in failure.message) == ("start_failed", True), failure.message
    assert real.registry.read_bytes() == before
    assert nothing_runs(real)
    with real.app() as app:
        assert list(reconcile.run(app).results) == []


def test_a_headless_conversation_continues_without_tmux(
    real: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMUXREAP_DEMO_HOME", str(real.store))
    begin(real)
    ready(real)
    own = real.row()["demo_conversation_id_own"]
    Store(real.store).append(own, "user", "hello")
    assert answer(real.stop())["resumable"] is True
    assert real.resume()["conversation_id"] == own
    assert (real.row()["terminal"], real.row()["status"]) == ("none", "running")
    assert real.sessions() == set()
    failure = real.fails(lambda: begin(real))
    assert failure.code.text == "session_exists"
    assert answer(real.kill())["outcome"] == "killed"


def test_an_ended_headless_session_is_started_again_as_before_or_as_given(real: Real) -> None:
    begin(real)
    ready(real)
    real.stop()
    begin(real, terminal=None)
    first = ready(real)
    assert real.row()["terminal"] == "none"
    begin(real, replace=True)
    assert (alive(first), real.row()["pane"]["pid"] != first) == (False, True)
    real.stop()
    begin(real, terminal="tmux", server=real.socket)
    assert (real.row()["terminal"], real.sessions()) == ("tmux", {"acme"})
    real.kill()


@pytest.mark.parametrize(("terminal", "server"), [("screen", None), ("none", "x")])
def test_a_headless_start_with_a_tmux_server_is_a_usage_error(
    real: Real, terminal: str, server: str | None
) -> None:
    failure = real.fails(lambda: begin(real, terminal=terminal, server=server))
    assert failure.code.text == "usage"


@pytest.mark.parametrize("step", ["created", "confirmed", "temp_written"])
def test_a_start_that_died_is_reported_until_it_is_recorded(real: Real, step: str) -> None:
    words = ["start", "acme", "--agent", "demo", "--terminal", "none", "--confirm", "0"]
    environ = {**os.environ, "TMUXREAP_FAULT": f"{step}=kill"}
    died = subprocess.run(
        [warm.program(), *words, "--registry", str(real.registry)],
        env=environ,
        cwd=real.folder,
        check=False,
        capture_output=True,
    )
    assert died.returncode == -9
    assert list(real.rows()) == []
    until("its screen", lambda: "demo agent" in log(real).read_text())
    assert real.fails(lambda: begin(real)).code.text == "session_exists"
    with real.app() as app:
        (told,) = [dict(one.as_json()) for one in reconcile.run(app).results]
    assert told["drift"] == "unregistered"
    words = str(told["hint"]).split()
    assert words[:4] == ["tmuxreap", "adopt", "acme", "--pid"]
    with real.app() as app:
        adopt.run(app, adopt.AdoptRequest("acme", "demo", pid=int(words[4])))
    with real.app() as app:
        assert [one.as_json()["drift"] for one in reconcile.run(app).results] == ["intent"]
    with real.app() as app:
        assert list(reconcile.run(app).results) == []
    assert answer(real.stop())["outcome"] == "stopped"
    assert nothing_runs(real)


def test_the_ancestor_of_all_is_not_adopted_for_an_agent_below_it(real: Real) -> None:
    begin(real)
    pid = ready(real)
    with real.app() as app:
        forget.run(app, forget.ForgetRequest(("acme",), force=True))
    with real.app() as app, pytest.raises(Failure, match="process 1 runs more than") as caught:
        adopt.run(app, adopt.AdoptRequest("acme", "demo", pid=1))
    assert caught.value.hint.startswith("name the agent's own process: --pid ")
    with real.app() as app:
        adopt.run(app, adopt.AdoptRequest("acme", "demo", pid=pid))
    assert answer(real.stop())["outcome"] == "stopped"
    assert nothing_runs(real)


@pytest.mark.parametrize("pid", [0, -1])
def test_adopt_says_that_a_number_is_no_process(real: Real, pid: int) -> None:
    with real.app() as app, pytest.raises(Failure, match=f"there is no process {pid}$"):
        adopt.run(app, adopt.AdoptRequest("acme", "demo", pid=pid))


def test_a_heartbeat_from_a_headless_agent_names_its_own_row(real: Real) -> None:
    beat = f"{' '.join(TMUXREAP)} heartbeat --state working; exec "
    begin(real, "sh", "-c", beat + " ".join(DEMO), confirm_s=1.0)
    ready(real)
    pid = real.row()["pane"]["pid"]
    beaten = subprocess.run(
        [*TMUXREAP, "heartbeat", "--state", "working"],
        env=_environ_of(pid),
        check=False,
        capture_output=True,
    )
    assert beaten.returncode == 0
    (one,) = real.list()
    assert one["heartbeat_age_s"] is not None
    assert (one["state"], one["state_source"]) == ("idle", "record"), "its own record counts first"
    real.kill()


def _environ_of(pid: int) -> dict[str, str]:
    words = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(word.split("=", 1) for word in words if "=" in word)


def test_a_headless_agent_outlives_the_session_that_started_it(real: Real) -> None:
    """A start by an agent: the child has its own mark, and none of the caller's pane variables."""
    words = [*TMUXREAP, "start", "child", "--agent", "demo", "--terminal", "none", "--json"]
    call = " ".join([*words, "--registry", str(real.registry), "--", *DEMO])
    later = f"(while ! test -e go; do sleep 0.02; done; {call} >out.new; mv out.new out) &"
    real.start(command=["sh", "-c", f"{later} exec {' '.join(DEMO)}"])
    (real.folder / "go").touch()
    until("its answer", (real.folder / "out").exists)
    child = real.row("child")
    assert (child["parent"], json.loads((real.folder / "out").read_text())["ok"]) == ("acme", True)
    environ = _environ_of(child["pane"]["pid"])
    assert ("TMUX" in environ, "TMUX_PANE" in environ) == (False, False)
    assert answer(real.stop())["outcome"] == "stopped"
    assert (alive(child["pane"]["pid"]), real.row("child")["status"]) == (True, "running")
    assert answer(real.kill("child"))["outcome"] == "killed"


def test_the_log_is_deleted_with_the_conversation_or_the_history(
    real: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMUXREAP_DEMO_HOME", str(real.store))
    begin(real)
    ready(real)
    Store(real.store).append(real.row()["demo_conversation_id_own"], "user", "hello")
    real.stop()
    assert log(real).exists()
    asked = EndRequest(("acme",), Policy(EndVerb.STOP, "manual_stop", purge=True), yes=True)
    with real.app() as app:
        told = answer(stop.run(app, asked))
    assert (told["outcome"], log(real).exists()) == ("terminated", False)
    assert str(log(real)) in told["purged"]
    begin(real)
    ready(real)
    real.kill()
    with real.app() as app:
        forget.run(app, forget.ForgetRequest(("acme",), history=True))
    assert list(log(real).parent.iterdir()) == []


def test_a_headless_session_cannot_be_attached_or_interrupted(real: Real) -> None:
    begin(real)
    ready(real)
    with real.app() as app:
        failure = real.fails(lambda: attach.run(app, "acme"))
        told = answer(interrupt.run(app, interrupt.InterruptRequest(("acme",))))
    assert "without a terminal" in failure.message
    assert (told["outcome"], told["error"]["code"]) == ("refused", "not_interruptible")
    real.kill()


def test_a_watch_sees_its_end_at_once(real: Real) -> None:
    begin(real)
    with watched_death(real):
        until("its end", lambda: real.row()["status"] == "terminated")


def test_a_watch_brings_it_back_without_tmux(real: Real) -> None:
    begin(real, restart="always")
    first = ready(real)
    with watched_death(real):
        until("its return", lambda: real.row()["pane"]["pid"] != first)
    assert (real.row()["status"], real.row()["terminal"], real.sessions()) == (
        "running",
        "none",
        set(),
    )
    assert answer(real.kill())["outcome"] == "killed"


@contextlib.contextmanager
def watched_death(real: Real) -> Iterator[subprocess.Popen[bytes]]:
    pid = ready(real)
    words = [*TMUXREAP, "watch", "--json", "--interval", "60", "--registry", str(real.registry)]
    watch = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        until("that it watches", lambda: _polls(watch.pid))
        os.kill(pid, 9)
        yield watch
    finally:
        watch.terminate()
        assert watch.stdout is not None
        watch.stdout.close()
        watch.wait()


def _polls(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return any("pidfd" in os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir())
    return False
