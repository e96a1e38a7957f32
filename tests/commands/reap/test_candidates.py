"""What is collected about a candidate: clocks, attached clients, sub-agents."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.fakes import FakeSession, Story
from tests.reaping import draws, hung, kept, passes, reaped, says, tells, told
from tmuxreap.commands.reap.candidates import running_since
from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.ledger.records import Heartbeat

HOUR_S = 3600.0


@pytest.mark.parametrize("kind", ["tool_before", "heartbeat"])
@pytest.mark.parametrize("spoken", [tells, says])
def test_after_a_suspend_an_agent_gets_its_full_time_again(
    story: Story, kind: str, spoken: Callable[[Story, str, str], None]
) -> None:
    agent = story.agent(state="busy")
    spoken(story, kind, "working")
    passes(story, 60)
    story.clock.sleep(8 * HOUR_S)
    passes(story, 55)
    assert "it said working 1m 55s ago" in kept(reaped(story, Kind.STALLED))
    assert story.processes.alive(agent.process)
    passes(story, 10)
    assert told(reaped(story, Kind.STALLED)) == {"acme": ("stalled", "stopped")}


@pytest.mark.parametrize("hours", [-5, 5])
@pytest.mark.parametrize("kind", ["tool_before", "heartbeat"])
def test_a_clock_change_makes_no_agent_stalled_and_saves_none(
    story: Story, hours: int, kind: str
) -> None:
    story.agent(state="busy")
    passes(story, 10)
    tells(story, kind, "working")
    passes(story, 60)
    story.clock.set_by(hours * HOUR_S)
    assert "it said working 1m ago" in kept(reaped(story, Kind.STALLED))
    passes(story, 70)
    if hours > 0 or kind == "heartbeat":
        assert told(reaped(story, Kind.STALLED)) == {"acme": ("stalled", "stopped")}
    else:  # the last output seems to lie in the future
        assert "it drew something" in kept(reaped(story, Kind.STALLED))
        passes(story, 5 * HOUR_S)
        assert told(reaped(story, Kind.STALLED)) == {"acme": ("stalled", "stopped")}


def test_after_a_clock_change_drawing_counts_as_later_than_the_report(story: Story) -> None:
    agent = story.agent(state="busy")
    tells(story, "prompt", "working")
    story.clock.set_by(-5 * HOUR_S)
    passes(story, 130)
    draws(story)
    assert "it drew something 0s ago" in kept(reaped(story, Kind.STALLED))
    assert story.processes.alive(agent.process)


def test_a_sleep_of_the_machine_makes_no_agent_idle(story: Story) -> None:
    story.agent()
    tells(story, "turn_end", "idle")
    passes(story, HOUR_S)
    story.clock.sleep(8 * HOUR_S)
    assert "it did something 1h ago" in kept(reaped(story, Kind.IDLE))
    passes(story, 1.1 * HOUR_S)
    assert told(reaped(story, Kind.IDLE)) == {"acme": ("idle", "stopped")}


def test_an_orchestrator_lives_as_long_as_a_session_that_was_started_from_within_it(
    story: Story,
) -> None:
    boss = story.agent("boss")
    worker = story.agent("worker")
    table = story.processes.table
    environ = dict(table[worker.process.pid].environ or {})
    table[worker.process.pid].environ = {**environ, "TMUXREAP_PARENT": "mark-of-boss"}
    says(story, "tool_before", "working", "boss")
    says(story, "tool_before", "working", "worker")
    story.processes.add("bash", parent=worker.process)
    passes(story, 3 * HOUR_S)
    assert "sub-agents of it live: worker" in kept(reaped(story, Kind.STALLED, Kind.IDLE), "boss")
    assert story.processes.alive(boss.process)
    story.stop("worker")
    assert told(reaped(story, Kind.STALLED)) == {"boss": ("stalled", "stopped")}


@pytest.mark.parametrize("kind", [Kind.STALLED, Kind.IDLE, Kind.EXPIRED])
def test_an_attached_session_is_kept(story: Story, kind: Kind) -> None:
    agent = hung(story)
    _ttl(story, "1m")
    passes(story, 3 * HOUR_S)
    story.tmux.servers[story.SOCKET].sessions[0].attached = 1
    assert kept(reaped(story, kind)) == "a client is attached to it"
    assert story.processes.alive(agent.process)


def test_a_session_attached_through_another_session_is_kept(story: Story) -> None:
    agent = hung(story)
    sessions = story.tmux.servers[story.SOCKET].sessions
    twin = FakeSession("$9", "twin", 1, panes=sessions[0].panes, attached=1, grouped=True)
    sessions.append(twin)
    assert kept(reaped(story, Kind.STALLED)) == "a client is attached to it"
    assert story.processes.alive(agent.process)
    twin.attached = 0
    assert told(reaped(story, Kind.STALLED, yes=False)) == {"acme": ("stalled", "planned")}


def test_reports_from_before_a_new_start_do_not_count(story: Story) -> None:
    says(story, "tool_before", "working")
    passes(story, 500)
    story.agent(state="busy")
    assert kept(reaped(story, Kind.STALLED)) == "not stalled: it never reported"


def test_a_ttl_runs_from_the_last_start(story: Story) -> None:
    agent = story.agent()
    _ttl(story, "2h")
    passes(story, 1.9 * HOUR_S)
    assert "of its ttl are left" in kept(reaped(story, Kind.EXPIRED))
    passes(story, 0.2 * HOUR_S)
    assert told(reaped(story, Kind.EXPIRED)) == {"acme": ("expired", "stopped")}
    assert not story.processes.alive(agent.process)


def _ttl(story: Story, span: str) -> None:
    text = story.path.read_text()
    story.path.write_text(text.replace('"agent": "demo"', f'"agent": "demo", "ttl": "{span}"'))


@pytest.mark.parametrize("kind", [Kind.STALLED, Kind.IDLE])
def test_a_limited_agent_is_no_candidate(story: Story, kind: Kind) -> None:
    own = story.folder / ".config" / "tmuxreap" / "agents.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("agents: {demo: {screens: {limited: '^no more today\\n>'}}}")
    agent = hung(story)
    agent.pane.screen = "no more today\n> "
    if kind is Kind.IDLE:
        tells(story, "turn_end", "idle")
        passes(story, 3 * HOUR_S)
    assert "it met a limit" in kept(reaped(story, kind))
    assert story.processes.alive(agent.process)


@pytest.mark.parametrize(
    ("kinds", "since"),
    [
        ("tool_before", 0),
        ("prompt tool_before tool_after", 2),
        ("prompt tool_before tool_before tool_after", 1),  # the first of two still runs
        ("tool_before tool_before tool_after tool_after", 3),
        ("tool_after tool_before", 1),  # the start of the history was dropped
        ("tool_before prompt", 1),  # a denied tool never ends: the next turn resets
        ("tool_before permission heartbeat", 0),
        ("", 0),
    ],
)
def test_a_tool_runs_since_its_last_start_event(kinds: str, since: float) -> None:
    beats = [
        Heartbeat("acme", float(at), "working", kind, None, {})
        for at, kind in enumerate(kinds.split())
    ]
    assert running_since(reversed(beats)) == since
