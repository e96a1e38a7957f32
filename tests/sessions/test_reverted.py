"""Rows that went back in time, on fakes; tests/live/test_reverted.py does the same for real."""

from __future__ import annotations

import pytest

from tests.fakes import Story, row_of
from tmuxreap.commands import show, start
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Row, Status
from tmuxreap.core.values import replace
from tmuxreap.sessions.look import Newer, newer_rows, why_reverted


def newer(story: Story, name: str = "acme") -> Newer | None:
    app, row = story.app(), row_of(story, name)
    return newer_rows(app.books, [(row, app.sights.of_row(row))], app.sights.with_pasts).get(name)


def undo(story: Story) -> None:
    """Stop the session, and put back the registry from before."""
    old = story.path.read_bytes()
    story.stop(reason="done for good")
    story.path.write_bytes(old)


@pytest.fixture
def gone_back(story: Story) -> Story:
    story.tmux.open(story.SOCKET, "base", "bash")
    story.agent()
    undo(story)
    return story


def test_a_row_whose_process_the_ledger_saw_ended_is_ended(gone_back: Story) -> None:
    found = newer(gone_back)
    assert found is not None
    assert (found.row.status.value, found.row.stop_reason) == ("stopped", "done for good")
    assert found.corrected_at is None


def test_a_row_that_agrees_with_the_world_is_not_asked_about(story: Story) -> None:
    story.agent()
    assert newer(story) is None


def test_an_end_counts_only_where_nothing_of_it_lives(gone_back: Story) -> None:
    gone_back.tmux.open(gone_back.SOCKET, "acme", "bash")
    assert newer(gone_back) is None


def test_a_row_remembers_when_it_was_last_written_back(gone_back: Story) -> None:
    old = gone_back.path.read_bytes()
    (drift,) = reconcile.settle(gone_back.app()).result.results
    assert drift.as_json()["drift"] == "reverted"
    assert drift.as_json()["settled"] is True
    gone_back.path.write_bytes(old)
    found = newer(gone_back)
    assert found is not None
    assert found.corrected_at == pytest.approx(gone_back.clock.now(), abs=1.0)


def test_a_row_that_is_renewed_while_it_is_looked_at_did_not_go_back(story: Story) -> None:
    """A list read the row, waits for a server that is slow, and a start is through meanwhile."""
    agent = story.agent()
    story.processes.die(agent.process)
    app, row = story.app(), row_of(story, "acme")
    sight = app.sights.of_row(row)
    before = story.path.read_bytes()
    start.run(story.app(), start.StartRequest("acme", "demo", cwd="/", confirm_s=0.1))
    assert newer_rows(app.books, [(row, sight)], app.sights.with_pasts) == {}
    story.path.write_bytes(before)
    assert [*newer_rows(app.books, [(row, sight)], app.sights.with_pasts)] == ["acme"]


def test_a_registry_that_cannot_be_read_again_changes_nothing(
    gone_back: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, row = gone_back.app(), row_of(gone_back, "acme")
    sight = app.sights.of_row(row)

    def look() -> None:
        raise Failure(Code.REGISTRY_INVALID, "it is torn", "")

    monkeypatch.setattr(app.books.registry, "look", look)
    assert [*newer_rows(app.books, [(row, sight)], app.sights.with_pasts)] == ["acme"]


def test_without_a_ledger_nothing_is_known(gone_back: Story) -> None:
    for file in gone_back.folder.glob("*.db*"):
        file.unlink()
    assert newer(gone_back) is None


@pytest.mark.parametrize(
    ("reason", "mode", "said"),
    [
        ("done", "hard_kill", "(done)"),
        (None, "hard_kill", "(hard_kill)"),
        (None, None, "(no reason is recorded)"),
    ],
)
def test_a_row_that_went_back_names_the_reason_of_its_end(
    gone_back: Story, reason: str | None, mode: str | None, said: str
) -> None:
    found = newer(gone_back)
    assert found is not None
    row = Row("acme", Status.STOPPED, stop_reason=reason, data={"termination_mode": mode})
    told = why_reverted(row_of(gone_back), replace(found, row=row))
    assert told.endswith(f" {said}, and the registry went back to before that")


def test_show_says_that_a_row_went_back_in_time(gone_back: Story) -> None:
    (one,) = show.run(gone_back.app(), ["acme"]).results
    assert one.as_json()["drift"] == "reverted"
