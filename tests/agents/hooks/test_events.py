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


@pytest.mark.parametrize("kind", ["prompt", "tool_before", "tool_after", "turn_end", "permission"])
def test_an_answer_ends_the_turn_in_the_words_of_each_agent(kind: str) -> None:
    answer = halt(kind, "TheEvent", "a stop")
    assert answer is not None
    assert (answer["continue"], answer["stopReason"]) == (False, "a stop")
    blocks = kind in ("prompt", "tool_before")
    assert (answer.get("decision"), answer.get("reason")) == (
        ("block", "a stop") if blocks else (None, None)
    )
    denied = {"permissionDecision": "deny", "permissionDecisionReason": "a stop"}
    assert (denied.items() <= answer.items()) is (kind == "tool_before")
    own = {
        "tool_before": {"hookEventName": "TheEvent", **denied},
        "permission": {
            "hookEventName": "TheEvent",
            "decision": {"behavior": "deny", "message": "a stop", "interrupt": True},
        },
    }
    assert answer.get("hookSpecificOutput") == own.get(kind)
