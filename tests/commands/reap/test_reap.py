"""`reap` as histories: what is reported, what is ended, and what survives."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import Any

import pytest

from tests.fakes import FakeAgent, Story
from tests.reaping import draws, hung, kept, passes, reaped, says, tells, told
from tmuxreap.commands.reap import reap
from tmuxreap.commands.reap.verdicts import Kind, Limits
from tmuxreap.core.model import EndVerb, ProcessId, Unreachable
from tmuxreap.core.text import Style
from tmuxreap.ending.policy import EndingOptions, make_policy
from tmuxreap.interfaces.text.report import report
from tmuxreap.ledger.database import ledger_path
from tmuxreap.ledger.records import NewIntent

HOUR_S = 3600.0


def test_without_yes_the_plan_is_reported_and_nothing_is_ended(story: Story) -> None:
    agent = hung(story)
    before = story.written()
    for request in ({"yes": False}, {"yes": True, "dry_run": True}):
        result = reaped(story, Kind.STALLED, **request)
        assert told(result) == {"acme": ("stalled", "planned")}
        assert result.exit == 0
        assert "plan" in result.results[0].as_json()
    assert story.processes.alive(agent.process)
    assert not agent.heard
    assert story.written()["agent-sessions.yaml"] == before["agent-sessions.yaml"]
    with story.ledger() as ledger:
        assert ledger.events() == []


def test_a_hung_tool_is_ended_by_the_ladder_and_can_be_resumed(story: Story) -> None:
    agent = hung(story)
    result = reaped(story, Kind.STALLED)
    assert told(result) == {"acme": ("stalled", "stopped")}
    assert not story.processes.alive(agent.process)
    row = story.row()
    assert (row["status"], row["stop_reason"], row["termination_mode"], row["resumable"]) == (
        "stopped",
        "stalled",
        "graceful",
        True,
    )
    evidence = result.results[0].as_json()["evidence"]
    assert isinstance(evidence, dict)
    assert (evidence["event"], evidence["age_s"], evidence["limit_s"]) == (
        "tool_before",
        200,
        120.0,
    )


def test_a_model_that_thinks_for_minutes_redraws_its_spinner_and_lives(story: Story) -> None:
    agent = story.agent(state="busy")
    tells(story, "prompt", "working")
    for _ in range(10):
        passes(story, 100)
        draws(story)
        assert kept(reaped(story, Kind.STALLED)) in (
            "not stalled: it drew something 0s ago",
            "not stalled: it said working 1m 40s ago",
        )
    assert story.processes.alive(agent.process)
    passes(story, 121)  # a busy screen that is frozen is stalled
    result = reaped(story, Kind.STALLED)
    assert told(result) == {"acme": ("stalled", "stopped")}
    evidence: Any = result.results[0].as_json()["evidence"]
    assert (evidence["age_s"], evidence["screen_still_s"], evidence["state"]) == (
        1121,
        121,
        "working",
    )


def test_an_agent_that_draws_after_the_verdict_is_kept(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = hung(story)
    sweep = reap.sweep

    def a_moment_later(*words: Any) -> Any:
        draws(story)
        return sweep(*words)

    monkeypatch.setattr(reap, "sweep", a_moment_later)
    assert "not any more: not stalled: it drew something 0s ago" in kept(
        reaped(story, Kind.STALLED)
    )
    assert story.processes.alive(agent.process)


@pytest.mark.parametrize("kind", [Kind.STALLED, Kind.IDLE, Kind.EXPIRED])
def test_an_open_dialog_is_never_answered_by_reap(story: Story, kind: Kind) -> None:
    agent = story.agent(state="dialog")
    says(story, "tool_before", "working")
    _ttl(story, "1m")
    passes(story, 3 * HOUR_S)
    assert "it waits for a person" in kept(reaped(story, kind))
    assert not agent.heard


def test_an_agent_that_reported_idle_or_nothing_is_not_stalled(story: Story) -> None:
    for name in ("quiet", "done"):
        story.agent(name)
    says(story, "turn_end", "idle", "done")
    passes(story, 200)
    result = reaped(story, Kind.STALLED)
    assert not result.results
    assert (kept(result, "quiet"), kept(result, "done")) == (
        "not stalled: it never reported",
        "not stalled: it last said idle",
    )


@pytest.mark.parametrize("yes", [False, True])
def test_a_person_reads_why_each_session_was_kept(
    story: Story, capsys: pytest.CaptureFixture[str], yes: bool
) -> None:
    names = [f"quiet{number}" for number in range(reap.KEPT_SHOWN + 2)]
    for name in names:
        story.agent(name)
    hung(story, "safe")  # a warning of its own tells of it
    story.path.write_text(
        story.path.read_text().replace('"name": "safe"', '"name": "safe", "keep": true')
    )
    report(reaped(story, Kind.STALLED, yes=yes), Style())
    said = capsys.readouterr().err.splitlines()
    reasons = [f"kept {name}: not stalled: it never reported" for name in names]
    assert [line for line in said if line.startswith("kept ")] == reasons[: reap.KEPT_SHOWN]
    assert "and 2 more; see all with --json" in said


def test_reap_never_ends_the_callers_own_session(story: Story) -> None:
    agent = hung(story)
    inside = story.processes.add("tmuxreap", pid=777, parent=agent.process)
    assert kept(reaped(story, pid=inside.pid)) == "this command runs inside it"
    assert story.processes.alive(agent.process)


def test_a_session_that_another_process_is_ending_is_left_alone(story: Story) -> None:
    agent = hung(story)
    owner = story.processes.add("tmuxreap")
    intent = NewIntent(
        "acme", "stop", "manual_stop", "agent", owner, story.BOOT, story.clock.now() + 60, (), "{}"
    )
    with story.ledger() as ledger:
        ledger.begin_intent(
            intent, owner_alive=lambda _: True, take_over=False, now=story.clock.now()
        )
    assert kept(reaped(story)) == "it is being ended by another"
    assert story.processes.alive(agent.process)


def test_a_verdict_that_no_longer_holds_is_dropped(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = hung(story)
    sweep = reap.sweep

    def a_moment_later(*words: Any) -> Any:
        says(story, "tool_after", "working")
        return sweep(*words)

    monkeypatch.setattr(reap, "sweep", a_moment_later)
    result = reaped(story, Kind.STALLED)
    assert not result.results
    assert "not any more: not stalled: it said working 0s ago" in kept(result)
    assert story.processes.alive(agent.process)


def tasks(story: Story) -> list[tuple[str, str, str]]:
    with contextlib.closing(sqlite3.connect(ledger_path(story.path))) as db:
        return db.execute("SELECT task_id, status, error_message FROM orchestrator_task").fetchall()


@pytest.mark.parametrize("status", ["failed", "ready"])
def test_a_reaped_sessions_task_gets_the_requested_status(story: Story, status: str) -> None:
    hung(story)
    text = story.path.read_text()
    story.path.write_text(
        text.replace('"agent": "demo"', '"agent": "demo", "task_id": "TASK-31-1"')
    )
    policy = make_policy(EndVerb.STOP, EndingOptions(task_status=status), {})
    reaped(story, Kind.STALLED, policy=policy)
    assert tasks(story) == [("TASK-31-1", status, "Agent killed: stalled")]


def test_orphans_of_an_ended_session_do_not_change_its_task(story: Story) -> None:
    left_behind(story)
    text = story.path.read_text()
    story.path.write_text(
        text.replace('"agent": "demo"', '"agent": "demo", "task_id": "TASK-31-1"')
    )
    assert told(reaped(story, Kind.ORPHAN)) == {"acme": ("orphan", "stopped")}
    assert tasks(story) == []


# Orphans


def left_behind(story: Story, name: str = "acme") -> tuple[FakeAgent, ProcessId]:
    """Return an ended row's agent, and its helper that survived."""
    agent = story.agent(name, status="stopped")
    marks = {"TMUXREAP_ID": f"mark-of-{name}", "TMUXREAP_REGISTRY": str(story.path)}
    helper = story.processes.add(
        "node", parent=agent.process, new_session=True, environ=marks, memory=5 * 1024 * 1024
    )
    sessions = story.tmux.servers[story.SOCKET].sessions
    sessions[:] = [session for session in sessions if session.name != name]
    story.processes.die(agent.process)
    with story.ledger() as ledger:
        ledger.remember_mark(name, f"mark-of-{name}", 1.0)
    return agent, helper


