"""Killed at each step of a stop of a real agent: the registry stays readable, and the next
reconcile settles it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests import warm
from tests.real import Real, alive, until
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.faults import Step

pytestmark = pytest.mark.live

NEIGHBOUR = """
  # a row of somebody else
  - {name: other, status: stopped, note: 'kept: as it is'}
"""
# Lock and look precede any action; an agent that exits never reaches the kill rung; fault_matrix
# has the rest, with other verbs.
OTHERS = (
    Step.LOCK,
    Step.READ,
    Step.KILL,
    Step.CREATED,
    Step.CONFIRMED,
    Step.PURGED,
    Step.HELD,
)
STEPS = [step for step in Step if step not in OTHERS]


def crash(real: Real, step: Step, fault: str) -> int:
    environ = {**os.environ, "TMUXREAP_FAULT": f"{step.value}={fault}"}
    given = ["stop", "acme", "--reason", "night", "--registry", str(real.registry)]
    words = [warm.program(), *given]
    return subprocess.run(
        words, env=environ, capture_output=True, timeout=60, check=False
    ).returncode


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.value)
def test_reconcile_settles_a_command_killed_at_any_step(real: Real, step: Step) -> None:
    real.start()
    real.bystander()
    real.say("hello")
    real.registry.write_text(real.registry.read_text() + NEIGHBOUR)
    pid = real.pid()
    assert crash(real, step, "kill") == -signal.SIGKILL
    assert NEIGHBOUR in real.registry.read_text()
    assert real.row()["status"] in ("running", "stopped")
    with real.app() as app:
        reconcile.run(app)
    assert list(real.folder.glob(".*.tmp")) == []
    if (
        real.row()["status"] == "running"
    ):  # no exit requested yet: it lives, and none of our options is on its pane
        assert alive(pid)
        assert real.tmux("show-options", "-p", "-t", "=acme:") == ""
        assert step in (Step.INTENT, Step.KEYS)
        real.stop(reason="night")
    row = real.row()
    assert (row["status"], row["stop_reason"], row["resumable"]) == ("stopped", "night", True)
    assert not alive(pid)
    assert real.sessions() == {"quiet"}
    assert NEIGHBOUR in real.registry.read_text()
    with real.app() as app:
        assert reconcile.run(app).as_json()["drifts"] == []


@pytest.mark.parametrize("fault", ["ENOSPC", "EIO", "EROFS"])
@pytest.mark.parametrize(
    "step", [Step.WRITE_LOCK, Step.TEMP_WRITTEN, Step.TEMP_SYNCED], ids=lambda step: step.value
)
def test_a_disk_that_fails_after_the_agent_left_is_reported_and_fixed_later(
    real: Real, step: Step, fault: str
) -> None:
    real.start()
    before = real.registry.read_bytes()
    assert crash(real, step, fault) == 6
    assert real.registry.read_bytes() == before
    assert real.sessions() == set()
    with real.app() as app:
        reconcile.run(app)
    row = real.row()
    assert (row["status"], row["stop_reason"], row["termination_mode"]) == (
        "stopped",
        "night",
        "graceful",
    )


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name
)
def test_an_interrupt_says_so_and_puts_the_pane_back(real: Real, number: signal.Signals) -> None:
    real.start("acme", "--ignore", "hup,term", "--exit-delay", "30")
    words = [
        sys.executable,
        "-m",
        "tmuxreap",
        "stop",
        "acme",
        "--registry",
        str(real.registry),
        "--json",
    ]
    stop = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    until(
        "the pane made ready",
        lambda: "remain-on-exit on" in real.tmux("show-options", "-p", "-t", "=acme:"),
    )
    stop.send_signal(number)
    out, _ = stop.communicate(timeout=60)
    assert stop.returncode == 130
    assert '"code": "interrupted"' in out
    assert real.tmux("show-options", "-p", "-t", "=acme:") == ""
    assert real.row()["status"] == "running"
    assert real.stop(keys_timeout_s=0, grace_s=0.1).exit == 0


def test_a_stop_whose_terminal_is_closed_puts_the_pane_back(real: Real) -> None:
    real.start("acme", "--ignore", "hup,term", "--exit-delay", "30")
    words = [sys.executable, "-m", "tmuxreap", "stop", "acme", "--registry", str(real.registry)]
    caller = real.bystander("caller", *words)
    until(
        "the pane made ready",
        lambda: "remain-on-exit on" in real.tmux("show-options", "-p", "-t", "=acme:"),
    )
    real.tmux("kill-session", "-t", "=caller")
    until("its end", lambda: not alive(caller))
    assert real.tmux("show-options", "-p", "-t", "=acme:") == ""
    assert (real.row()["status"], alive(real.pid())) == ("running", True)
    assert real.stop(keys_timeout_s=0, grace_s=0.1).exit == 0


def test_a_stop_under_nohup_outlives_its_terminal(real: Real) -> None:
    real.start("acme", "--exit-delay", "1")
    words = [
        "nohup",
        sys.executable,
        "-m",
        "tmuxreap",
        "stop",
        "acme",
        "--registry",
        str(real.registry),
    ]
    stop = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    until(
        "the pane made ready",
        lambda: "remain-on-exit on" in real.tmux("show-options", "-p", "-t", "=acme:"),
    )
    stop.send_signal(signal.SIGHUP)
    assert stop.wait(timeout=60) == 0
    assert real.row()["status"] == "stopped"


def test_reconcile_restores_the_pane_after_a_kill_between_the_keys(real: Real) -> None:
    real.start("acme", "--exit-delay", "30")
    words = [sys.executable, "-m", "tmuxreap", "stop", "acme", "--registry", str(real.registry)]
    stop = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(
        "the pane made ready",
        lambda: "remain-on-exit on" in real.tmux("show-options", "-p", "-t", "=acme:"),
    )
    stop.kill()
    stop.wait(timeout=60)
    assert "remain-on-exit on" in real.tmux("show-options", "-p", "-t", "=acme:")
    with real.app() as app:
        reconcile.run(app)
    assert real.tmux("show-options", "-p", "-t", "=acme:") == ""
    assert real.row()["status"] == "running"
    assert real.stop(keys_timeout_s=0, grace_s=0.1).exit == 0
