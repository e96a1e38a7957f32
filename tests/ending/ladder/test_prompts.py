"""When the input holds a prompt alone, and what may not be typed into."""

from __future__ import annotations

import pytest

from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.screens import Screen, State
from tmuxreap.ending.ladder.prompts import holds_alone, why_not_empty

AGENTS = load_profiles(None).agents
LINES = "\n".join(f"line {number}" for number in range(1, 13))


def draft(text: str, **more: object) -> Screen:
    return Screen(State.DRAFT, text, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ("go on", "go on"),
        ("go  on", "go\ton"),
        ("a long\nline that wraps", "a long line that wraps"),
        ("é ok", "e\u0301 ok"),
        ("one\n\n two", "one\n\n\ttwo"),
    ],
)
def test_a_prompt_is_recognised_however_it_is_drawn(shown: str, text: str) -> None:
    assert holds_alone(draft(shown), text, AGENTS["demo"])


@pytest.mark.parametrize(
    "shown", ["half a thought go on", "go on, please", "go", "", "ggo on", "[Pasted text +1 lines]"]
)
def test_anything_else_is_not_this_prompt_alone(shown: str) -> None:
    assert not holds_alone(draft(shown), "go on", AGENTS["demo"])


@pytest.mark.parametrize(
    "screen",
    [
        draft("go on", partial=True),
        draft("go on", queued="another"),
        Screen(State.DIALOG, "go on"),
        Screen(State.BUSY, "go on"),
        Screen(State.IDLE),
        Screen(State.UNKNOWN),
    ],
)
def test_no_other_screen_holds_it(screen: Screen) -> None:
    assert not holds_alone(screen, "go on", AGENTS["demo"])


PLACEHOLDERS = {
    "demo": "[Pasted text +11 lines]",
    "claude": "[Pasted text #3 +11 lines]",
    "codex": f"[Pasted Content {len(LINES)} chars]",
    "gemini": "[Pasted Text: 12 lines]",
    "qwen": f"[Pasted Content {len(LINES)} chars]",
    "opencode": "[Pasted ~12 lines]",
    "copilot": "[Paste #1 - 12 lines]",
    "pi": "[paste #1 +12 lines]",
}


@pytest.mark.parametrize("agent", PLACEHOLDERS)
def test_the_placeholder_of_a_paste_of_this_size_stands_for_it(agent: str) -> None:
    shown = PLACEHOLDERS[agent]
    assert holds_alone(draft(shown, partial=True), LINES, AGENTS[agent])
    assert not holds_alone(draft(shown, partial=True), f"{LINES}\nmore", AGENTS[agent])
    assert not holds_alone(draft(f"half {shown}", partial=True), LINES, AGENTS[agent])
    assert not holds_alone(draft(f"{shown} {shown}", partial=True), LINES, AGENTS[agent])


def test_only_an_idle_and_empty_input_is_typed_into() -> None:
    assert why_not_empty(Screen(State.IDLE)) is None
    others = (
        None,
        draft("half a thought"),
        Screen(State.BUSY),
        Screen(State.DIALOG),
        Screen(State.UNKNOWN),
        Screen(State.IDLE, queued="another"),
        Screen(State.IDLE, limit="5pm"),
    )
    assert all(why_not_empty(screen) for screen in others)
