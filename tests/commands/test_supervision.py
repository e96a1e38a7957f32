"""What an operator of many needs: protected sessions, trees, who ended what, and how long things are kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes import FakeAgent, Story
from tmuxreap.commands import forget, protect, show, wait
from tmuxreap.commands import list as listing
from tmuxreap.commands.forget import ForgetRequest
from tmuxreap.commands.list import ListRequest
from tmuxreap.commands.protect import ProtectRequest
from tmuxreap.commands.reap import reap
from tmuxreap.commands.reap.reap import ReapRequest
from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.commands.wait import Until, WaitRequest
from tmuxreap.commands.watch.waiting import Woken
from tmuxreap.core.model import ProcessId
from tmuxreap.core.results import Result
from tmuxreap.ledger.records import Heartbeat, NewEvent

DAY_S = 86400.0


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    told = Story(tmp_path)
    yield told
    told.close()


def outcomes(result: Result) -> dict[str, object]:
    return {str(one["name"]): one.get("outcome") for one in (item.as_json() for item in result.results)}


def test_all_leaves_the_protected_out_and_its_name_ends_it(story: Story) -> None:
    story.agent("acme")
    story.agent("base")
    done = protect.run(story.app(), ProtectRequest(("base",)))
    assert done.results[0].as_json() == {"name": "base", "keep": True, "changed": True, "error": None}
    again = protect.run(story.app(), ProtectRequest(("base",)))
    assert again.results[0].as_json()["changed"] is False
    result = story.stop("all", dry_run=False)
    assert (outcomes(result), int(result.exit)) == ({"acme": "stopped"}, 0)
    assert [warning.partition(":")[0] for warning in result.warnings] == ["protected"]
    protect.run(story.app(), ProtectRequest(("all",), keep=False))
    assert "keep" not in story.path.read_text()
    assert outcomes(story.stop("base")) == {"base": "stopped"}


def test_a_reap_leaves_the_protected_out(story: Story) -> None:
    story.agent("acme")
    story.agent("base")
    for name in ("acme", "base"):
        text = story.path.read_text()
        story.path.write_text(text.replace(f'"name": "{name}"', f'"name": "{name}", "ttl": "1s"'))
    protect.run(story.app(), ProtectRequest(("base",)))
    story.clock.sleep(60)
    result = reap.run(story.app(), ReapRequest((Kind.EXPIRED,), yes=True))
    assert outcomes(result) == {"acme": "stopped"}
    assert result.warnings[0].startswith("protected: left out base;")


def test_the_end_of_a_parent_names_its_children(story: Story) -> None:
    story.agent("lead")
    story.agent("child")
    story.path.write_text(story.path.read_text().replace('"name": "child"', '"name": "child", "parent": "lead"'))
    tree = listing.run(story.app(), ListRequest(tree=True)).results
    assert [(one.as_json()["name"], one.as_json()["depth"]) for one in tree] == [("lead", 0), ("child", 1)]
    (told,) = (item.as_json() for item in story.stop("lead").results)
    assert told["warnings"] == [
        "children_running: lead started child, still running; end them with: tmuxreap stop tree:lead"
    ]
    (told,) = (item.as_json() for item in story.stop("tree:lead").results)
    assert (told["name"], told["outcome"], told["warnings"]) == ("child", "stopped", [])


def test_who_ended_it_stands_in_the_event_and_in_show(story: Story) -> None:
    story.agent()
    app = story.app()
    app.tool = "mcp"
    from tmuxreap.commands import stop
    from tmuxreap.core.model import Verb
    from tmuxreap.ending.plan import Policy

    stop.run(app, stop.EndRequest(("acme",), Policy(Verb.STOP, "why")))
    (told,) = (item.as_json() for item in show.run(story.app(), ["acme"]).results)
    by = told["ended_by"]
    assert isinstance(by, dict)
    assert (by["host"], by["tool"], by["session"]) == (story.HOST, "mcp", None)
    assert by["user"]
    assert "ended_by" not in story.row()


def test_only_what_ended_long_ago_is_forgotten(story: Story) -> None:
    for name in ("old", "new", "odd"):
        story.agent(name)
    story.stop("old", "odd")
    story.path.write_text("".join(_without_end(line) for line in story.path.read_text().splitlines(keepends=True)))
    story.clock.sleep(31 * DAY_S)
    story.stop("new")
    result = forget.run(story.app(), ForgetRequest((), older_than_s=30 * DAY_S))
    assert [item.as_json()["name"] for item in result.results] == ["old"]


def _without_end(line: str) -> str:
    """Of `odd` nothing says when it ended."""
    if '"odd"' not in line:
        return line
    (row,) = yaml.safe_load(line)
    row = {key: value for key, value in row.items() if not key.startswith("stopped_at")}
    return f"  - {json.dumps(row)}\n"


def test_old_heartbeats_and_states_go_and_what_is_needed_stays(story: Story) -> None:
    story.agent()
    books, now = story.app().books, story.clock.now()
    books.follow(story.app().registry.look())
    for at, conversation in ((0.0, None), (1.0, "kept"), (2.0, None), (91 * DAY_S, None)):
        books.beat(Heartbeat("acme", now + at, "idle", "heartbeat", conversation, {}))
    books.beat(Heartbeat("nobody", now, "idle", "heartbeat", "dropped", {}))
    books.note_all(
        [
            NewEvent("acme", "state", {}),
            NewEvent("acme", "draft", {"text": "half"}),
            NewEvent("acme", "dead", {}, "row"),
        ]
    )
    story.clock.sleep(91 * DAY_S)
    books.retire(90 * DAY_S)
    assert [beat.conversation_id for beat in books.told("acme")] == [None, "kept"]
    assert books.told("nobody") == []
    assert [event.kind for event in books.events(None, None)] == ["draft", "dead"]


class Hears:
    """In each wait does what the history says."""

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
        gone = frozenset(one for one in watched if self.story.processes.again(one) is None)
        return Woken(gone, changed=True, ending=False)


def awaits(story: Story, until: str, *history: Callable[[], object], **more: Any) -> tuple[list[dict[str, Any]], int]:
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


def test_one_that_dies_is_gone(story: Story) -> None:
    agent = story.agent(state="busy")
    told, status = awaits(story, "idle", lambda: story.processes.die(agent.process))
    assert (told[0]["error"]["code"], told[0]["state"], status) == ("gone", None, 1)


def test_a_time_that_is_up_tells_each_ones_state(story: Story) -> None:
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


def test_gone_is_by_its_own_look_and_ended_by_the_row(story: Story) -> None:
    agent = story.agent()
    told, status = awaits(story, "gone", lambda: story.processes.die(agent.process))
    assert (told[0]["reached"], status, story.row()["status"]) == (True, 0, "running")
    story.agent("base")
    told, status = awaits(story, "ended", lambda: story.stop("base"), targets=("base",))
    assert (told[0]["reached"], status) == (True, 0)


def test_nothing_looks_by_itself_where_the_kernel_tells(story: Story) -> None:
    agent = story.agent()
    hears = Hears(story, lambda: story.processes.die(agent.process))
    wait.run(story.app(), WaitRequest(("acme",), Until.GONE), hears)
    assert hears.waits[0] == wait.LONG_S
