"""What an agent's own server does in a conversation that may be the row's, or another agent's:
nothing but its folder says which one the agent is in."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests import served
from tests.background import ONE, said
from tests.real import DEMO, PATIENCE_S, Real, answer, until
from tests.served import Server
from tmuxreap.commands import list as listing

pytestmark = pytest.mark.live


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine may be busy: a server that answers is waited for."""
    monkeypatch.setattr("tmuxreap.agents.conversations.lists.ANSWER_S", PATIENCE_S)


@pytest.fixture(params=["http", "socket"])
def server(real: Real, request: pytest.FixtureRequest) -> Iterator[Server]:
    found = Server(real, request.param)
    yield found
    found.kill()


def guessed(server: Server, *locators: object) -> None:
    """Let a conversation be found by its folder alone, where none of these names it."""
    served.told_as(server.transport, {"locators": [*locators, "sole-candidate"]}, launch=[])


def now() -> dict[str, Any]:
    """Return what says of a session that it begins at this moment."""
    return {"time": {"created": time.time() * 1000}}


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_a_turn_of_an_agent_that_is_gone_is_not_ended_by_a_guess(
    real: Real, server: Server, verb: str
) -> None:
    """It was in the folder of the row after that began, and the row itself has said nothing."""
    guessed(server)
    real.start()
    said(real)
    server.begin(**now())
    result = answer(real.stop() if verb == "stop" else real.kill())
    assert (result["error"], server.working()) == (None, ["s1"])
    assert (result["conversation"]["id"], result["conversation"]["source"]) == (
        ONE,
        "sole-candidate",
    )
    last = result["rungs"][-1]
    assert (last["name"], last["skipped"]) == (
        "daemon",
        "which conversation was its own is only a guess",
    )
    (warning,) = result["warnings"]
    assert warning.startswith("goes_on: what may be its conversation continues in the background")


def test_the_turn_that_a_pane_shows_is_ended_at_its_server(real: Real, server: Server) -> None:
    """Nothing but its folder says which conversation it is in; it is at work in one."""
    guessed(server)
    real.start()
    real.say("hello")
    server.begin(own=real.session_file()["sessionId"], **now())
    real.submit("/work 60")
    real.shows("acme", "working (esc to interrupt)")
    result = answer(real.kill())
    assert (result["error"], result["warnings"], server.working()) == (None, [], [])
    assert result["conversation"]["source"] == "sole-candidate"


@pytest.mark.parametrize("asks", [True, False])
def test_a_question_is_its_own_if_its_server_has_one_too(
    real: Real, server: Server, asks: bool
) -> None:
    """A dialog alone may ask about a setting, of an agent that has said nothing."""
    guessed(server)
    real.start(command=(*DEMO, "--state", "dialog"))
    said(real)
    waits = {"http": {"asks": "may I?"}, "socket": {"flags": ["may I?"]}}
    server.begin(**now(), **(waits[server.transport] if asks else {}))
    result = answer(real.kill())
    assert result["error"] is None
    assert server.working() == ([] if asks else ["s1"])
    assert bool(result["warnings"]) is not asks


def test_the_conversation_that_an_agent_names_as_it_leaves_is_ended_at_its_server(
    real: Real, server: Server
) -> None:
    guessed(server, {"kind": "exit-banner", "pattern": "tmuxreap-demo --resume (?P<id>{id})"})
    real.start()
    real.say("hello")
    server.begin(own=real.session_file()["sessionId"], **now())
    result = answer(real.stop())
    assert (result["error"], result["warnings"], server.working()) == (None, [], [])
    assert result["conversation"]["source"] == "exit-banner"


def test_a_row_with_a_guess_does_not_follow_what_its_server_does(
    real: Real, server: Server
) -> None:
    guessed(server)
    real.start()
    said(real)
    real.edit("    agent: demo\n", "    agent: demo\n    conversation_source: sole-candidate\n")
    real.edit("demo_conversation_id_own: null", f"demo_conversation_id_own: {ONE}")
    server.begin(**now())
    real.tmux("kill-session", "-t", "=acme")
    until("the end of its agent", lambda: real.list()[0]["live"] == "gone")
    with real.app() as app:
        told = listing.run(app, listing.ListRequest()).more["unregistered"]
    assert [it["name"] for it in told] == ["demo-s1"]
    assert answer(real.stop())["error"] is None
    assert server.working() == ["s1"]
