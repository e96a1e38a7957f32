"""Sessions that another hand ended, with agents that outlived them: no verb says that they are
gone, whoever wrote their rows."""

from __future__ import annotations

import json
import os
import signal
import sys
from functools import partial
from typing import Any

import pytest

from tests.real import Real, alive, answer, until
from tmuxreap.commands import adopt, start, wait
from tmuxreap.commands import list as listing
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.errors import Code

pytestmark = pytest.mark.live


def foreign(real: Real, agent: str | None = None) -> None:
    """Write the row as other tools do, instead of ours."""
    pane = {"pid": real.pid(), "cmd": "python3", "cwd": str(real.folder)}
    row = {"name": "acme", "status": "running", "tmux_server": real.socket, "pane": pane}
    if agent is not None:
        row["agent"] = agent
    real.registry.write_text(json.dumps({"tmux_sessions": [row]}))


def deaf(real: Real, *, ours: bool) -> tuple[int, int]:
    """Start an agent that ignores a hangup and a termination, with a helper outside its kernel
    session; return their pids."""
    told = real.folder / "helper"
    script = (
        "trap '' HUP TERM; setsid sh -c 'echo $$ >\"$0\"; exec sleep 600' "
        f"{told} & exec {sys.executable} -c 'import time; time.sleep(600)'"
    )
    if ours:
        real.start("acme", "--ignore", "hup,term")
    else:
        real.tmux("new-session", "-d", "-s", "acme", "sh", "-c", script)
        until("its helper", lambda: told.exists() and told.read_text())
        foreign(real)
    helper = real.pid() if ours else int(told.read_text())
    return real.pid(), helper


def end(real: Real, what: str) -> None:
    if what == "session":
        real.tmux("kill-session", "-t", "=acme")
    else:
        server = int(real.tmux("display-message", "-p", "#{pid}"))
        os.kill(server, signal.SIGKILL)
        until("the server's end", lambda: not alive(server))


def found(real: Real) -> list[Any]:
    with real.app() as app:
        drifts: Any = reconcile.run(app).as_json()["drifts"]
    return [one["drift"] for one in drifts]


@pytest.mark.parametrize("what", ["session", "server"])
@pytest.mark.parametrize("ours", [False, True], ids=["another-tool's", "ours"])
def test_survivors_known_from_a_list_are_ended_by_a_stop(real: Real, ours: bool, what: str) -> None:
    agent, helper = deaf(real, ours=ours)
    quiet = real.bystander()
    real.list()
    end(real, what)
    assert found(real) == ["survivors"]
    assert answer(real.stop(grace_s=0.1))["outcome"] == "stopped"
    assert not alive(agent)
    assert not alive(helper)
    assert what == "server" or alive(quiet)


@pytest.mark.parametrize("what", ["session", "server"])
def test_a_recorded_process_never_seen_is_named_until_adopted(real: Real, what: str) -> None:
    agent, helper = deaf(real, ours=False)
    real.bystander()
    end(real, what)
    before = real.registry.read_bytes()
    assert found(real) == ["survivors"]
    plan = answer(real.stop(dry_run=True))["plan"]
    assert {one["pid"] for one in plan["unproven"]} == {agent, helper}
    assert plan["processes"] == []
    for ended in (real.stop(grace_s=0.1), real.kill(grace_s=0.1)):
        told = answer(ended)
        assert (told["outcome"], int(ended.exit)) == ("survived", 1)
        assert {one["pid"] for one in told["survivors"]} == {agent, helper}
        assert f"tmuxreap adopt acme --pid {agent}" in told["error"]["hint"]
    assert (alive(agent), alive(helper), real.registry.read_bytes()) == (True, True, before)
    with real.app() as app:
        adopt.run(app, adopt.AdoptRequest("acme", pid=agent))
    assert answer(real.stop(grace_s=0.1))["outcome"] == "stopped"
    assert not alive(agent)


