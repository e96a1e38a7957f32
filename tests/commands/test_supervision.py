"""For operators of many sessions: protection, trees, who ended what, and retention."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.fakes import FakeAgent, Story
from tmuxreap.commands import forget
from tmuxreap.commands import list as listing
from tmuxreap.commands.forget import ForgetRequest
from tmuxreap.commands.list import ListRequest
from tmuxreap.ledger.records import Heartbeat, NewEvent

DAY_S = 86400.0


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    told = Story(tmp_path)
    yield told
    told.close()


def test_the_end_of_a_parent_names_its_children(story: Story) -> None:
    story.agent("lead")
    story.agent("child")
    story.path.write_text(
        story.path.read_text().replace('"name": "child"', '"name": "child", "parent": "lead"')
    )
    tree = listing.run(story.app(), ListRequest(tree=True)).results
    assert [(one.as_json()["name"], one.as_json()["depth"]) for one in tree] == [
        ("lead", 0),
        ("child", 1),
    ]
    (told,) = (item.as_json() for item in story.stop("lead").results)
    assert told["warnings"] == [
        "children_running: lead started child, still running; end them with: tmuxreap stop"
        " tree:lead"
    ]
    (told,) = (item.as_json() for item in story.stop("tree:lead").results)
    assert (told["name"], told["outcome"], told["warnings"]) == ("child", "stopped", [])


def test_only_what_ended_long_ago_is_forgotten(story: Story) -> None:
    for name in ("old", "new", "odd"):
        story.agent(name)
    story.stop("old", "odd")
    story.path.write_text(
        "".join(_without_end(line) for line in story.path.read_text().splitlines(keepends=True))
    )
    story.clock.sleep(31 * DAY_S)
    story.stop("new")
    result = forget.run(story.app(), ForgetRequest((), older_than_s=30 * DAY_S))
    assert [item.as_json()["name"] for item in result.results] == ["old"]


def _without_end(line: str) -> str:
    """Remove the time at which `odd` ended."""
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
    assert [beat.conversation_id for beat in books.heartbeats_of("acme")] == [None, "kept"]
    assert books.heartbeats_of("nobody") == []
    assert [event.kind for event in books.events(None, None)] == ["draft", "dead"]


def at(agent: FakeAgent, state: str) -> Callable[[], None]:
    def change() -> None:
        agent.state = state
        agent.draw()

    return change
