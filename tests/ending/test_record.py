"""What is written if the row became invalid meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.ending.test_plan import STOP
from tests.fakes import Story
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.errors import Code, Exit, Failure
from tmuxreap.core.model import Outcome, Status, StoppedBy
from tmuxreap.core.results import Ending, Result
from tmuxreap.ending.record import renewed, taken_over, unrecorded, vanished

DONE = Ending("acme", Outcome.STOPPED, Status.STOPPED, stopped_by=StoppedBy.EXIT_KEYS)


def failures(result: Result) -> list[Code]:
    return [Code.of(item.error.code) for item in result.results if item.error]


def doubled(text: str) -> str:
    return text + "  - {name: acme, status: running}\n"


def tagged(text: str) -> str:
    return text.replace('"name": "acme"', '"name": !here "acme"')


@pytest.mark.parametrize("spoilt", [doubled, tagged])
def test_a_row_that_goes_bad_during_the_stop_is_not_called_gone(
    story: Story, spoilt: Callable[[str], str]
) -> None:
    story.agent(exit_delay_s=0.5)
    good = story.path.read_text()
    story.processes.after(
        0.3, lambda: story.path.write_text(spoilt(story.path.read_text())) and None
    )
    result = story.stop(reason="night")
    assert (failures(result), result.exit) == ([Code.ROW_INVALID], Exit.REGISTRY)
    assert result.results[0].as_json()["outcome"] == "failed"
    assert "was ended" in str(result.results[0].as_json()["error"])
    bad = story.path.read_text()
    reconcile.run(story.app())
    assert story.path.read_text() == bad
    story.path.write_text(good)
    reconcile.run(story.app())
    row: Any = story.row()
    assert (row["status"], row["stop_reason"], row["termination_mode"]) == (
        "stopped",
        "night",
        "graceful",
    )


def test_a_row_that_was_removed_meanwhile_is_not_made_again(story: Story) -> None:
    agent = story.agent(exit_delay_s=1.0)
    story.processes.after(0.5, lambda: story.path.write_text("tmux_sessions: []\n"))
    (result,) = story.stop().results
    assert result.as_json()["outcome"] == "stopped"
    assert any(warning.startswith("row_vanished:") for warning in result.warnings)  # type: ignore[attr-defined]
    assert story.path.read_text() == "tmux_sessions: []\n"
    assert not story.processes.alive(agent.process)


def test_a_row_that_now_means_another_session_is_left_alone(story: Story) -> None:
    story.agent(exit_delay_s=1.0)
    text = story.path.read_text()
    renewed = text.replace('"session_created": ', '"session_created": 9')
    story.processes.after(0.5, lambda: story.path.write_text(renewed))
    (result,) = story.stop().results
    assert any(warning.startswith("row_renewed:") for warning in result.warnings)  # type: ignore[attr-defined]
    assert story.path.read_text() == renewed


def test_an_ending_closes_its_intent_with_what_was_answered(story: Story) -> None:
    story.agent()
    (result,) = story.stop(reason="done").results
    with story.ledger() as ledger:
        assert ledger.open_intents() == []
        (event,) = [event for event in ledger.events() if event.kind == "stopped"]
        closed = ledger.intent(ledger.latest_intent())
    assert closed is not None
    assert (closed.outcome, closed.result) == ("stopped", result.as_json())
    assert (event.data["reason"], '"status": "running"' in (event.before or "")) == ("done", True)


def test_a_change_between_the_end_and_its_record_is_a_warning() -> None:
    assert (vanished(DONE).status, vanished(DONE).warnings[0][:12]) == (None, "row_vanished")
    assert (renewed(DONE).status, renewed(DONE).warnings[0][:11]) == (Status.RUNNING, "row_renewed")
    over = taken_over(DONE)
    assert (over.outcome, over.stopped_by) == (Outcome.TAKEN_OVER, None)


@pytest.mark.parametrize(
    ("intended", "hint"),
    [(True, "tmuxreap reconcile"), (False, "tmuxreap stop acme --reason manual_stop")],
)
def test_an_end_that_could_not_be_written_names_the_next_command(intended: bool, hint: str) -> None:
    full = Failure(Code.REGISTRY_UNWRITABLE, "could not write: full")
    result = unrecorded(DONE, full, STOP, intended=intended)
    assert (result.outcome, result.status) == (Outcome.FAILED, Status.RUNNING)
    assert result.error is not None
    assert result.error.message.startswith("could not write: full (acme itself was ended)")
    assert result.error.hint.endswith(hint)


def test_an_ending_for_another_process_names_that_ones_caller(story: Story) -> None:
    """As of a finisher, to which a caller handed its own session over."""
    story.agent()
    caller = {"user": "ann", "host": "here", "tool": "mcp", "session": "acme"}
    story.stop(asked_by=caller)
    (event,) = (it for it in story.app().books.events({"acme"}, None) if it.kind == "stopped")
    assert event.data["ended_by"] == caller
