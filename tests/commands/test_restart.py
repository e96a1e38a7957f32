"""`restart`: which agents are restarted, in what order, and what is refused before any key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import OWN_PID, Story
from tests.schemas import checked
from tmuxreap.commands import restart
from tmuxreap.commands.restart import RestartRequest
from tmuxreap.commands.watch.waiting import Woken
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import ProcessId
from tmuxreap.core.results import Result
from tmuxreap.registry.file import RegistryFile, RegistryLook


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    new = Story(tmp_path)
    new.comes_back()
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


def some(story: Story, *names: str, **more: Any) -> None:
    """Add agents, each in a conversation of its own."""
    for number, name in enumerate(names):
        conversation = f"{number + 1}b9e7a52-6d0c-4f63-9b53-1d5f0c6f2a11"
        story.agent(name, conversation=conversation, **more)


def edit(story: Story, old: str, new: str) -> None:
    text = story.path.read_text()
    assert old in text
    story.path.write_text(text.replace(old, new))


def code(one: dict[str, Any]) -> str | None:
    return None if one["error"] is None else one["error"]["code"]


def test_an_agent_comes_back_in_its_own_pane(story: Story) -> None:
    agent = story.agent()
    pane, old = agent.pane.now.id, agent.process.pid
    (one,) = story.restart()
    assert (one["outcome"], one["old_pid"], one["pane_id"]) == ("restarted", old, pane)
    assert one["pid"] == story.agents["acme"].process.pid != old
    assert story.processes.refresh(agent.process) is None
    row = story.row()
    assert (row["status"], row["pane"]["pid"]) == ("running", one["pid"])  # type: ignore[index]
    assert agent.pane.options == {}


def test_a_draft_is_typed_back_without_enter(story: Story) -> None:
    story.agent(draft="half a thought")
    (one,) = story.restart()
    again = story.agents["acme"]
    assert (one["draft"]["chars"], one["draft_back"]) == (14, True)
    assert not [it for it in one["warnings"] if it.startswith("draft_kept")]
    assert (again.draft, again.submitted) == ("half a thought", [])


def test_a_draft_without_an_input_is_kept_and_reported(story: Story) -> None:
    """The agent comes back with a dialog open: nothing is typed into it."""
    story.agent(draft="half a thought")
    began = story.tmux.on_respawn
    assert began is not None

    def asks(pane: Any) -> None:
        began(pane)
        story.agents["acme"].state = "dialog"
        story.agents["acme"].draw()

    story.tmux.on_respawn = asks
    (one,) = story.restart()
    assert (one["outcome"], one["draft_back"]) == ("restarted", False)
    (warning,) = one["warnings"]
    assert warning.startswith("draft_kept: ")
    assert story.agents["acme"].heard == []
    kept = [event for event in story.ledger().events() if event.kind == "draft"]
    assert kept[0].data["text"] == "half a thought"


def test_an_agent_below_a_shell_comes_back_below_one(story: Story) -> None:
    agent = story.agent(shell=True)
    story.tmux.on_respawn = None
    story.restart()
    (command,) = [words[5] for words in story.told() if "respawn-pane" in " ".join(words)]
    assert "bash -i -c" in command
    assert "--resume" in command
    assert story.processes.refresh(agent.process) is None


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"name": "acme"', '"name": "acme", "terminal": "none"', "without a terminal"),
        ('"name": "acme"', '"name": "acme", "terminal": "kitty"', "kitty"),
        ('"name": "acme"', '"name": "acme", "terminal": "wezterm"', "WezTerm"),
    ],
)
def test_without_a_tmux_pane_it_is_refused(story: Story, old: str, new: str, expected: str) -> None:
    agent = story.agent()
    edit(story, old, new)
    (one,) = story.restart()
    assert (one["outcome"], code(one), agent.heard) == ("refused", "not_resumable", [])
    assert expected in one["error"]["message"]
    assert "tmuxreap stop acme, then: tmuxreap resume acme" in one["error"]["hint"]


def test_a_session_that_cannot_be_resumed_is_refused_before_any_key(story: Story) -> None:
    agent = story.agent(message=False, draft="half")
    (one,) = story.restart()
    assert (one["outcome"], code(one)) == ("refused", "not_resumable")
    assert (agent.heard, agent.draft) == ([], "half")
    assert story.row()["status"] == "running"
    assert story.recorded_plans() == []


def test_the_callers_own_session_is_refused(story: Story) -> None:
    agent = story.agent()
    mine = story.processes.add("python3", "tmuxreap", parent=agent.process)
    (one,) = story.restart(pid=mine.pid)
    assert (one["outcome"], code(one), agent.heard) == ("refused", "own_session", [])
    assert "another session" in one["error"]["hint"]


@pytest.mark.parametrize("state", ["ended", "agent gone", "gone"])
def test_a_restart_without_an_agent_says_how_to_resume(story: Story, state: str) -> None:
    agent = story.agent(shell=True)
    if state == "agent gone":
        agent.leave()
        story.processes.wait((), 0.1)
    else:
        story.stop("acme")
    if state == "gone":
        edit(story, '"status": "stopped"', '"status": "running"')
    (one,) = story.restart()
    assert (one["outcome"], code(one)) == ("refused", "gone")
    assert "tmuxreap resume acme" in one["error"]["hint"]


def test_a_protected_agent_is_left_out_of_patterns(story: Story) -> None:
    agent = story.agent()
    edit(story, '"name": "acme"', '"name": "acme", "keep": true')
    assert story.restart("all") == []
    assert agent.heard == []
    (one,) = story.restart("acme")
    assert one["outcome"] == "restarted"


def test_agents_are_restarted_one_by_one(story: Story) -> None:
    names = ["one", "two", "three"]
    some(story, *names)
    answers = story.restart("all")
    assert [one["name"] for one in answers] == names
    respawned = [words for words in story.told() if "respawn-pane" in " ".join(words)]
    assert len(respawned) == 3
    ended = [event.name for event in story.ledger().events() if event.kind == "stopped"]
    begun = [event for event in story.ledger().events() if event.kind in ("stopped", "restarted")]
    assert ended == names
    assert [event.kind for event in begun] == ["stopped", "restarted"] * 3


def test_a_restart_takes_several_at_once(story: Story) -> None:
    some(story, "one", "two", "three")
    story.restart("all", at_once=2)
    kinds = ("stopped", "restarted")
    begun = [event.kind for event in story.ledger().events() if event.kind in kinds]
    assert begun == ["stopped", "stopped", "restarted", "restarted", "stopped", "restarted"]


@pytest.mark.parametrize("count", [0, -1])
def test_a_restart_of_none_at_once_is_refused(story: Story, count: int) -> None:
    agent = story.agent()
    with pytest.raises(Failure) as mistake:
        story.restart(at_once=count)
    assert (mistake.value.code.text, agent.heard) == ("usage", [])


def test_one_failing_agent_stops_no_other(story: Story) -> None:
    some(story, "one", message=False)
    story.agent("two")
    answers = story.restart("all")
    assert [one["outcome"] for one in answers] == ["refused", "restarted"]


def test_a_conversation_in_use_by_another_is_not_resumed_twice(story: Story) -> None:
    agent = story.agent("one")
    story.agent("two")
    (one,) = story.restart("one")
    assert (one["outcome"], code(one), agent.heard) == ("refused", "conversation_in_use", [])


def when_idle(story: Story, seconds: float, then: Callable[[], None] = lambda: None) -> Result:
    request = RestartRequest(("all",), when_idle_s=seconds)
    return checked(restart.run(story.app(), request, Waiter(story, then)))


def test_an_idle_agent_goes_first(story: Story) -> None:
    busy = story.agent("busy", state="busy")
    some(story, "idle")

    def then() -> None:
        if story.processes.refresh(story.agents["idle"].process) is not None:
            busy.press("Escape")

    answers = when_idle(story, 60.0, then).results
    assert [one.as_json()["outcome"] for one in answers] == ["restarted", "restarted"]
    begun = [event.name for event in story.ledger().events() if event.kind == "restarted"]
    assert begun == ["idle", "busy"]
    assert answers[0].as_json()["waited_ms"] > 0


def test_an_agent_that_stays_busy_is_left_alone(story: Story) -> None:
    agent = story.agent(state="busy")
    (one,) = when_idle(story, 5.0).results
    assert (one.as_json()["outcome"], code(one.as_json())) == ("refused", "not_idle")
    assert agent.heard == []


def test_a_plan_tells_that_the_registry_cannot_be_written(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: RegistryFile, look: RegistryLook) -> None:
        raise Failure(Code.REGISTRY_UNWRITABLE, "could not write: no space left", "")

    some(story, "acme")
    monkeypatch.setattr(RegistryFile, "check_space", full)
    with pytest.raises(Failure, match="no space left"):
        story.restart(dry_run=True)


def test_a_plan_touches_nothing(story: Story) -> None:
    agent = story.agent()
    before = story.written()
    (one,) = story.restart(dry_run=True)
    assert (one["outcome"], one["plan"]["verb"], one["plan"]["scope"]) == (
        "planned",
        "restart",
        "pane",
    )
    assert (agent.heard, story.written()) == ([], before)


def test_a_restart_by_pattern_asks_first(story: Story) -> None:
    agent = story.agent()
    asked: list[Result] = []

    def no(plan: Result) -> bool:
        asked.append(plan)
        return False

    result = checked(restart.run(story.app(), RestartRequest(("all",), ask=no)))
    assert (result.failure and result.failure.code.text, agent.heard) == ("declined", [])
    assert asked[0].results[0].as_json()["outcome"] == "planned"


def test_an_agent_must_say_yes_before_a_pattern_is_restarted(story: Story) -> None:
    agent = story.agent()
    some(story, "other")
    other = story.agents["other"]
    mine = story.processes.add("python3", "tmuxreap", parent=other.process)
    result = checked(restart.run(story.app(mine.pid), RestartRequest(("ac*",))))
    assert (int(result.exit), agent.heard) == (2, [])
    result = checked(restart.run(story.app(mine.pid), RestartRequest(("ac*",), yes=True)))
    assert result.results[0].as_json()["outcome"] == "restarted"


def test_a_restart_belongs_to_no_set(story: Story) -> None:
    story.agent()
    story.restart()
    events = [event for event in story.ledger().events() if event.kind == "stopped"]
    assert "set" not in events[0].data


def test_a_name_without_a_row_is_not_registered(story: Story) -> None:
    result = checked(restart.run(story.app(OWN_PID), RestartRequest(("nobody",))))
    assert int(result.exit) == 3
