"""The conversation reported by the agent's own hooks: of this very process, the latest, through a
/clear."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.fake_processes import FakeClock, FakeProcesses
from tests.fakes import Story, row_of, sight
from tmuxreap.agents.conversations import find
from tmuxreap.agents.conversations.find import AgentProcess
from tmuxreap.agents.profiles import Locator, Profile
from tmuxreap.core.model import ProcessId, Row
from tmuxreap.ledger.records import Heartbeat
from tmuxreap.sessions import conversation
from tmuxreap.sessions.conversation import Finder, Known

CLAUDE = Profile("claude", locators=(Locator("hook"),))
AGENT = AgentProcess(ProcessId(70, 700), ("claude",), 0.0)


def beat(kind: str, conversation: str | None, pid: int = 70, start: int = 700) -> Heartbeat:
    return Heartbeat("acme", 1.0, "idle", kind, conversation, {"pid": pid, "start": start})


def hooked(*beats: Heartbeat, profile: Profile = CLAUDE) -> str | None:
    """Return the hooked conversation; `beats` are the latest first, as in the ledger."""
    books: Any = SimpleNamespace(heartbeats_of=lambda name: list(beats))
    finder = Finder(FakeProcesses(FakeClock()), books, Path("/"))
    return finder._hooked(cast("Row", SimpleNamespace(name="acme")), [AGENT], profile)


def test_the_latest_report_counts_even_after_a_clear() -> None:
    assert hooked(beat("prompt", "new"), beat("session_end", "old"), beat("prompt", "old")) == "new"


def test_an_end_reported_late_does_not_hide_the_new_conversation() -> None:
    assert hooked(beat("session_end", "old"), beat("session_start", "new")) == "new"


def test_reports_of_earlier_and_inner_agents_do_not_count() -> None:
    assert (
        hooked(
            beat("prompt", "nested", pid=99),
            beat("prompt", "mine"),
            beat("prompt", "earlier", start=5),
        )
        == "mine"
    )
    assert hooked(beat("prompt", "earlier", start=5)) is None
    assert hooked(Heartbeat("acme", 1.0, "working", "heartbeat", None, {})) is None


def test_an_agent_that_is_a_script_is_one_of_the_shells_that_its_hook_went_through() -> None:
    data = {"pid": 1, "start": 1, "program": "node", "below": [[69, 1], [70, 700]]}
    assert hooked(Heartbeat("acme", 1.0, "idle", "prompt", "mine", data)) == "mine"
    assert (
        hooked(Heartbeat("acme", 1.0, "idle", "prompt", "else", {**data, "below": [[70, 5], "?"]}))
        is None
    )


def test_a_hook_process_speaks_for_the_agent_whose_mark_it_carries() -> None:
    def by(program: str, at: float) -> str | None:
        return hooked(
            Heartbeat(
                "acme", at, "idle", "prompt", "told", {"pid": 5, "start": 5, "program": program}
            )
        )

    assert by("python3", 1.0) == "told"
    assert by("python3", -1.0) is None  # before this agent existed
    assert by("claude", 1.0) is None
    assert by("node", 1.0) is None


def test_an_agent_without_hooks_is_not_looked_up() -> None:
    assert hooked(beat("prompt", "mine"), profile=Profile("demo")) is None


def test_a_fork_is_found_by_one_reading_of_the_pid_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two readings the agent may have come back."""
    read: list[str | None] = ["w1", None]
    followed: list[str | None] = []
    monkeypatch.setattr(find, "parked_session", lambda *_: read.pop(0))

    def follow(*given: Any) -> tuple[find.Conversation, None]:
        followed.append(given[-1])
        return find.NONE, None

    monkeypatch.setattr(conversation, "follow", follow)
    monkeypatch.setattr(Finder, "_clues", lambda *_: (find.Clues(), {}))
    monkeypatch.setattr(conversation, "_recorded", lambda *_: find.NONE)
    finder = Finder(FakeProcesses(FakeClock()), cast("Any", None), Path("/"))
    row: Any = SimpleNamespace(store=None, pane=SimpleNamespace(cwd="/"))
    sight: Any = SimpleNamespace(agent=[SimpleNamespace(id=AGENT.id)])
    finder.forked_of(row, sight, Profile("claude"))
    assert (followed, read) == (["w1"], [None])


@pytest.mark.parametrize(
    ("candidates", "said"),
    [
        (("one",), "it could be one, but another agent of its kind runs in its folder"),
        (("one", "two"), "it could be any of one, two"),
    ],
)
def test_candidates_are_named_where_none_is_certain(candidates: tuple[str, ...], said: str) -> None:
    (warning,) = Known(find.NONE, find.Clues(), candidates=candidates).warnings
    assert warning == f"ambiguous_conversation: {said}; none was recorded"


def test_a_report_of_an_earlier_life_is_not_the_last_state(story: Story) -> None:
    story.agent()
    app = story.app()
    row = row_of(story)
    for ago, state, found in ((1e6, "working", ""), (0.0, "waiting", "waiting")):
        app.books.beat(Heartbeat("acme", app.clock.now() - ago, state, "prompt", None, {}))
        assert app.finder.last_reported_state(row, sight(story)) == found
