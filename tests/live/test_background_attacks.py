"""What may go wrong around a session in an agent's own daemon: two registries, a name that is only
in the daemon's list, verbs that need a pane."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from tests.background import TWO, Daemon, said
from tests.real import Real, alive, answer
from tmuxreap.commands import adopt, restart, stop
from tmuxreap.core.model import EndVerb
from tmuxreap.ending.policy import Policy

pytestmark = pytest.mark.live


@pytest.fixture
def daemon(real: Real) -> Iterator[Daemon]:
    found = Daemon(real)
    yield found
    found.close()


def adopted(real: Real, seat: str = "demo:w1", name: str = "acme") -> None:
    with real.app() as app:
        answer(adopt.run(app, adopt.AdoptRequest(name, background=seat)))


def test_two_registries_may_mean_one_session(real: Real, daemon: Daemon) -> None:
    """The second one finds it gone, and never says that it ended it."""
    pid = daemon.begin()
    adopted(real)
    folder = real.folder / "other"
    folder.mkdir()
    other = Real(real.socket, folder)
    adopted(other, name="mine")
    assert (answer(real.stop())["stopped_by"], alive(pid)) == ("daemon", False)
    assert [(it["live"], it["drift"]) for it in other.list()] == [("gone", "dead")]
    assert answer(other.stop("mine"))["stopped_by"] == "already_gone"


@pytest.mark.parametrize("verb", [EndVerb.STOP, EndVerb.KILL])
@pytest.mark.parametrize("target", ["demo:w1", "w1", "demo-w1"])
def test_a_name_that_only_the_daemon_knows_is_refused_with_the_way_to_it(
    real: Real, daemon: Daemon, verb: EndVerb, target: str
) -> None:
    pid = daemon.begin()
    request = stop.EndRequest((target,), Policy(verb, "manual"))
    with real.app() as app:
        (item,) = stop.run(app, request).results
    assert item.error is not None
    assert item.error.code == "session_not_registered"
    assert item.error.hint == "register it with: tmuxreap adopt demo-w1 --background demo:w1"
    assert alive(pid)


def test_a_restart_is_refused_and_ends_nothing(real: Real, daemon: Daemon) -> None:
    """There is no pane for it to come back in."""
    said(real)
    pid = daemon.begin()
    adopted(real)
    with real.app() as app:
        (item,) = restart.run(app, restart.RestartRequest(("acme",))).results
    assert item.error is not None
    assert (item.error.code, alive(pid)) == ("not_resumable", True)
    assert "tmuxreap stop acme, then: tmuxreap resume acme" in item.error.hint
    assert real.row()["status"] == "running"


def test_a_resume_of_a_running_session_opens_nothing(real: Real, daemon: Daemon) -> None:
    said(real)
    pid = daemon.begin()
    adopted(real)
    assert real.resume()["error"]["code"] == "session_exists"
    assert (alive(pid), real.sessions()) == (True, set())


def test_a_daemon_that_is_killed_during_the_stop_brings_nothing_back(
    real: Real, daemon: Daemon
) -> None:
    pid = daemon.begin()
    daemon.begin("w2", own=TWO)
    daemon.mode(slow_s=1.0)
    adopted(real)
    daemon.process.send_signal(signal.SIGSTOP)
    os.kill(pid, signal.SIGKILL)
    daemon.kill()
    result = answer(real.stop())
    assert (result["error"], alive(pid)) == (None, False)
    assert real.row()["status"] == "stopped"
