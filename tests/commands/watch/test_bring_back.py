"""A restart: by `resume` with all its refusals, once, and never after it was canceled."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.fakes import Story, row_of
from tests.restarting import die, kinds, lost, wanting, write
from tmuxreap.commands import forget, resume, start, stop
from tmuxreap.commands.watch.restarting import bring_back
from tmuxreap.core.model import EndVerb
from tmuxreap.core.results import Result
from tmuxreap.ending.policy import Policy
from tmuxreap.ledger.records import NewIntent
from tmuxreap.registry.rows import loss_key

RESTARTED = ["dead", "restarting", "resumed"]


def again(story: Story) -> Result:
    return bring_back(
        story.app(), "acme", loss_key(row_of(story)), kinds(story).count("restarting")
    )


def began(story: Story) -> str:
    made = [line for line in story.told() if line[0] == "new-session"]
    return " ".join(made[-1]) if made else ""


def test_the_conversation_continues_without_repeating_its_first_prompt(story: Story) -> None:
    row = lost(story)
    write(story, "acme", start_command="python3 -m tmuxreap.demo_agent")
    again(story)
    assert kinds(story) == RESTARTED
    assert row.conversations[0][1] in began(story).split()
    assert "--resume" in began(story)
    assert row_of(story).status.value == "running"
    (event,) = [one for one in story.app().books.events({"acme"}, None) if one.kind == "resumed"]
    assert event.data["restart"] == 1


def test_a_second_watch_comes_too_late(story: Story) -> None:
    loss = loss_key(lost(story))
    bring_back(story.app(), "acme", loss, 0)
    bring_back(story.app(), "acme", loss, 0)
    assert kinds(story) == RESTARTED


def test_without_a_conversation_only_always_starts_a_session_over(story: Story) -> None:
    lost(story, message=False)
    again(story)
    assert kinds(story) == ["dead", "restarting", "restart_given_up"]
    event = story.app().books.events({"acme"}, None)[-1]
    assert event.data["hint"] == "tmuxreap start acme"
    assert "not on disk" in str(event.data["reason"])
    again(story)  # given up stays given up
    assert kinds(story)[-1] == "restart_given_up"


def test_always_runs_the_command_where_no_conversation_can_be_resumed(story: Story) -> None:
    words = "python3 -m tmuxreap.demo_agent --from here"
    lost(story, restart="always", start_command=words, message=False)
    write(story, "acme", start_command="touch /tmp/of-another-hand")
    again(story)
    assert kinds(story) == ["dead", "restarting", "started"]
    assert "--from here" in began(story)


def test_a_refused_resume_counts_as_a_failed_attempt(story: Story) -> None:
    lost(story)
    story.tmux.open(story.SOCKET, "acme", "bash")
    again(story)
    assert kinds(story) == ["dead", "restarting", "restart_failed"]
    error = story.app().books.events({"acme"}, None)[-1].data["error"]
    assert isinstance(error, dict)
    assert error["code"] == "session_exists"


def by_stop(story: Story) -> None:
    (told,) = story.stop().results
    assert told.as_json()["outcome"] == "already_stopped"


def by_pattern(story: Story) -> None:
    (told,) = story.stop("all").results
    assert told.as_json()["outcome"] == "already_stopped"


def by_forget(story: Story) -> None:
    forget.run(story.app(), forget.ForgetRequest(("acme",)))


def by_resume(story: Story) -> None:
    resume.run(story.app(), resume.ResumeRequest(("acme",)))


def by_start(story: Story) -> None:
    start.run(
        story.app(), start.StartRequest("acme", command=("python3", "-m", "tmuxreap.demo_agent"))
    )


def by_purge(story: Story) -> None:
    policy = Policy(EndVerb.STOP, "manual_stop", purge=True)
    stop.run(story.app(), stop.EndRequest(("acme",), policy, yes=True))


BY = {
    "stop": by_stop,
    "pattern": by_pattern,
    "kill": lambda story: story.kill(),
    "forget": by_forget,
    "resume": by_resume,
    "start": by_start,
    "purge": by_purge,
}


@pytest.mark.parametrize("verb", BY)
def test_a_deliberate_act_cancels_a_pending_restart(story: Story, verb: str) -> None:
    loss = loss_key(lost(story))
    bytes_before = story.path.read_bytes()
    act: Callable[[Story], object] = BY[verb]
    act(story)
    if verb in ("stop", "kill", "pattern"):
        assert story.path.read_bytes() == bytes_before
    bring_back(story.app(), "acme", loss, 0)
    assert kinds(story).count("restart_cancelled") == 1
    assert "restarting" not in kinds(story)


@pytest.mark.parametrize("verb", ["stop", "kill", "purge"])
def test_a_session_lost_during_its_stop_is_not_restarted(
    story: Story, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """It ran when the registry was read; a watch records its death before the intent opens."""
    wanting(story)
    made, dies = story.tmux.look, iter([True])

    def meanwhile(socket: str) -> object:
        if next(dies, False):
            die(story)
        return made(socket)

    monkeypatch.setattr(story.tmux, "look", meanwhile)
    act: Callable[[Story], object] = BY[verb]
    act(story)
    assert kinds(story).count("restart_cancelled") == 1
    assert story.app().restarts.pending(row_of(story)) is None


def test_a_look_or_a_plan_cancels_nothing(story: Story) -> None:
    lost(story)
    story.stop(dry_run=True)
    resume.run(story.app(), resume.ResumeRequest(("acme",), print_only=True))
    resume.run(story.app(), resume.ResumeRequest(("acme",), dry_run=True))
    forget.run(story.app(), forget.ForgetRequest(("acme",), dry_run=True))
    again(story)
    assert kinds(story) == RESTARTED


def test_an_attempt_cancelled_after_it_was_claimed_is_not_made(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = lost(story)
    made = story.tmux.look

    def late(socket: str) -> object:
        if "restarting" in kinds(story):
            story.app().restarts.cancel(row, "stop", dict)
        return made(socket)

    monkeypatch.setattr(story.tmux, "look", late)
    again(story)
    assert kinds(story) == ["dead", "restarting", "restart_cancelled"]
    assert began(story) == ""


def test_a_stop_waits_for_the_restart_that_is_in_progress(story: Story) -> None:
    lost(story)
    owner = story.processes.add("tmuxreap", pid=4711)
    new = NewIntent(
        "acme", "start", "resumed", "session", owner, story.BOOT, story.clock.now() + 60, (), "{}"
    )
    story.app().books.begin([new], lambda intent: True, take_over=False)
    story.processes.after(0.5, lambda: story.processes.die(owner))
    before = story.clock.monotonic()
    by_stop(story)
    assert story.clock.monotonic() - before >= 0.5


def test_no_session_is_restarted_without_a_record_in_the_ledger(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss = loss_key(lost(story))
    app = story.app()
    monkeypatch.setattr(app.books, "begin", lambda news, owner_alive, take_over: [None] * len(news))
    bring_back(app, "acme", loss, 0)
    assert began(story) == ""
    assert kinds(story) == ["dead", "restarting"]


def test_a_session_handled_by_another_process_is_left_alone(story: Story) -> None:
    loss = loss_key(lost(story))
    owner = story.processes.add("tmuxreap", pid=4711)
    new = NewIntent(
        "acme", "start", "started", "session", owner, story.BOOT, 2e9, (), '{"marks": []}'
    )
    story.app().books.begin([new], lambda intent: True, take_over=False)
    bring_back(story.app(), "acme", loss, 0)
    assert kinds(story) == ["dead"]
