"""`restart` on each real agent: the same pane, the conversation remembered, the draft back in the
input and not submitted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tests.real_agents.bench import MESSAGE, NAME, Bench
from tests.real_agents.jobs import Job
from tests.real_agents.setups import SETUPS
from tests.real_agents.states import DRAFT
from tests.real_agents.stops import brought
from tmuxreap.agents.screens import State

PANE = "#{pane_id} #{window_id}"


def jobs() -> Iterator[Job]:
    for agent in SETUPS:
        yield Job(agent, "restart, draft", partial(_restarted, state="draft"))
    for agent in SETUPS:
        yield Job(agent, "restart, idle", partial(_restarted, state="idle"))


def _restarted(bench: Bench, *, state: str) -> str:
    brought(bench, state)
    if not bench.profile.resume:
        return _refused(bench)
    before = bench.tmux("display-message", "-p", "-t", f"={NAME}:", PANE)
    item = bench.reap("restart", NAME)
    assert item["outcome"] == "restarted", item
    assert bench.tmux("display-message", "-p", "-t", f"={NAME}:", PANE) == before
    bench.until("the agent", lambda: bench.seen().state in (State.IDLE, State.DRAFT))
    asked = len(bench.model.asked)
    if state == "draft":
        assert item["draft_back"], item
        assert bench.seen().draft.strip() == DRAFT, bench.seen()
        bench.settle(2.0)
        assert len(bench.model.asked) == asked, "the draft was submitted"
        bench.keys("Enter")
    else:
        bench.settle(3.0)  # gemini takes no Enter in its first moments
        bench.say(DRAFT)
    bench.until("both messages", lambda: _told(bench.model.asked[asked:]))
    return f"restarted, {item['duration_ms'] / 1000:.2f} s"


def _refused(bench: Bench) -> str:
    """What could not be resumed gets no key."""
    screen = bench.screen()
    error = bench.answer("restart", NAME)["results"][0]["error"]
    assert error and error["code"] == "not_resumable", error
    bench.settle(2.0)
    assert bench.screen() == screen
    return "refused"


def _told(requests: list[str]) -> bool:
    return any(MESSAGE in request and DRAFT in request for request in requests)
