"""One answer to the question what an agent is doing, at every door that tells it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from signal import SIGSTOP
from typing import Any

import pytest

from tests.fakes import FakeAgent, Story
from tmuxreap.commands import interrupt, show, wait
from tmuxreap.commands import list as listing
from tmuxreap.commands.interrupt import InterruptRequest
from tmuxreap.commands.list import ListRequest
from tmuxreap.commands.reap.candidates import judge_rows
from tmuxreap.commands.reap.verdicts import Kept, Kind, Limits
from tmuxreap.commands.wait import Until, WaitRequest
from tmuxreap.commands.watch.waiting import Woken
from tmuxreap.commands.watch.watch import Segment, texts
from tmuxreap.core.answers import Session
from tmuxreap.interfaces.mcp.tools import ListSessions
from tmuxreap.interfaces.popup import view
from tmuxreap.ledger.records import Heartbeat

AGES = 1000.0
LIMITED = {
    "screens": {
        "limited": r"^· limit reached, resets (?P<until>\S+)\n>",
        "view": r"^│ the transcript",
    }
}
QUESTION = "Allow the tool `rm -rf build`?"


class Deaf:
    """A waiter that waits for nothing."""

    def arm(self) -> None:
        pass

    def wait(self, processes: object, timeout_s: float) -> Woken:
        return Woken(frozenset(), changed=False, ending=False)


@pytest.fixture
def agent(story: Story) -> FakeAgent:
    folder = story.folder / ".config" / "tmuxreap"
    folder.mkdir(parents=True)
    (folder / "agents.yaml").write_text(json.dumps({"agents": {"demo": LIMITED}}))
    one = story.agent()
    story.path.write_text(story.path.read_text().replace('"agent":', '"ttl": "1s", "agent":'))
    story.clock.move_to(story.clock.monotonic() + AGES)
    return one


def record(story: Story, agent: FakeAgent, **facts: str | None) -> None:
    path = story.store / "sessions" / f"{agent.process.pid}.json"
    known = {**json.loads(path.read_text()), **facts}
    path.write_text(json.dumps({key: value for key, value in known.items() if value is not None}))


def shows(state: str, draft: str = "") -> Callable[[Story, FakeAgent], None]:
    def bring(story: Story, agent: FakeAgent) -> None:
        agent.state, agent.draft = state, draft
        agent.draw()

    return bring


def records(status: str) -> Callable[[Story, FakeAgent], None]:
    return lambda story, agent: record(story, agent, status=status)


def said(state: str, ago: float, *, record_too: bool = False) -> Callable[[Story, FakeAgent], None]:
    def bring(story: Story, agent: FakeAgent) -> None:
        if not record_too:
            record(story, agent, status=None)
        at = story.clock.now() - ago
        story.tmux.servers[story.SOCKET].sessions[0].activity = int(story.clock.now() - 1)
        with story.ledger() as ledger:
            ledger.record_heartbeat(Heartbeat("acme", at, state, "prompt", None, {}))

    return bring


def stops(story: Story, agent: FakeAgent) -> None:
    story.processes.signal(agent.process, SIGSTOP)


def limited(story: Story, agent: FakeAgent) -> None:
    agent.pane.screen = "demo agent\n\n· limit reached, resets 3pm\n>"


def transcript(story: Story, agent: FakeAgent, *, status: str | None = "idle") -> None:
    agent.pane.screen = "demo agent\n\n╭────────────────╮\n│ the transcript │\n╰────────────────╯"
    record(story, agent, status=status)


SITUATIONS: dict[str, tuple[Callable[[Story, FakeAgent], None], str, str]] = {
    "idle": (shows("idle"), "idle", "screen"),
    "a draft": (shows("idle", "half"), "idle", "screen"),
    "a dialog": (shows("dialog"), "waiting", "screen"),
    "a busy screen": (shows("busy"), "working", "screen"),
    "its record says busy": (records("busy"), "working", "record"),
    "its record says waiting": (records("waiting"), "waiting", "record"),
    "a shell in its background": (records("shell"), "idle", "screen"),
    "a hook says working": (said("working", 5), "working", "hook"),
    "an old hook": (said("working", 900), "idle", "screen"),
    "a hook that an interrupt by hand left": (
        said("working", 5, record_too=True),
        "idle",
        "screen",
    ),
    "stopped": (stops, "unknown", "process"),
    "a limit": (limited, "limited", "screen"),
    "a transcript": (transcript, "idle", "record"),
    "a transcript of a turn": (partial(transcript, status="busy"), "working", "record"),
    "a transcript without a record": (partial(transcript, status=None), "unknown", "screen"),
}


def first(result: Any) -> dict[str, Any]:
    (item,) = result.results
    facts: dict[str, Any] = item.as_json()
    return facts


def of_list(story: Story) -> str:
    return str(first(listing.run(story.app(), ListRequest()))["state"])


def of_show(story: Story) -> str:
    return str(first(show.run(story.app(), ("acme",)))["state"])


def of_wait(story: Story) -> str:
    request = WaitRequest(("acme",), Until.GONE, timeout_s=0.0)
    return str(first(wait.run(story.app(), request, Deaf()))["state"])


def of_watch(story: Story) -> str:
    context = story.app()
    rows = context.registry.look().usable
    seen = list(zip(rows, context.sights.of(rows), strict=True))
    state = Segment(context).show(seen, again=True)["acme"].state
    assert state is not None
    return state.value


def of_the_status_line(story: Story) -> str:
    context = story.app()
    rows = context.registry.look().usable
    sights = context.sights.of(rows)
    (text,) = texts(sights, context.states.of(rows, sights)).values()
    return text.removeprefix("1 ")


def of_the_popup(story: Story) -> str:
    (session,) = listing.run(story.app(), ListRequest()).results
    assert isinstance(session, Session)
    return str(view.state(session))


def of_mcp(story: Story) -> str:
    return str(first(ListSessions().run(story.app()))["state"])


def of_reap(story: Story) -> str:
    context = story.app()
    rows = context.registry.look().usable
    found, kept = judge_rows(context, rows, [Kind.EXPIRED], Limits())
    if kept:
        return {
            Kept("acme", "not expired: it waits for a person"): "waiting",
        }[kept[0]]
    return str(found[0].verdict.evidence["state"])


def of_interrupt(story: Story) -> str:
    request = InterruptRequest(("acme",), dry_run=True)
    return str(first(interrupt.run(story.app(), request))["state"])


def of_a_plan(story: Story) -> str:
    return str(first(story.stop(dry_run=True))["plan"]["doing"])


DOORS = (
    *(of_list, of_show, of_wait, of_watch, of_the_status_line, of_the_popup, of_mcp, of_reap),
    *(of_interrupt, of_a_plan),
)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_door_reports_the_same_state(story: Story, agent: FakeAgent, situation: str) -> None:
    bring, state, source = SITUATIONS[situation]
    bring(story, agent)
    assert {door.__name__: door(story) for door in DOORS} == {
        door.__name__: state for door in DOORS
    }
    for one in (
        first(listing.run(story.app(), ListRequest())),
        first(show.run(story.app(), ("acme",))),
    ):
        assert one["state_source"] == source


def test_a_waiting_agent_names_its_question(story: Story, agent: FakeAgent) -> None:
    shows("dialog")(story, agent)
    for one in (listing.run(story.app(), ListRequest()), show.run(story.app(), ("acme",))):
        assert first(one)["waiting_for"] == QUESTION
    shows("idle")(story, agent)
    assert first(listing.run(story.app(), ListRequest()))["waiting_for"] is None


def test_a_secret_in_a_question_is_masked_and_a_long_one_is_cut(
    story: Story, agent: FakeAgent
) -> None:
    agent.state = "dialog"
    agent.pane.screen = (
        "demo agent\n╭──╮\n│ Run with password=hunter2secret and "
        + "x" * 200
        + "? [Enter] yes  [Esc] no │\n╰──╯"
    )
    asked = first(listing.run(story.app(), ListRequest()))["waiting_for"]
    assert "hunter2secret" not in asked
    assert asked.startswith("Run with password=***")
    assert len(asked) == 120


def test_an_agent_that_is_stopped_is_not_called_idle_by_an_interrupt(
    story: Story, agent: FakeAgent
) -> None:
    stops(story, agent)
    one = first(interrupt.run(story.app(), InterruptRequest(("acme",))))
    assert (one["outcome"], one["error"]["code"]) == ("refused", "not_interruptible")
    assert "is stopped" in one["error"]["message"]
    assert one["error"]["hint"] == f"continue it: kill -CONT {agent.process.pid}"
    assert agent.heard == []


def test_a_stop_of_an_agent_that_is_stopped_types_nothing_and_keeps_its_draft(
    story: Story, agent: FakeAgent
) -> None:
    shows("idle", "half a thought")(story, agent)
    stops(story, agent)
    plan = first(story.stop(dry_run=True))["plan"]
    keys = plan["rungs"][0]
    assert (plan["state"], plan["doing"]) == ("unknown", "unknown")
    assert keys["skipped"] == "the agent is stopped (SIGSTOP), and reads no key"
    one = first(story.stop())
    assert (one["outcome"], one["stopped_by"], agent.heard) == ("stopped", "hangup", [])
    assert one["draft"]["chars"] == len("half a thought")


def test_after_an_interrupt_that_found_it_at_rest_every_door_says_so(
    story: Story, agent: FakeAgent
) -> None:
    said("working", 5)(story, agent)
    one = first(interrupt.run(story.app(), InterruptRequest(("acme",))))
    assert (one["outcome"], one["state"], agent.heard) == ("already_idle", "idle", [])
    assert of_list(story) == "idle"


def test_a_turn_reported_by_a_hook_is_interrupted_once_its_screen_shows_it(
    story: Story, agent: FakeAgent
) -> None:
    said("working", 1)(story, agent)
    story.processes.after(1.0, lambda: shows("busy")(story, agent))
    one = first(interrupt.run(story.app(), InterruptRequest(("acme",))))
    assert (one["outcome"], agent.heard) == ("interrupted", ["Escape"])


def test_an_interrupt_sends_no_key_to_a_transcript_of_an_idle_agent(
    story: Story, agent: FakeAgent
) -> None:
    transcript(story, agent)
    one = first(interrupt.run(story.app(), InterruptRequest(("acme",))))
    assert (one["outcome"], one["state"], agent.heard) == ("already_idle", "idle", [])
