"""`agents`: which are known, and what can be done with each."""

from __future__ import annotations

from tests.fakes import Story
from tmuxreap.commands import agents


def test_each_agent_says_what_can_be_done_with_it(story: Story) -> None:
    told = {item.as_json()["name"]: item.as_json() for item in agents.run(story.app()).results}
    demo = told["demo"]
    assert (demo["exit_keys"], demo["takes_an_id"], demo["purge"]) == (True, True, True)
    assert "idle" in demo["states"]  # type: ignore[operator]
    assert demo["locators"][0] == "pidfile"  # type: ignore[index]
    assert "{id}" in str(demo["resume"])
    assert {"claude", "codex", "gemini", "opencode"} <= set(told)


def test_agents_needs_no_registry(story: Story) -> None:
    story.path.unlink()
    result = agents.run(story.app())
    assert (result.registry, int(result.exit)) == (None, 0)
