"""The caller's own session is handed to a finisher: how it is started, its arguments, and when it
begins."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.fakes import OWN_PID, Story
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import EndVerb, ProcessId, Scope
from tmuxreap.core.ports import Processes
from tmuxreap.ending import end
from tmuxreap.ending.policy import Policy
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Begun, Intent, NewIntent
from tmuxreap.sessions.context import Context
from tmuxreap.system.whereabouts import own_command

POLICY = Policy(
    verb=EndVerb.KILL,
    reason='it\'s "done"',
    keys_timeout_s=0.5,
    grace_s=0.0,
    force=False,
    scope=Scope.PANE,
    own_session=True,
    cleanup=True,
    task_status="ready",
)


def begun(app: Context, owner: ProcessId) -> Intent:
    new = NewIntent(
        "acme", "stop", "manual_stop", "agent", owner, Story.BOOT, app.clock.now() + 60, (), "{}"
    )
    (answer,) = app.books.begin([new], lambda intent: True, take_over=False)
    assert isinstance(answer, Begun)
    return answer.intent


def ports(app: Context) -> tuple[Books, Processes, Mapping[str, str]]:
    return app.books, app.processes, app.settings.environ


def left(app: Context, number: int) -> Intent | None:
    me = app.place.pid
    return end.wait_for_caller(app.books, app.processes, app.clock, me, number)


def test_the_whole_policy_is_handed_over() -> None:
    assert end.from_text(end.to_text(POLICY)) == POLICY


class Started:
    """Records how a process would be started."""

    def __init__(self, story: Story, *, lives: bool = True) -> None:
        self.story, self.lives = story, lives
        self.words: Sequence[str] = ()
        self.given: dict[str, Any] = {}
        self.returncode: int | None = None
        self.pid = 4242

    def __call__(self, words: Sequence[str], **given: Any) -> Started:
        self.words, self.given = words, given
        if self.lives:
            self.story.processes.add("python3", pid=self.pid, new_session=True)
        return self


def test_the_finisher_runs_outside_the_session(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.agent()
    app = story.app()
    app.settings.environ.update(
        {"TMUX": "/tmp/s,1,0", "TMUX_PANE": "%0", "TMUXREAP_ID": "x", "PATH": "/bin"}
    )  # type: ignore[attr-defined]
    started = Started(story)
    monkeypatch.setattr(end.subprocess, "Popen", started)
    caller = story.processes.identify(OWN_PID)
    assert caller is not None
    intent = begun(app, caller)
    end.hand_over(*ports(app), intent, "acme", POLICY)

    assert started.given["env"] == {
        "PATH": "/bin",
        "HOME": str(story.folder),
        "TMUX_TMPDIR": "/tmp",
    }
    assert (started.given["start_new_session"], started.given["cwd"]) == (True, "/")
    assert {started.given[name] for name in ("stdin", "stdout", "stderr")} == {
        end.subprocess.DEVNULL
    }
    assert started.given.get("close_fds", True)
    assert tuple(started.words[:3]) == own_command(end.FINISH)
    assert (started.words[3], json.loads(started.words[5])["reason"]) == (
        str(story.path),
        POLICY.reason,
    )
    now = app.books.intent(intent.id)
    assert now is not None
    assert (now.owner.pid, now.handed_from) == (started.pid, OWN_PID)


def test_a_dead_process_is_no_finisher(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    app = story.app()
    monkeypatch.setattr(end.subprocess, "Popen", Started(story, lives=False))
    caller = story.processes.identify(OWN_PID)
    assert caller is not None
    with pytest.raises(Failure) as failure:
        end.hand_over(*ports(app), begun(app, caller), "acme", POLICY)
    assert (failure.value.code, failure.value.message) == (
        Code.OWN_SESSION,
        "could not hand acme over: the finisher did not live",
    )


def test_without_an_intent_nothing_is_handed_over(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Started(story)
    monkeypatch.setattr(end.subprocess, "Popen", started)
    with pytest.raises(Failure) as failure:
        end.hand_over(*ports(story.app()), None, "acme", POLICY)
    assert (failure.value.code, started.words) == (Code.OWN_SESSION, ())


def handed(story: Story) -> tuple[Context, int, ProcessId]:
    """Return the finisher, its intent's number, and the surviving caller."""
    caller = story.processes.add("tmuxreap", pid=777)
    finisher = story.processes.identify(OWN_PID)
    assert finisher is not None
    app = story.app()
    intent = begun(app, caller)
    assert app.books.hand_over(intent.id, finisher)
    return app, intent.id, caller


def test_the_finisher_begins_when_the_caller_has_exited(story: Story) -> None:
    app, number, caller = handed(story)
    story.processes.after(1.5, lambda: story.processes.die(caller))
    before = app.clock.monotonic()
    intent = left(app, number)
    assert intent is not None and intent.id == number
    assert app.clock.monotonic() - before == pytest.approx(1.5)


def test_a_caller_that_stays_has_five_seconds(story: Story) -> None:
    app, number, caller = handed(story)
    before = app.clock.monotonic()
    assert left(app, number) is not None
    assert app.clock.monotonic() - before == pytest.approx(5.0)
    assert story.processes.refresh(caller) is not None


def test_the_intent_of_another_owner_is_left_alone(story: Story) -> None:
    """The hand-over failed half-way: the caller still owns the intent."""
    caller = story.processes.add("tmuxreap", pid=777)
    app = story.app()
    number = begun(app, caller).id
    assert left(app, number) is None
    assert left(app, number + 1) is None
