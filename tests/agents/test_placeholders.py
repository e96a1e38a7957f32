"""What agents show in an empty input is told from a draft by its style, whatever its words are:
screens as recorded, the same in other words, and a draft in their place."""

from __future__ import annotations

import pytest

from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.screens import Screen, State, read_screen

AGENTS = load_profiles(None).agents
WORDS = "夜もお話ししましょう"
GRAY, PLAIN = "\x1b[38;2;175;175;175m", "\x1b[39m"
CURSOR = f"\x1b[7m{PLAIN} \x1b[0m"
GEMINI = (
    "\x1b[38;2;95;95;95m" + "▄" * 40 + f"\n{PLAIN}\x1b[48;2;95;95;95m \x1b[38;2;215;175;255m"
    "{sign} {input}" + PLAIN + "\n\x1b[38;2;95;95;95m\x1b[49m" + "▀" * 40 + f"\n{PLAIN}"
    " \x1b[38;2;215;175;255m[INSERT]\x1b[39m  /shop   no sandbox"
)
READER = (
    "User:  please\nModel:  > read\nworkspace (/directory)\n/shop sandbox\nno sandbox /model\n"
    f"gemini-2.5-pro\n? for shortcuts\n{GRAY}Shift+Tab to accept edits\n{PLAIN}>  {{input}}"
)
BLUE, WHITE, MUTED = "\x1b[38;2;92;156;245m", "\x1b[38;2;255;255;255m", "\x1b[38;2;128;128;128m"
ROW = f"  {BLUE}┃{WHITE}\x1b[48;2;30;30;30m"
OPENCODE = (
    f"{ROW}      \x1b[48;2;10;10;10m\n{ROW}  {{input}}{WHITE}    \x1b[48;2;10;10;10m\n"
    f"{ROW}      \x1b[48;2;10;10;10m\n{ROW}  {BLUE}Build{WHITE} {MUTED}·{WHITE} Mock\n"
    f"  {BLUE}╹\x1b[38;2;30;30;30m{'▀' * 40}{WHITE}\n  tab agents"
)
GROK = (
    f"  \x1b[34m╭{'─' * 40}╮\n{PLAIN}  \x1b[34m│{PLAIN} \x1b[36m❯ {{input}}     \x1b[34m│\n"  # noqa: RUF001
    f"{PLAIN}  \x1b[34m╰{'─' * 40}╯\n\n{PLAIN}  \x1b[36m⏸ auto-edit: off\x1b[2m\x1b[90m (shift +"
    " tab)\x1b[0m  \x1b[33m≋ mock"
)
PLACES = {
    "gemini": (GEMINI.replace("{sign}", ">"), CURSOR + GRAY + " {words}", "{words}" + CURSOR),
    "gemini, for a screen reader": (READER, CURSOR + GRAY + " {words}", "{words}" + CURSOR),
    "opencode": (OPENCODE, MUTED + "{words}", "\x1b[38;2;238;238;238m{words}"),
    "grok": (GROK, "\x1b[2m\x1b[90m{words}\x1b[0m\x1b[47m ", PLAIN + "{words}"),
}


def seen(place: str, at: int, words: str) -> Screen:
    profile = AGENTS[place.partition(",")[0]]
    text = PLACES[place][0].replace("{input}", PLACES[place][at].replace("{words}", words))
    return read_screen(text, profile.screens, profile.marks, profile.tall)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("words", [WORDS, "Press 'Esc' for NORMAL mode.", "Ask me"])
def test_a_placeholder_is_known_by_its_style(place: str, words: str) -> None:
    assert seen(place, 1, words) == Screen(State.IDLE)


def test_a_placeholder_that_wraps_in_a_narrow_window_is_no_draft() -> None:
    """As at 39 columns: each row has the colour of what is secondary."""
    rows = f"{CURSOR}{GRAY} Type your message or{PLAIN}\n   {GRAY}@path/to/file"
    profile = AGENTS["gemini"]

    def read(rows: str) -> Screen:
        text = GEMINI.replace("{sign}", ">").replace("{input}", rows)
        return read_screen(text, profile.screens, profile.marks, profile.tall)

    assert read(rows) == Screen(State.IDLE)
    assert read(rows.replace("@path/to/file", "in other words")) == Screen(State.IDLE)
    assert read(rows.replace(GRAY, "")).state is State.DRAFT


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("words", [WORDS, "half a thought", "2. then the second"])
def test_the_same_words_are_a_draft_in_the_style_of_what_is_typed(place: str, words: str) -> None:
    assert seen(place, 2, words) == Screen(State.DRAFT, words)


def test_an_empty_shell_mode_is_no_prompt_in_any_language() -> None:
    text = GEMINI.replace("{sign}", "!").replace("{input}", CURSOR + GRAY + " " + WORDS)
    profile = AGENTS["gemini"]
    assert read_screen(text, profile.screens, profile.marks, profile.tall) == Screen(State.DRAFT)


@pytest.mark.parametrize("first", [True, False])
def test_the_question_of_gemini_for_a_screen_reader_is_a_dialog(first: bool) -> None:
    options = ["1. Allow once", "2. Allow for this session", "3. No, suggest changes (esc)"]
    chosen = 0 if first else 1
    options[chosen] = f"(checked) {options[chosen]}"
    head = READER.partition("? for")[0] + "? Shell\ntouch x\nAllow execution of [Shell]?\n"
    profile = AGENTS["gemini"]
    shown = read_screen(head + "\n".join(options), profile.screens, profile.marks, profile.tall)
    assert (shown.state, shown.asks) == (State.DIALOG, "Allow execution of [Shell]?")
