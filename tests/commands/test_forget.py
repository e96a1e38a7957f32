"""`forget`: removes the row of an ended session, and nothing else unless named."""

from __future__ import annotations

from tests.fakes import Story
from tmuxreap.commands.forget import ForgetRequest, run


def forget(story: Story, **request: object) -> tuple[object, str | None]:
    (item,) = run(story.app(), ForgetRequest(("acme",), **request)).results  # type: ignore[arg-type]
    return item.as_json().get("forgotten"), item.error.code if item.error else None


def kinds(story: Story) -> list[str]:
    with story.ledger() as ledger:
        return [event.kind for event in ledger.events() if event.name == "acme"]


def test_a_running_row_is_kept_unless_that_was_said(story: Story) -> None:
    story.agent()
    items = run(story.app(), ForgetRequest(("acme",))).results
    assert [item.error is not None for item in items] == [True]
    assert story.row()["status"] == "running"
    assert forget(story, force=True) == (True, None)
    assert "acme" not in story.path.read_text()


def test_its_events_stay_with_the_row_as_it_was(story: Story) -> None:
    story.agent()
    story.stop()
    assert forget(story, reason="cleaning") == (True, None)
    assert kinds(story) == ["stopped", "forgotten"]
    with story.ledger() as ledger:
        last = list(ledger.events())[-1]
    assert (last.data, '"status": "stopped"' in (last.before or "")) == (
        {"reason": "cleaning"},
        True,
    )


def test_its_history_goes_where_that_was_said(story: Story) -> None:
    story.agent()
    story.stop()
    forget(story, history=True)
    assert kinds(story) == []


def test_a_reason_is_kept_when_the_history_goes(story: Story) -> None:
    story.agent()
    story.stop()
    forget(story, history=True, reason="cleaning")
    with story.ledger() as ledger:
        (only,) = ledger.events()
    assert (only.kind, only.data, only.before) == ("forgotten", {"reason": "cleaning"}, None)


def test_a_plan_forgets_nothing(story: Story) -> None:
    story.agent()
    story.stop()
    before = story.path.read_bytes()
    assert forget(story, dry_run=True) == (False, None)
    assert story.path.read_bytes() == before


def test_of_old_ones_only_those_that_ended_long_enough_ago(story: Story) -> None:
    story.agent("old")
    story.agent("new")
    story.stop("old")
    story.processes.wait((), 3600)
    story.stop("new")
    items = run(story.app(), ForgetRequest((), older_than_s=600.0)).results
    assert [item.as_json()["name"] for item in items] == ["old"]
