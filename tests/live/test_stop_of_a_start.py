"""A stop that meets a start or a resume under way waits for it, and then ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest

from tests import warm
from tests.real import DEMO, Real, freeze, until
from tmuxreap.core.results import Result
from tmuxreap.sessions import under_way

pytestmark = pytest.mark.live
WHOLE = [sys.executable, "-m", "tmuxreap"]  # a process of its own, which may be frozen


def begin(real: Real, verb: str, program: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """Begin a start or a resume that takes a while, and wait until it is in progress."""
    words = [*(program or [warm.program()]), verb, "acme", "--registry", str(real.registry)]
    if verb == "start":
        words += ["--agent", "demo", "--cwd", str(real.folder), "--server", real.socket]
    command = ["--", *DEMO] if verb == "start" else []
    begun = subprocess.Popen([*words, "--confirm", "2", *command], stdout=subprocess.DEVNULL)
    until("the start under way", lambda: "acme" in real.sessions())
    return begun


def facts(told: Result) -> list[object]:
    return [item.as_json().get("outcome") for item in told.results]


@pytest.mark.parametrize("target", ["acme", "all", "ac*"])
@pytest.mark.parametrize("verb", ["start", "resume"])
def test_a_stop_ends_an_agent_that_is_being_started(real: Real, verb: str, target: str) -> None:
    real.bystander()
    if verb == "resume":
        real.start()
        real.say("hello")
        real.stop()
    begun = begin(real, verb)
    told = real.stop(target)
    assert begun.wait(60) == 0
    assert (told.exit, facts(told)) == (0, ["stopped"])
    assert real.row()["status"] == "stopped"
    assert real.sessions() == {"quiet"}


def test_a_start_that_hangs_is_named_after_a_while(
    real: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    real.bystander()
    monkeypatch.setattr(under_way, "START_WAIT_S", 0.3)
    begun = begin(real, "start", WHOLE)
    freeze(begun.pid)
    told = real.stop()
    os.kill(begun.pid, signal.SIGCONT)
    (item,) = told.results
    assert item.error is not None
    assert (told.exit, item.error.code) == (1, "still_running")
    assert str(begun.pid) in str(item.error.hint)
    assert begun.wait(60) == 0
    assert facts(real.stop()) == ["stopped"]
