"""What a command has at hand: where a row's server listens, and which agent it is."""

from __future__ import annotations

from pathlib import Path

from tests.fakes import Story
from tmuxreap.core.model import Row
from tmuxreap.core.values import replace


def row_of(story: Story) -> Row:
    row = story.app().registry.look().named("acme")
    assert row is not None
    return row


def test_a_socket_counts_as_recorded_while_this_boot_lasts(story: Story) -> None:
    story.agent()
    row, app = row_of(story), story.app()
    moved = replace(row, tmux=replace(row.tmux, socket="/tmp/other"))
    assert app.socket_of(moved) == "/tmp/other"
    before = replace(moved, tmux=replace(moved.tmux, boot_id="an-older-boot"))
    assert app.socket_of(before) == story.SOCKET
    assert app.socket_of(replace(before, tmux_server="work")) == "/tmp/tmux-1000/work"


def test_a_server_that_is_a_path_is_recorded_whole(story: Story) -> None:
    app = story.app()
    assert app.server_named("run/s") == str(story.folder / "run" / "s")
    assert (app.server_named("work"), app.server_named(None)) == ("work", None)


def test_the_agent_is_what_the_row_says_else_its_name_else_its_command(story: Story) -> None:
    story.agent()
    app, row = story.app(), replace(row_of(story), agent=None, name="acme", start_command=None)
    row = replace(row, pane=replace(row.pane, cmd=None))
    assert app.told_agent(replace(row, agent="mine")) == "mine"
    assert app.told_agent(replace(row, name="shop-claude")) == "claude"
    assert app.told_agent(replace(row, start_command="codex --model x")) == "codex"
    assert app.told_agent(row) is None
    app.seen_agents["acme"] = "demo"
    assert app.agent_of(row) == "demo"


def test_without_a_registry_there_is_no_name_and_no_trouble(story: Story) -> None:
    story.path.unlink()
    assert story.app().registry_if_there() is None
    missing = story.app()
    missing.given_registry = str(Path("/nonexistent") / "r.yaml")
    assert missing.registry_name in (None, "/nonexistent/r.yaml")
