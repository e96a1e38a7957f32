"""A delegated job is told about its session at the start of an ending, and at its end."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from signal import Signals

import pytest

from tests.fakes import FakeAgent, Story
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.model import ProcessId
from tmuxreap.ledger.records import NewIntent


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    (tmp_path / "jobs").mkdir()
    one = Story(tmp_path)
    yield one
    one.close()


def delegated(story: Story, job: str = "job-7", **agent: object) -> FakeAgent:
    one = story.agent(**agent)  # type: ignore[arg-type]
    text = story.path.read_text()
    story.path.write_text(
        text.replace('"agent": "demo"', f'"agent": "demo", "delegate_job_id": {json.dumps(job)}')
    )
    return one


def noted(story: Story) -> list[tuple[object, object]]:
    with story.ledger() as ledger:
        return [
            (event.data["event"], event.data["detail"])
            for event in ledger.events()
            if event.kind == "job"
        ]


def logged(story: Story) -> list[tuple[str, str]]:
    lines = (story.folder / "jobs" / "job-7.events.log").read_text().splitlines()
    return [(line["event"], line["detail"]) for line in map(json.loads, lines)]


@pytest.mark.parametrize(
    ("verb", "event", "reason"),
    [("stop", "completed", "manual_stop"), ("kill", "cancelled", "killed")],
)
def test_a_job_is_reported_before_the_first_key_and_after_the_end(
    story: Story, verb: str, event: str, reason: str
) -> None:
    agent = delegated(story)
    job, log = (story.folder / "jobs" / f"job-7.{end}" for end in ("json", "events.log"))
    job.write_text('{"id": "job-7", "status": "running", "prompt": "größer"}\n')
    log.write_text("")
    heard: list[str] = []
    press = agent.pane.on_key
    assert press is not None
    agent.pane.on_key = lambda key: (
        heard.append(json.loads(job.read_text())["detail"]),
        press(key),
    )[-1]
    result = getattr(story, verb)("acme")
    assert result.exit == 0
    assert set(heard) == ({"terminating"} if verb == "stop" else set())
    facts = json.loads(job.read_text())
    assert (facts["id"], facts["status"], facts["detail"], facts["prompt"]) == (
        "job-7",
        event,
        reason,
        "größer",
    )
    assert "größer" in job.read_text()
    assert logged(story) == noted(story) == [("progress", "terminating"), (event, reason)]


def test_a_survivor_makes_it_an_error(story: Story) -> None:
    delegated(story, unkillable=True, ignores=set(Signals), leaves=False)
    result = story.stop("acme")
    assert result.exit == 1
    first, (event, detail) = noted(story)
    assert first == ("progress", "terminating")
    assert event == "error"
    assert "still alive" in str(detail)


def test_the_ledger_is_updated_even_without_job_files(story: Story) -> None:
    delegated(story)
    assert not story.stop("acme").results[0].as_json()["warnings"]
    assert noted(story) == [("progress", "terminating"), ("completed", "manual_stop")]
    assert os.listdir(story.folder / "jobs") == []


def test_orphans_of_an_ended_session_do_not_change_its_job(story: Story) -> None:
    agent = delegated(story, status="stopped")
    story.processes.add("node", parent=agent.process, new_session=True)
    story.tmux.servers[story.SOCKET].sessions.clear()
    story.kill("acme")
    assert noted(story) == []


@pytest.mark.parametrize(("verb", "event"), [("stop", "completed"), ("kill", "cancelled")])
def test_reconcile_reports_for_an_owner_that_died_before_reporting(
    story: Story, verb: str, event: str
) -> None:
    agent = delegated(story)
    intent = NewIntent(
        "acme",
        verb,
        "enough",
        "agent",
        ProcessId(4242, 1),
        story.BOOT,
        story.clock.now() + 9,
        (),
        "{}",
    )
    with story.ledger() as ledger:
        ledger.begin_intent(
            intent, owner_alive=lambda _: False, take_over=False, now=story.clock.now()
        )
    story.tmux.servers[story.SOCKET].sessions.clear()
    story.processes.die(agent.process)
    reconcile.run(story.app())
    assert story.row()["status"] == "stopped"
    assert noted(story) == [(event, "enough")]


def test_the_job_of_an_agent_found_dead_gets_no_report(story: Story) -> None:
    agent = delegated(story)
    story.tmux.servers[story.SOCKET].sessions.clear()
    story.processes.die(agent.process)
    reconcile.run(story.app())
    assert story.row()["status"] == "terminated"
    assert noted(story) == []
