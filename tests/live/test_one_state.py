"""What an agent is doing, by real tmux and the demo agent: every door says the same."""

from __future__ import annotations

import os
import shlex
from signal import SIGCONT, SIGSTOP
from typing import Any

import pytest

from tests.real import Real, answer, until
from tmuxreap.commands import interrupt, stop, wait
from tmuxreap.commands.interrupt import InterruptRequest
from tmuxreap.commands.stop import EndRequest
from tmuxreap.commands.wait import Until, WaitRequest
from tmuxreap.core.model import EndVerb
from tmuxreap.ending.policy import Policy
from tmuxreap.interfaces.python.registry import Registry


def told(real: Real) -> dict[str, Any]:
    """Return the state by each door."""
    with real.app() as app:
        waited = wait.run(app, WaitRequest(("acme",), Until.GONE, timeout_s=0.0))
        interrupted = interrupt.run(app, InterruptRequest(("acme",), dry_run=True))
        planned = stop.run(app, EndRequest(("acme",), Policy(EndVerb.STOP, "test"), dry_run=True))
    (listed,) = real.list()
    return {
        "list": listed["state"],
        "show": real.show()["state"],
        "wait": answer(waited)["state"],
        "interrupt": answer(interrupted)["state"],
        "plan of a stop": answer(planned)["plan"]["doing"],
        "python": Registry(real.registry).session("acme").state,
    }


@pytest.mark.parametrize(
    ("words", "state"),
    [((), "idle"), (("--state", "busy"), "working"), (("--state", "dialog"), "waiting")],
)
def test_every_door_reports_the_state_of_a_living_agent(
    real: Real, words: tuple[str, ...], state: str
) -> None:
    real.start("acme", *words)
    until("its state", lambda: real.list()[0]["state"] == state)
    assert told(real) == dict.fromkeys(told(real), state)
    assert bool(real.show()["waiting_for"]) == (state == "waiting")


def test_an_agent_that_is_stopped_is_unknown_until_it_continues(real: Real) -> None:
    line = shlex.join(real.program)
    real.start(command=["sh", "-c", f"{line}; exit $?"])  # tmux lets go on what it started itself
    agent = real.agent_pid()
    os.kill(agent, SIGSTOP)
    until("its stop", lambda: real.list()[0]["state"] == "unknown")
    assert told(real) == dict.fromkeys(told(real), "unknown")
    assert real.show()["state_source"] == "process"
    with real.app() as app:
        one = answer(interrupt.run(app, InterruptRequest(("acme",))))
    assert (one["outcome"], one["error"]["code"]) == ("refused", "not_interruptible")
    os.kill(agent, SIGCONT)
    until("its going on", lambda: real.list()[0]["state"] == "idle")
