"""Which conversation may be deleted."""

from __future__ import annotations

import pytest

from tests.ending.test_plan import STOP
from tests.ending.test_prepare import answer
from tests.fakes import CONVERSATION, Story
from tmuxreap.commands.endings import ender_of
from tmuxreap.core.values import replace


@pytest.mark.parametrize("has_it", [True, False])
def test_a_purge_needs_a_conversation_of_this_row_alone(story: Story, has_it: bool) -> None:
    story.agent()
    if has_it:
        field = "demo_conversation_id_own"
        story.add_row({"name": "other", "status": "stopped", "agent": "demo", field: CONVERSATION})
    app = story.app()
    (row,) = (row for row in app.registry.look().usable if row.name == "acme")
    (prepared,) = ender_of(app).planning.prepare([row], replace(STOP, purge=True))
    if has_it:
        error = answer(prepared)["error"]
        assert (error["code"], error["hint"]) == (
            "conversation_in_use",
            "forget that row first: tmuxreap forget other",
        )
    else:
        assert any(CONVERSATION in path for path in prepared.plan.purges)
