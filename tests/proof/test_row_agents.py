"""The agent of a row."""

from __future__ import annotations

from tests.fakes import Story, row_of
from tmuxreap.core.model import Live, NoServer
from tmuxreap.core.values import replace
from tmuxreap.proof.sight import Sight


def test_the_agent_follows_from_the_row_its_name_or_its_command(story: Story) -> None:
    story.agent()
    app, row = story.app(), replace(row_of(story), agent=None, name="acme", start_command=None)
    row = replace(row, pane=replace(row.pane, cmd=None))
    assert app.agents.named_by(replace(row, agent="mine")) == "mine"
    assert app.agents.named_by(replace(row, name="shop-claude")) == "claude"
    assert app.agents.named_by(replace(row, start_command="codex --model x")) == "codex"
    assert app.agents.named_by(row) is None
    seen = Sight(Live.ALIVE, story.SOCKET, NoServer(story.SOCKET), found="demo")
    assert app.agents.of(row, seen) == "demo"
    assert app.agents.of(replace(row, agent="mine"), seen) == "mine"
