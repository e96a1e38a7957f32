"""What was on the screens of pi and Hermes when they were run, shortened to what the patterns look
at."""

# ruff: noqa: RUF001 - the screens as they are

from __future__ import annotations

import pytest

from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.screens import Screen, State, read_screen

AGENTS = load_profiles(None).agents
RULE = "─" * 40
PI = (
    f" hello\n\n The mock has read it.\n\n{{above}}{RULE}\n{{prompt}}\n{RULE}\n"
    "/shop\n0.0%/128k    mock"
)
PI_QUEUE = (
    " slowly\n\n Steering: run it\n ↳ Alt+Up to edit all queued messages\n\n ⠹ Working...\n\n"
)
PI_MENU = "→ settings  Open settings menu\n  model     Select model\n  (1/21)\n/shop"
HERMES = (
    f"● hello\n\n    The mock has read it.\n\n{{above}}"
    f" ⚕ mock │ 0/128K │ 0% │ 35s │ ⏲ 6s\n{RULE}\n{{prompt}}\n{RULE}"
)
HERMES_ASKS = (
    "│ ⚠️  Dangerous Command  │\n│ ❯ 1. Allow once  │\n│   4. Deny  │\n\n"
    "  ↑/↓ to select, Enter to confirm  (53s)\n"
)
HERMES_BUSY = "⚕ ❯ msg=interrupt · /queue · /bg · /steer · Ctrl+C cancel"
LONG = "a" * 38 + " and so it goes"  # the edge is in the middle of it


def seen(agent: str, screen: str) -> Screen:
    profile = AGENTS[agent]
    return read_screen(screen.rstrip(), profile.screens, profile.marks)


@pytest.mark.parametrize(
    ("agent", "screen", "state", "draft"),
    [
        ("pi", PI.format(above="", prompt=""), State.IDLE, ""),
        ("pi", PI.format(above="", prompt="half a\nthought"), State.DRAFT, "half a\nthought"),
        ("pi", PI.format(above="", prompt="!echo half"), State.DRAFT, "!echo half"),
        ("pi", PI.format(above=" ⠦ Working...\n\n", prompt=""), State.BUSY, ""),
        ("pi", PI.format(above=" ⠦ Working...\n\n", prompt="half"), State.BUSY, "half"),
        ("pi", PI.format(above="", prompt="/").replace("/shop", PI_MENU), State.DRAFT, "/"),
        ("hermes", HERMES.format(above="", prompt="❯"), State.IDLE, ""),
        ("hermes", HERMES.format(above="", prompt="❯ half"), State.DRAFT, "half"),
        ("hermes", HERMES.format(above="", prompt=HERMES_BUSY), State.BUSY, ""),
        ("hermes", HERMES.format(above=HERMES_ASKS, prompt="⚠ ❯"), State.DIALOG, ""),
        (
            "hermes",
            HERMES.format(above="", prompt=f"❯ {LONG[:38]}\n{LONG[38:]}"),
            State.DRAFT,
            LONG,
        ),
    ],
)
def test_a_screen_is_read_as_what_it_was(agent: str, screen: str, state: State, draft: str) -> None:
    found = seen(agent, screen)
    assert (found.state, found.draft) == (state, draft)


def test_what_pi_was_told_while_it_worked_is_seen() -> None:
    assert seen("pi", PI.format(above=PI_QUEUE, prompt="")).queued == "run it"


def test_a_draft_that_pi_shows_a_part_of_is_told_from_a_whole_one() -> None:
    pasted = seen("pi", PI.format(above="", prompt="[paste #1 +30 lines]"))
    assert (pasted.state, pasted.partial) == (State.DRAFT, True)
    above = f"─── ↑ 48 more {RULE}\nline 49\nline 50\n{RULE}\n/shop"
    tall = seen("pi", f" hello\n\n{above}")
    assert (tall.state, tall.draft, tall.partial) == (State.DRAFT, "line 49\nline 50", True)


@pytest.mark.parametrize(("prompt", "draft"), [("one\ntwo", "one\ntwo"), ("b" * 38, "b" * 38)])
def test_lines_that_a_person_broke_stay_apart(prompt: str, draft: str) -> None:
    assert seen("hermes", HERMES.format(above="", prompt=f"❯ {prompt}")).draft == draft