def test_start_never_overwrites_a_row_whose_agent_may_run(real: Real) -> None:
    agent, helper = deaf(real, ours=False)
    real.bystander()
    end(real, "session")
    before = real.registry.read_bytes()
    for replace in (False, True):
        request = start.StartRequest("acme", "demo", server=real.socket, replace=replace)
        with real.app() as app:
            failure = real.fails(partial(start.run, app, request))
        assert failure.code is Code.STILL_RUNNING
        assert f"({agent})" in failure.message
        assert f"tmuxreap adopt acme --pid {agent}" in str(failure.hint)
    assert (alive(agent), real.registry.read_bytes()) == (True, before)
    assert real.sessions() == {"quiet"}
    for pid in (agent, helper):
        os.kill(pid, signal.SIGKILL)


def test_the_end_of_a_survivor_settles_the_row(real: Real) -> None:
    agent, helper = deaf(real, ours=False)
    real.bystander()
    end(real, "session")
    os.kill(helper, signal.SIGKILL)
    os.kill(agent, signal.SIGKILL)
    request = wait.WaitRequest(("acme",), wait.Until.GONE, timeout_s=20.0)
    with real.app() as app:
        assert answer(wait.run(app, request))["reached"]
    assert found(real) == ["dead"]
    assert real.row()["status"] == "terminated"


def test_a_look_that_cannot_write_is_silent(real: Real) -> None:
    real.tmux("new-session", "-d", "-s", "acme", "sleep", "600")
    foreign(real)
    (real.folder / "agent-sessions.db").mkdir()
    with real.app() as app:
        result = listing.run(app, listing.ListRequest())
    assert [one.as_json()["live"] for one in result.results] == ["alive"]
    assert not any("seen" in warning for warning in result.warnings)


def replaced(real: Real) -> None:
    """Assert that the session is another one for every verb, and that none writes."""
    before = real.registry.read_bytes()
    assert [one["live"] for one in real.list() if one["name"] == "acme"] == ["replaced"]
    assert real.show()["live"] == "replaced"
    for ended in (real.stop(grace_s=0.1), real.kill(grace_s=0.1)):
        told = answer(ended)
        assert (told["outcome"], told["error"]["code"]) == ("refused", "session_replaced")
    assert "replaced" in found(real)
    assert real.registry.read_bytes() == before


@pytest.mark.parametrize("happens", ["rename", "move"])
def test_a_pane_under_another_name_with_what_the_agent_left_is_not_gone(
    real: Real, happens: str
) -> None:
    real.tmux("new-session", "-d", "-s", "acme", "sh")
    real.bystander()
    foreign(real, "demo")
    told = real.folder / "child"
    line = f"sh -c 'trap \"\" HUP; echo $$ >{told}; exec sleep 600' & wait"
    real.tmux("send-keys", "-t", "=acme:", line, "Enter")
    until("its child", lambda: told.exists() and told.read_text().strip())
    if happens == "rename":
        real.tmux("rename-session", "-t", "=acme", "mine")
    else:
        real.tmux("join-pane", "-d", "-s", "=acme:", "-t", "=quiet:")
    child = int(told.read_text())
    replaced(real)
    assert alive(child)
    os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("looked", [False, True], ids=["never-seen", "seen"])
@pytest.mark.parametrize("what", ["session", "server"])
def test_a_session_made_later_is_not_ended_for_a_survivor(
    real: Real, what: str, looked: bool
) -> None:
    agent, helper = deaf(real, ours=False)
    foreign(real, "demo")
    real.bystander()
    if looked:
        real.list()
    end(real, what)
    real.tmux("new-session", "-d", "-s", "acme", *real.program)
    later = real.pid()
    until("the later agent", lambda: "demo agent" in real.screen())
    replaced(real)
    assert (alive(agent), alive(helper), alive(later)) == (True, True, True)
    for pid in (agent, helper):
        os.kill(pid, signal.SIGKILL)
