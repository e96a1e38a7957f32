"""The agents' names for hook events, and which events get an answer."""

from __future__ import annotations

import pytest

from tmuxreap.agents.hooks.events import halt, meaning


@pytest.mark.parametrize(
    ("word", "about", "found"),
    [
        ("SessionStart", "", ("session_start", "idle")),
        ("UserPromptSubmit", "", ("prompt", "working")),
        ("userPromptSubmitted", "", ("prompt", "working")),
        ("BeforeTool", "", ("tool_before", "working")),
        ("PostToolUseFailure", "", ("tool_after", "working")),
        ("agent-turn-complete", "", ("turn_end", "idle")),
        ("Notification", "permission_prompt", ("permission", "waiting")),
        ("Notification", "ToolPermission", ("permission", "waiting")),
        ("Notification", "idle_prompt", ("turn_end", "idle")),
        ("Notification", "auth_success", ("Notification", "")),
        ("SomethingNew", "", ("SomethingNew", "")),
        ("", "", ("unknown", "")),
    ],
)
def test_each_agent_has_its_own_words_for_the_same_events(
    word: str, about: str, found: tuple[str, str]
) -> None:
    assert meaning(word, about) == found


def test_events_that_take_no_answer_are_not_answered() -> None:
    assert [
        kind for kind in ("session_start", "session_end", "heartbeat", "x") if halt(kind, "", "")
    ] == []
