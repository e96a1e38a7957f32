"""`wait`: until sessions reach a state or are gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import FakeAgent, Story
from tmuxreap.commands import wait
from tmuxreap.commands.wait import Until, WaitRequest
from tmuxreap.commands.watch.waiting import Woken
from tmuxreap.core.model import ProcessId


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    told = Story(tmp_path)
    yield told
    told.close()


class Hears:
    """A waiter that plays one step of the history in each wait."""

    def __init__(self, story: Story, *history: Callable[[], object]) -> None:
        self.story, self.history = story, list(history)
        self.waits: list[float] = []

    def arm(self) -> None:
        pass

    def wait(self, processes: Iterable[ProcessId], timeout_s: float) -> Woken:
        self.waits.append(timeout_s)
        watched = frozenset(processes)
        if self.history:
            self.history.pop(0)()
        self.story.clock.move_to(self.story.clock.monotonic() + timeout_s)
        gone = frozenset(one for one in watched if self.story.processes.refresh(one) is None)
        return Woken(gone, changed=True, ending=False)


def awaits(
    story: Story, until: str, *history: Callable[[], object], **more: Any
) -> tuple[list[dict[str, Any]], int]:
    request = WaitRequest(more.pop("targets", ("acme",)), Until(until), **more)
    result = wait.run(story.app(), request, Hears(story, *history))
    return [item.as_json() for item in result.results], int(result.exit)


def at(agent: FakeAgent, state: str) -> Callable[[], None]:
    def change() -> None:
        agent.state = state
        agent.draw()

    return change


def test_a_state_is_awaited(story: Story) -> None:
    agent = story.agent(state="busy")
    told, status = awaits(story, "idle", lambda: None, at(agent, "idle"))
    assert (told[0]["state"], told[0]["reached"], status) == ("idle", True, 0)
    assert told[0]["waited_ms"] == 2000


def test_a_dead_session_is_gone(story: Story) -> None:
    agent = story.agent(state="busy")
    told, status = awaits(story, "idle", lambda: story.processes.die(agent.process))
    assert (told[0]["error"]["code"], told[0]["state"], status) == ("gone", None, 1)


def test_a_timeout_reports_each_sessions_state(story: Story) -> None:
    story.agent("acme", state="busy")
    story.agent("base", state="dialog")
    told, status = awaits(story, "idle", targets=("all",), timeout_s=3.0)
    assert [(one["state"], one["reached"], one["error"]["code"]) for one in told] == [
        ("working", False, "timed_out"),
        ("waiting", False, "timed_out"),
    ]
    assert status == 1


def test_the_first_of_any_is_enough(story: Story) -> None:
    busy = story.agent("acme", state="busy")
    story.agent("base", state="busy")
    told, status = awaits(story, "idle", at(busy, "idle"), targets=("all",), any=True)
    assert ([one["reached"] for one in told], status) == ([True, False], 0)


def test_gone_follows_the_look_and_ended_follows_the_row(story: Story) -> None:
    agent = story.agent()
    told, status = awaits(story, "gone", lambda: story.processes.die(agent.process))
    assert (told[0]["reached"], status, story.row()["status"]) == (True, 0, "running")
    story.agent("base")
    told, status = awaits(story, "ended", lambda: story.stop("base"), targets=("base",))
    assert (told[0]["reached"], status) == (True, 0)


def test_a_wait_does_not_poll_where_the_kernel_reports_deaths(story: Story) -> None:
    agent = story.agent()
    hears = Hears(story, lambda: story.processes.die(agent.process))
    wait.run(story.app(), WaitRequest(("acme",), Until.GONE), hears)
    assert hears.waits[0] == wait.LONG_S


@pytest.mark.parametrize("until", ["idle", "gone"])
def test_a_session_that_cannot_be_checked_is_neither_dead_nor_alive(
    story: Story, until: str
) -> None:
    story.agent()
    story.tmux.hung.add(story.SOCKET)
    (told,), status = awaits(story, until, timeout_s=3.0)
    assert (told["state"], told["error"]["code"], status) == (None, "timed_out", 1)
    assert told["error"]["message"].endswith("could not look at acme: no answer in 5 s")
    assert told["error"]["hint"].endswith("tmuxreap show acme")


def test_a_process_begun_meanwhile_makes_a_wait_write_nothing(story: Story) -> None:
    """The ledger's file is watched, and an agent at work begins processes all the time."""
    agent = story.agent().process
    written: list[dict[str, bytes]] = []

    def works() -> None:
        story.processes.add("cc", parent=agent)
        written.append(story.written())

    awaits(story, "gone", *[works] * 3, timeout_s=20_000.0)
    assert len(written) == 3
    assert written[0] == written[1] == written[2]


def test_an_agent_whose_pane_was_moved_is_not_gone(story: Story) -> None:
    agent = story.agent()
    quiet = story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    story.tmux.join(agent.pane, quiet)
    told, status = awaits(story, "gone", timeout_s=3.0)
    assert (told[0]["reached"], told[0]["error"]["code"], status) == (False, "timed_out", 1)
    assert "its pane is in the session quiet now" in told[0]["error"]["message"]
    told, _ = awaits(story, "idle", timeout_s=3.0)
    assert (told[0]["reached"], told[0]["error"]["code"]) == (False, "session_replaced")
    told, _ = awaits(story, "gone", lambda: story.processes.die(agent.process), timeout_s=30.0)
    assert told[0]["reached"]
