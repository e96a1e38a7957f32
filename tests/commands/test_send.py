"""`send`: which texts are taken, whom they are for, and how long an agent is waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import Story
from tests.schemas import checked
from tmuxreap.commands import send
from tmuxreap.commands.send import MOST_BYTES, SendRequest, checked_text
from tmuxreap.commands.watch.waiting import Woken
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import ProcessId


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    new = Story(tmp_path)
    yield new
    new.close()


class Waiter:
    """Lets time pass, and something happen in it."""

    def __init__(self, story: Story, then: Callable[[], None] = lambda: None) -> None:
        self.story, self.then = story, then

    def arm(self) -> None: ...

    def wait(self, processes: Iterable[ProcessId], timeout_s: float) -> Woken:
        self.story.processes.wait((), timeout_s)
        self.then()
        return Woken(frozenset(), False, False)


def sent(
    story: Story, text: str = "go on", waiter: Waiter | None = None, **more: Any
) -> dict[str, Any]:
    request = SendRequest("acme", text, **more)
    (item,) = checked(send.run(story.app(), request, waiter)).results
    return item.as_json()


@pytest.mark.parametrize(
    ("text", "pasted"),
    [
        ("one", "one"),
        ("one\r\ntwo\rthree\n", "one\ntwo\nthree"),
        ("\n\tindented\n\n", "\tindented"),
        ("日本語 🚀", "日本語 🚀"),
        ("x" * MOST_BYTES, "x" * MOST_BYTES),
    ],
)
def test_line_ends_become_plain(text: str, pasted: str) -> None:
    assert checked_text(text) == pasted


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "\n\t\n", "\u200b\u00a0"),
        *("a\x1b[201~b", "a\x00b", "a\x07", "a\x7f", "a\x9bb", "a\x0bb"),
        "a\udcffb",
        "x" * (MOST_BYTES + 1),
        "é" * (MOST_BYTES // 2 + 1),
    ],
)
def test_a_text_that_must_not_reach_a_terminal_is_a_mistake(story: Story, text: str) -> None:
    agent = story.agent()
    with pytest.raises(Failure) as mistake:
        sent(story, text)
    assert (mistake.value.code.text, agent.heard) == ("usage", [])


@pytest.mark.parametrize("name", ["all", "acme*", "tag:x", "agent:demo"])
def test_send_takes_one_name(story: Story, name: str) -> None:
    agent = story.agent()
    with pytest.raises(Failure) as mistake:
        send.run(story.app(), SendRequest(name, "go on"))
    assert (mistake.value.code.text, agent.heard) == ("usage", [])


def test_a_name_without_a_row_is_not_registered(story: Story) -> None:
    story.agent()
    result = checked(send.run(story.app(), SendRequest("other", "go on")))
    assert (int(result.exit), result.results[0].as_json()["error"]["code"]) == (  # type: ignore[index]
        3,
        "session_not_registered",
    )


def test_a_protected_session_accepts_prompts(story: Story) -> None:
    agent = story.agent()
    agent.works = True
    text = story.path.read_text()
    story.path.write_text(text.replace('"name": "acme"', '"name": "acme", "keep": true'))
    assert sent(story)["outcome"] == "sent"


def test_send_waits_until_the_agent_is_idle(story: Story) -> None:
    agent = story.agent(state="busy")
    agent.works = True
    looks: list[int] = []

    def then() -> None:
        looks.append(1)
        if len(looks) == 3:
            agent.press("Escape")

    one = sent(story, waiter=Waiter(story, then), when_idle_s=60.0)
    assert (one["outcome"], agent.heard) == ("sent", ["Escape", "go on", "Enter"])
    assert one["waited_ms"] >= 2000


def test_send_gives_up_when_its_time_is_up(story: Story) -> None:
    agent = story.agent(state="busy")
    one = sent(story, waiter=Waiter(story), when_idle_s=5.0)
    assert (one["outcome"], one["error"]["code"], agent.heard) == ("refused", "not_idle", [])
    assert "waited for 5 s" in one["error"]["message"]


def test_a_prompt_is_typed_once_whatever_follows(story: Story) -> None:
    agent = story.agent()
    one = sent(story, waiter=Waiter(story), when_idle_s=60.0)
    assert (one["outcome"], agent.heard) == ("unknown", ["go on", "Enter"])


def test_send_does_not_wait_for_a_state_that_cannot_change(story: Story) -> None:
    agent = story.agent()
    story.tmux.change(agent.pane, synchronized=True)
    before = story.clock.monotonic()
    one = sent(story, waiter=Waiter(story), when_idle_s=60.0)
    assert (one["error"]["code"], one["state"]) == ("not_idle", "idle")
    assert story.clock.monotonic() - before < 1.0


@pytest.mark.parametrize("row_stays", [True, False])
def test_the_row_is_read_again_while_it_is_waited_for(story: Story, row_stays: bool) -> None:
    """Its agent was replaced meanwhile: the prompt is for the one that the row names now. Where the
    row is gone, it is for the agent that was named."""
    before = story.agent(state="busy")
    before.works = True
    after = story.agent("next")
    after.works = True

    def then() -> None:
        lines = story.path.read_text().splitlines(keepends=True)
        kept = [line for line in lines if '"name": "acme"' not in line]
        if row_stays:
            kept = [line.replace('"name": "next"', '"name": "acme"') for line in kept]
        story.path.write_text("".join(kept))
        before.state = "busy" if row_stays else "idle"
        before.draw()

    one = sent(story, waiter=Waiter(story, then), when_idle_s=10.0)
    assert one["outcome"] == "sent"
    if row_stays:
        assert (before.submitted, after.submitted) == ([], ["go on"])
    else:
        assert (before.submitted, after.submitted) == (["go on"], [])
