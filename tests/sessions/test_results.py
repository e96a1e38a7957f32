"""A row's account of its session's life, as in `list`."""

from __future__ import annotations

from typing import Any

from tests.fakes import Story
from tmuxreap.commands import list as listing
from tmuxreap.commands.list import ListRequest


def with_fields(story: Story, **fields: str) -> None:
    words = "".join(f'"{name}": {value}, ' for name, value in fields.items())
    story.path.write_text(
        story.path.read_text().replace('"agent": "demo"', f'{words}"agent": "demo"')
    )


def listed(story: Story) -> dict[str, Any]:
    (one,) = listing.run(story.app(), ListRequest()).results
    return one.as_json()


def test_a_row_is_listed_with_its_beginning_and_its_end(story: Story) -> None:
    story.agent()
    with_fields(story, task_id="7", ttl="3600", worktree='"/srv/tree"')
    with_fields(story, parent='"boss"', keep="true", restart='"always"')
    answer = listed(story)
    assert (answer["task_id"], answer["ttl"], answer["worktree"]) == ("7", "3600", "/srv/tree")
    assert (answer["parent"], answer["keep"], answer["restart"]) == ("boss", True, "always")
    assert (answer["socket"], answer["stopped_at"], answer["stop_reason"]) == (
        story.SOCKET,
        None,
        None,
    )
    story.stop("acme", reason="done")
    answer = listed(story)
    assert (answer["stop_reason"], answer["termination_mode"]) == ("done", "graceful")
    assert answer["stopped_at"] == story.row()["stopped_at"]


def test_a_session_without_tmux_has_no_socket(story: Story) -> None:
    story.agent()
    with_fields(story, terminal='"none"')
    assert listed(story)["socket"] is None


def test_live_means_that_the_agent_is_alive(story: Story) -> None:
    story.agent("works")
    left = story.agent("left", shell=True)
    story.processes.die(left.process)
    live = {
        one.as_json()["name"]: one.as_json()["live"]
        for one in listing.run(story.app(), ListRequest()).results
    }
    assert live == {"works": "alive", "left": "agent_gone"}
    assert [
        one.as_json()["name"] for one in listing.run(story.app(), ListRequest(live=True)).results
    ] == ["works"]