def test_with_no_kind_given_all_are_selected(story: Story) -> None:
    hung(story, "hung")
    left_behind(story, "left")
    assert {verdict for verdict, _ in told(reaped(story, yes=False)).values()} == {
        "stalled",
        "orphan",
    }
    assert told(reaped(story, Kind.IDLE, yes=False)) == {}


def test_reap_uses_the_thresholds_it_was_given(story: Story) -> None:
    hung(story)
    assert not reaped(story, Kind.STALLED, limits=Limits(stalled_after_s=201)).results
    assert reaped(story, Kind.STALLED, yes=False, limits=Limits(stalled_after_s=199)).results


def _ttl(story: Story, span: str) -> None:
    text = story.path.read_text()
    story.path.write_text(text.replace('"agent": "demo"', f'"agent": "demo", "ttl": "{span}"'))


def test_where_tmux_cannot_be_asked_nothing_is_reaped(story: Story) -> None:
    agent = hung(story)
    _, helper = left_behind(story, "left")
    story.tmux.answers[story.SOCKET] = Unreachable(story.SOCKET, "no answer", "try again")
    result = reaped(story)
    assert not result.results
    assert kept(result) == "it could not be looked at"
    (warning,) = result.warnings
    assert warning.startswith("tmux_unreachable: could not judge acme: ")
    assert story.processes.alive(agent.process)
    assert story.processes.alive(helper)
