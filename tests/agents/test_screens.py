"""The state of a screen, by the patterns of the demo agent's profile."""

from __future__ import annotations

import re

import pytest

from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.screens import Screen, State, Tall, read_screen
from tmuxreap.core.values import replace

PATTERNS = load_profiles(None).agents["demo"].screens
DIALOG = "│ Allow the tool `rm -rf build`? [Enter] yes  [Esc] no │"
BUSY = "· working (esc to interrupt)"


@pytest.mark.parametrize(
    ("text", "screen"),
    [
        ("demo agent\n\n>", Screen(State.IDLE)),
        ("demo agent\n\n> ", Screen(State.IDLE)),
        ("demo agent\n\n> half a thought", Screen(State.DRAFT, "half a thought")),
        ("demo agent\n\n> three\n  lines\n  of it", Screen(State.DRAFT, "three\nlines\nof it")),
        (f"demo agent\n{BUSY}\n>", Screen(State.BUSY)),
        (f"demo agent\n{BUSY}\n> typed ahead", Screen(State.BUSY, "typed ahead")),
        (f"demo agent\n╭─╮\n{DIALOG}\n╰─╯", Screen(State.DIALOG)),
        ("$ ls\na  b", Screen(State.UNKNOWN)),
        ("", Screen(State.UNKNOWN, blank=True)),
        ("> quoted by somebody\nand more below", Screen(State.UNKNOWN)),
    ],
)
def test_each_state_of_the_demo_agent_is_read_from_its_screen(text: str, screen: Screen) -> None:
    assert read_screen(text, PATTERNS) == screen


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (f"{DIALOG}\n{BUSY}\n>", State.DIALOG),
        (f"{BUSY}\n> typed ahead", State.BUSY),
        (f"{DIALOG}\n> x", State.DIALOG),
    ],
)
def test_the_most_dangerous_reading_wins(text: str, state: State) -> None:
    assert read_screen(text, PATTERNS).state is state


@pytest.mark.parametrize(
    ("rows", "share", "height", "partial"),
    [
        (3, 0, 40, True),
        (4, 0, 40, False),
        (1, 0.5, 10, True),
        (1, 0.5, 12, False),
        (3, 1, 9, False),
    ],
)
def test_a_draft_that_fills_its_place_may_be_higher(
    rows: int, share: float, height: int, partial: bool
) -> None:
    shown = "\n" * (height - 3) + "> one\n  two\n  three"
    seen = read_screen(shown, PATTERNS, tall=Tall(rows, share))
    assert seen == replace(Screen(State.DRAFT, "one\ntwo\nthree"), partial=partial)


def test_a_draft_is_as_high_as_it_is_wrapped() -> None:
    shown = f"demo agent\n\n> {'a' * 38}\n  {'b' * 38}"
    seen = read_screen(shown, PATTERNS, tall=Tall(2))
    assert (seen.draft, seen.partial) == ("a" * 38 + " " + "b" * 38, True)


def test_a_suggestion_is_no_draft_and_styles_are_no_text() -> None:
    marks = {"suggested": re.compile(r"> (?P<suggested>\x1b\[2m.*)")}
    asked = "demo agent\n\n\x1b[1m>\x1b[0m {}"
    ghost = asked.replace("\x1b[1m>\x1b[0m", ">").format("\x1b[2mtry this\x1b[0m")
    assert read_screen(ghost, PATTERNS, marks) == Screen(State.IDLE)
    typed = asked.format("\x1b[0mhalf \x1b[31ma\x1b[39m thought\x1b[48;5;1m   \x1b[49m")
    assert read_screen(typed, PATTERNS, marks) == Screen(State.DRAFT, "half a thought")


def test_a_profile_without_patterns_knows_nothing() -> None:
    assert read_screen(">", {}) == Screen(State.UNKNOWN)


def test_a_draft_pattern_without_a_group_keeps_all_that_it_found() -> None:
    assert read_screen("> abc", {State.DRAFT: re.compile("> .+")}).draft == "> abc"


@pytest.mark.parametrize(
    ("agent", "text", "asks"),
    [
        (
            "claude",
            "Shall I?\n"
            + "\u2500" * 40
            + "\n Bash command\n\n   rm x\n\n Do you want to proceed?\n"
            "\n \u276f 1. Yes\n   2. No\n\n Esc to cancel",
            "Do you want to proceed?",
        ),
        (
            "codex",
            "\u2022 Is it so?\n\n  Would you like to run the following command?\n\n  $ touch x\n\n"
            "\u203a 1. Yes, proceed (y)\n  2. No (esc)\n\n  Press enter to confirm",
            "Would you like to run the following command?",
        ),
        ("codex", "\u203a 1. Yes\n  2. No\n\n  Press enter to confirm or esc to cancel", ""),
    ],
)
def test_a_dialog_names_its_question(agent: str, text: str, asks: str) -> None:
    profile = load_profiles(None).agents[agent]
    screen = read_screen(text, profile.screens, profile.marks, profile.tall)
    assert (screen.state, screen.asks) == (State.DIALOG, asks)


def test_a_quoted_set_up_question_is_not_a_dialog() -> None:
    marks = {"setup": re.compile("Do you trust this folder")}
    asked = "Do you trust this folder?\n  1. Yes"
    assert read_screen(f"demo agent\n\n{asked}", PATTERNS, marks).setup
    assert read_screen(f"{asked}\n\n> ", PATTERNS, marks) == Screen(State.IDLE)
