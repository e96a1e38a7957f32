"""The agent of a row."""

from __future__ import annotations

from tests.fakes import Story, row_of
from tmuxreap.core.values import replace


def test_the_agent_is_what_the_row_says_else_its_name_else_its_command(story: Story) -> None:
    story.agent()
    app, row = story.app(), replace(row_of(story), agent=None, name="acme", start_command=None)
    row = replace(row, pane=replace(row.pane, cmd=None))
    assert app.agents.named_by(replace(row, agent="mine")) == "mine"
    assert app.agents.named_by(replace(row, name="shop-claude")) == "claude"
    assert app.agents.named_by(replace(row, start_command="codex --model x")) == "codex"
    assert app.agents.named_by(row) is None
    app.agents.seen["acme"] = "demo"
    assert app.agents.of(row) == "demo"
