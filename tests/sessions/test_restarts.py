"""Pending restarts: by how the session ended, earlier decisions, and the number of attempts."""

from __future__ import annotations

import pytest

from tests.fakes import Story
from tests.restarting import begin, die, kinds, lost, row_of, wanting, write
from tmuxreap.ledger.records import Heartbeat, NewEvent
from tmuxreap.sessions.under_way import (
    GIVEN_UP,
    REBOOT,
    START_UNKNOWN,
    LedgerUnreadable,
)


@pytest.mark.parametrize(
    ("cause", "comes"),
    [
        ("SIGKILL", True),
        ("SIGHUP", True),
        ("exit status 1", True),
        ("exit status 143", True),
        ("exit status 0", False),
        ("its tmux server ended (SIGKILL)", True),
        (REBOOT, True),
        (None, True),
    ],
)
def test_on_failure_follows_the_cause_from_the_kernel(
    story: Story, cause: str | None, comes: bool
) -> None:
    row = lost(story, cause=cause)
    assert (story.app().restarts.pending(row) is not None) is comes
    write(story, "acme", restart="always")
    assert story.app().restarts.pending(row_of(story)) is not None


@pytest.mark.parametrize(
    ("cause", "comes"), [(None, False), ("exit status 1", False), ("SIGKILL", True)]
)
def test_a_good_bye_by_hook_means_that_a_person_ended_the_agent(
    story: Story, cause: str | None, comes: bool
) -> None:
    wanting(story)
    beat = Heartbeat("acme", story.clock.now(), "ended", "session_end", None, {})
    story.app().books.beat(beat)
    die(story, cause=cause)
    assert (story.app().restarts.pending(row_of(story)) is not None) is comes


def test_a_good_bye_of_another_life_says_nothing(story: Story) -> None:
    wanting(story)
    pane = {**story.row()["pane"], "created_epoch": story.clock.now()}  # type: ignore[dict-item]
    write(story, "acme", pane=pane)
    beat = Heartbeat("acme", story.clock.now() - 60, "ended", "session_end", None, {})
    story.app().books.beat(beat)
    die(story, cause=None)
    assert story.app().restarts.pending(row_of(story)) is not None


def test_an_agent_that_left_its_shell_with_its_banner_said_good_bye(story: Story) -> None:
    agent = story.agent(shell=True)
    write(story, "acme", restart="on-failure")
    begin(story)
    agent.pane.screen = (
        "$ demo\nResume this conversation with: tmuxreap-demo --resume"
        " 0b9e7a52-6d0c-4f63-9b53-1d5f0c6f2a11\n$"
    )
    die(story)  # the shell stays
    assert kinds(story) == ["agent_gone"]
    assert agent.shell is not None
    story.processes.die(agent.shell)
    die(story, cause="SIGHUP")
    assert kinds(story) == ["agent_gone", "dead"]
    assert story.app().restarts.pending(row_of(story)) is None


def test_stopped_sessions_and_those_of_another_host_do_not_come_back(story: Story) -> None:
    wanting(story)
    story.stop()
    assert story.app().restarts.pending(row_of(story)) is None
    row = lost(story, "other")
    write(story, "other", tmux={**row.data["tmux"], "host": "elsewhere"})  # type: ignore[dict-item]
    assert story.app().restarts.pending(row_of(story, "other")) is None


def test_a_row_of_another_tool_is_judged_by_its_times(story: Story) -> None:
    begun_at = int(story.clock.now())
    lost_at = {"early": begun_at - 100, "late": begun_at + 100, "never": None}
    for pid, name in enumerate(lost_at, start=4000):
        story.add_row({"name": name, "status": "running", "pane": {"pid": pid}})
        begin(story, name)
    for name, epoch in lost_at.items():
        ended = {"status": "terminated", "termination_mode": "lost", "restart": "always"}
        write(story, name, **ended, terminated_at_epoch=epoch)
    log = story.app().restarts
    come = [name for name in ("early", "late", "never") if log.pending(row_of(story, name))]
    assert come == ["late"]


def test_without_its_ledger_no_pending_restart_is_known(story: Story) -> None:
    row = lost(story)
    for app in story.apps:
        app.close()
    for file in story.folder.glob("*.db*"):
        file.unlink()
    with pytest.raises(ValueError, match=START_UNKNOWN):
        story.app().restarts.pending(row)


def test_an_unavailable_ledger_is_asked_again_later(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, app = lost(story), story.app()
    monkeypatch.setattr(app.books, "history", lambda name: None)
    with pytest.raises(LedgerUnreadable):
        app.restarts.pending(row)
    assert not app.restarts.cancel(row, "stop", dict)
    assert "restart_not_cancelled" in app.warnings[-1]


def test_each_loss_is_decided_once(story: Story) -> None:
    row = lost(story)
    assert story.app().restarts.cancel(row, "stop", dict)
    assert not story.app().restarts.cancel(row, "stop", dict)
    assert story.app().restarts.pending(row) is None
    write(story, "acme", terminated_at_epoch=int(story.clock.now()) + 100)
    later = row_of(story)
    known = story.app().restarts.pending(later)
    assert known is not None
    assert story.app().restarts.decide("acme", known.loss, GIVEN_UP, {})
    assert not story.app().restarts.cancel(later, "stop", dict)
    assert kinds(story)[-2:] == ["restart_cancelled", "restart_given_up"]


def test_only_one_watch_takes_an_attempt(story: Story) -> None:
    row = lost(story)
    known = story.app().restarts.pending(row)
    assert known is not None
    assert [story.app().restarts.claim(known), story.app().restarts.claim(known)] == [True, False]
    again = story.app().restarts.pending(row)
    assert again is not None
    assert (again.tried, again.recent) == (1, 1)


@pytest.mark.parametrize("hours", [-5, 5])
def test_the_restart_limit_uses_a_monotonic_clock(story: Story, hours: int) -> None:
    row = lost(story)
    known = story.app().restarts.pending(row)
    assert known is not None
    story.app().restarts.claim(known)
    story.clock.set_by(hours * 3600)
    again = story.app().restarts.pending(row)
    assert again is not None
    assert again.recent == 1
    story.clock.sleep(601)
    later = story.app().restarts.pending(row)
    assert later is not None
    assert (later.tried, later.recent) == (1, 0)


def test_a_person_who_resumes_it_clears_the_account(story: Story) -> None:
    row = lost(story)
    known = story.app().restarts.pending(row)
    assert known is not None
    story.app().restarts.claim(known)
    begin(story, kind="resumed", restart=1)
    story.app().books.note_all([NewEvent("acme", "dead")])
    assert (again := story.app().restarts.pending(row)) is not None
    assert again.recent == 1
    begin(story, kind="resumed")
    story.app().books.note_all([NewEvent("acme", "dead")])
    assert (again := story.app().restarts.pending(row)) is not None
    assert again.recent == 0
