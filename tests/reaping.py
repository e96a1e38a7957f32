"""Helpers for histories of `reap`."""

from __future__ import annotations

from typing import Any

from tests.fakes import OWN_PID, FakeAgent, Story
from tmuxreap.commands.reap import reap
from tmuxreap.commands.reap.reap import ReapRequest
from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.core.results import Result
from tmuxreap.ledger.records import Heartbeat, Moment


def says(story: Story, kind: str, state: str, name: str = "acme") -> None:
    with story.ledger() as ledger:
        ledger.record_heartbeat(Heartbeat(name, story.clock.now(), state, kind, None, {}))


def tells(story: Story, kind: str, state: str, name: str = "acme") -> None:
    """Report like a hook, by clocks that cannot be set."""
    clock = story.clock
    moment = Moment(story.BOOT, clock.uptime(), clock.monotonic())
    with story.ledger() as ledger:
        ledger.record_heartbeat(Heartbeat(name, clock.now(), state, kind, None, moment.as_data()))


def draws(story: Story, name: str = "acme") -> None:
    (session,) = (one for one in story.tmux.servers[story.SOCKET].sessions if one.name == name)
    session.activity = int(story.clock.now())


def passes(story: Story, seconds: float) -> None:
    story.processes.wait((), seconds)


def hung(story: Story, name: str = "acme") -> FakeAgent:
    """Add an agent that reported the start of a tool, and nothing since."""
    agent = story.agent(name, state="busy")
    says(story, "tool_before", "working", name)
    passes(story, 200)
    return agent


def reaped(
    story: Story, *kinds: Kind, yes: bool = True, pid: int = OWN_PID, **request: Any
) -> Result:
    return reap.run(story.app(pid), ReapRequest(kinds, yes=yes, **request))


def told(result: Result) -> dict[str, tuple[object, object]]:
    facts = [item.as_json() for item in result.results]
    return {str(one["name"]): (one["verdict"], one["outcome"]) for one in facts}


def kept(result: Result, name: str = "acme") -> str:
    found = result.as_json()["kept"]
    assert isinstance(found, list)
    return "; ".join(one["why"] for one in found if one["name"] == name)
