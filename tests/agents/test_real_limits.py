"""What is read from screens of agents at a limit of their provider: its end."""

# ruff: noqa: RUF001 - the screens as they are

from __future__ import annotations

import pytest

from tests.agents.real_screens import (
    ABOVE,
    BELOW,
    CLAUDE,
    CODEX,
    COPILOT,
    GEMINI,
    OPENCODE,
    PLACEHOLDER,
    RULE,
    shown,
)
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.screens import State, read_screen

AGENTS = load_profiles(None).agents
CLAUDE_LIMIT = (
    "❯ MEET_A_LIMIT please\n  ⎿ \xa0You've hit your {kind}limit · resets 5:02am (UTC)\n\n● Usage"
    " limit reached · continuing automatically at 5:02am · esc to cancel\n\n"
)
CLAUDE_GOES_ON = (
    "⚠ Usage limit reached · limit resets 5:02am\n    Continuing automatically at 5:02am · Esc to"
    " cancel\n  ⏸ manual mode on"
)
CLAUDE_429 = (
    "❯ MEET_A_LIMIT please\n\n● API Error: Request rejected (429) · This request would exceed your"
    " account's rate limit. Please try again\n  later.\n\n"
)
CODEX_LIMIT = (
    "› MEET_A_LIMIT please\n\n■ You’ve hit your usage limit. Upgrade to Pro, visit"
    " https://chatgpt.com/settings/\nusage to purchase more credits or try again at {time}.\n\n"
)
GEMINI_LIMIT = (
    f"✦ The mock has read it.\n{ABOVE}\n > MEET_A_LIMIT please\n{BELOW}\n\n╭{RULE}╮\n│  │\n│ Usage"
    " limit reached for all Pro models. │\n{resets}│ /stats model for usage details │\n│ /model to"
    f" switch models. │\n│  │\n│ ● 1. Keep trying │\n│   2. Stop │\n╰{RULE}╯"
)
OPENCODE_LIMIT = (
    "⬝■■■■■■⬝ You exceeded your current quota, please check your plan and billing details."
    " [retrying in 2h 59m attempt #1]"
)
COPILOT_LIMIT = (
    " ❯ MEET_A_LIMIT please   02:04\n\n ✗ 429 You exceeded your current quota, please check your"
    " plan and billing details.\n\n"
)
LIMITS = [
    ("claude", shown(CLAUDE, above=CLAUDE_LIMIT.format(kind="session "), footer=CLAUDE_GOES_ON)),
    ("claude", shown(CLAUDE, above=CLAUDE_LIMIT.format(kind=""), footer="⏸ manual mode on")),
    ("claude", shown(CLAUDE, "half", above=CLAUDE_LIMIT.format(kind="weekly "))),
    ("claude", shown(CLAUDE, above=CLAUDE_429)),
    ("codex", shown(CODEX, "Ask Codex to do anything", above=CODEX_LIMIT.format(time="5:00 AM"))),
    ("codex", shown(CODEX, above=CODEX_LIMIT.format(time="5:00 AM")).replace("› \n", "›\n")),
    ("codex", shown(CODEX, "half", above=CODEX_LIMIT.format(time="Nov 21st, 2026 5:00 AM"))),
    ("gemini", GEMINI_LIMIT.format(resets="")),
    ("gemini", GEMINI_LIMIT.format(resets="│ Access resets at 5:00 AM UTC. │\n")),
    ("opencode", shown(OPENCODE, footer=OPENCODE_LIMIT)),
    ("copilot", shown(COPILOT, above=COPILOT_LIMIT)),
]
AGAIN_AT = [
    "5:02am",
    "5:02am",
    "5:02am",
    "",
    "5:00 AM",
    "5:00 AM",
    "Nov 21st, 2026 5:00 AM",
    "",
    "5:00 AM UTC",
    "in 2h 59m",
    "",
]
STATES = [
    State.BUSY,
    State.IDLE,
    State.DRAFT,
    State.IDLE,
    State.IDLE,
    State.IDLE,
    State.DRAFT,
    State.DIALOG,
    State.DIALOG,
    State.BUSY,
    State.IDLE,
]


@pytest.mark.parametrize(
    ("limit", "until", "state"), list(zip(LIMITS, AGAIN_AT, STATES, strict=True))
)
def test_a_usage_limit_is_shown_with_its_end(
    limit: tuple[str, str], until: str, state: State
) -> None:
    agent, text = limit
    screen = read_screen(text, AGENTS[agent].screens, AGENTS[agent].marks, AGENTS[agent].tall)
    assert (screen.limit, screen.state) == (until, state)
    assert screen.draft == ("half" if state is State.DRAFT else "")  # a sent prompt is no draft


LATER = {
    "claude": "❯ and now\n\n● The mock has read it.\n\n✻ Worked for 0s · done 2:00 AM\n\n",
    "codex": "› and now\n\n• The mock has read it.\n\n  Worked for <1s • 02:00\n\n",
    "copilot": " ❯ and now   02:05\n\n ● The mock has read it.\n\n",
}


@pytest.mark.parametrize(
    ("agent", "screen"),
    [
        ("claude", shown(CLAUDE, above=CLAUDE_LIMIT.format(kind="") + LATER["claude"])),
        ("claude", shown(CLAUDE, above=CLAUDE_429 + LATER["claude"])),
        ("claude", shown(CLAUDE, "You've hit your limit · resets 5:02am")),
        ("codex", shown(CODEX, above=CODEX_LIMIT.format(time="5:00 AM") + LATER["codex"])),
        ("copilot", shown(COPILOT, above=COPILOT_LIMIT + LATER["copilot"])),
        ("opencode", shown(OPENCODE, footer="⬝⬝⬝⬝  esc interrupt")),
        ("gemini", shown(GEMINI, PLACEHOLDER, above="│ Usage limit reached for all\n")),
    ],
)
def test_a_limit_that_has_passed_is_not_reported(agent: str, screen: str) -> None:
    assert read_screen(screen, AGENTS[agent].screens, AGENTS[agent].marks).limit is None
