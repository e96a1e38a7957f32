"""What is read from the recorded screens of the real agents: their state and their draft."""

# ruff: noqa: RUF001 - the screens as they are

from __future__ import annotations

from textwrap import wrap

import pytest

from tests.agents.real_screens import (
    CLAUDE,
    CLAUDE_AUTO,
    CLAUDE_KEY,
    CLAUDE_QUEUE,
    CLAUDE_TRUST,
    CODEX,
    CODEX_QUEUE,
    COPILOT,
    COPILOT_IN_USE,
    COPILOT_QUEUE,
    GEMINI,
    GEMINI_QUEUE,
    HOME,
    LOW,
    OPENCODE,
    PLACEHOLDER,
    QWEN,
    QWEN_QUEUE,
    RULE,
    WORDS,
    shown,
    sign,
)
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.screens import Screen, State, read_screen

AGENTS = load_profiles(None).agents
SCREENS = [
    ("claude", shown(CLAUDE, footer="⏸ manual mode on · ? for shortcuts"), Screen(State.IDLE)),
    ("claude", shown(CLAUDE, "half a thought"), Screen(State.DRAFT, "half a thought")),
    # the list that it shows after Left, where `/exit` leaves it as well
    (
        "claude",
        shown(
            CLAUDE, "describe a task for a new session", footer="enter to return · space to reply"
        ),
        Screen(State.IDLE),
    ),
    ("claude", shown(CLAUDE, "first\n\n  third"), Screen(State.DRAFT, "first\n\nthird")),
    ("claude", shown(CLAUDE, "\n  second"), Screen(State.DRAFT, "\nsecond")),
    (
        "claude",
        shown(CLAUDE, "/exit", above="  ❯ /exit    Exit the CLI\n"),
        Screen(State.DRAFT, "/exit"),
    ),
    ("claude", shown(CLAUDE, footer="⏸ manual mode on · esc to interrupt"), Screen(State.BUSY)),
    (
        "claude",
        shown(CLAUDE, "next", footer="⏸ manual mode on · esc to interrupt"),
        Screen(State.BUSY, "next"),
    ),
    ("claude", shown(CLAUDE, above="✽ Baking… (esc to interrupt)\n\n"), Screen(State.BUSY)),
    (
        "claude",
        shown(
            CLAUDE,
            "Press up to edit queued messages",
            above=CLAUDE_QUEUE,
            footer="esc to interrupt",
        ),
        Screen(State.BUSY, queued="BE_SLOW please\n\nrun it\n\nand a second"),
    ),
    (
        "claude",
        shown(CLAUDE, "half", above=CLAUDE_QUEUE),
        Screen(State.DRAFT, "half", "BE_SLOW please\n\nrun it\n\nand a second"),
    ),
    (
        "claude",
        f"{RULE}\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend",
        Screen(State.DIALOG),
    ),
    (
        "claude",
        f"{RULE}\n  Make auto mode your default?\n\n  ❯ Yes, set it\n    No, keep it",
        Screen(State.UNKNOWN),
    ),
    (
        "claude",
        sign(shown(CLAUDE, "echo half", footer="! for shell mode"), "❯", "!"),
        Screen(State.DRAFT, "!echo half"),
    ),
    (
        "claude",
        shown(CLAUDE, "[Pasted text #1 +29 lines]"),
        Screen(State.DRAFT, "[Pasted text #1 +29 lines]", partial=True),
    ),
    (
        "claude",
        sign(shown(CLAUDE, LOW.format(*["  "] * 12)), "❯\xa0", ""),
        Screen(State.DRAFT, LOW.format(*[""] * 12), partial=True),
    ),
    (
        "claude",
        f"─── ↑ 48 more {RULE}\n{LOW.format(*['  '] * 12)}\n\n{RULE}\n  ⏸ manual mode on",
        Screen(State.DRAFT, LOW.format(*[""] * 12) + "\n", partial=True),
    ),
    (
        "claude",
        f"{RULE}\n❯\xa0tall line 0\n  tall line 1\n─── ↓ 58 more {RULE}\n  ⏸ manual mode on",
        Screen(State.DRAFT, "tall line 0\ntall line 1", partial=True),
    ),
    ("claude", shown(CLAUDE, "\n  ".join(wrap(WORDS, 37))), Screen(State.DRAFT, WORDS)),
    (
        "claude",
        shown(CLAUDE, above="      /rc · draft stashed\n"),
        Screen(State.IDLE, stashed=True),
    ),
    ("claude", shown(CLAUDE, above="● The draft stashed\n\n"), Screen(State.IDLE)),
    ("claude", CLAUDE_AUTO, Screen(State.DIALOG)),
    ("claude", CLAUDE_KEY, Screen(State.DIALOG, setup=True)),
    ("claude", CLAUDE_TRUST, Screen(State.DIALOG, setup=True)),
    # it starts
    ("codex", "  >_ OpenAI Codex\n\n› Ask Codex to do anything", Screen(State.UNKNOWN)),
    ("codex", shown(CODEX, "Ask Codex to do anything"), Screen(State.IDLE)),
    ("codex", sign(shown(CODEX, "echo half"), "›", "!"), Screen(State.DRAFT, "!echo half")),
    (
        "codex",
        "• The mock has read it.\n\n› tall line 58\n  tall line 59",
        Screen(State.DRAFT, "tall line 58\ntall line 59", partial=True),
    ),
    (
        "codex",
        shown(CODEX, "[Pasted Content 1200 chars]"),
        Screen(State.DRAFT, "[Pasted Content 1200 chars]", partial=True),
    ),
    (
        "codex",
        shown(CODEX, "Ask Codex to do anything", above=CODEX_QUEUE),
        Screen(State.BUSY, queued="run it\nand a second"),
    ),
    ("codex", shown(CODEX), Screen(State.IDLE)),
    (
        "codex",
        shown(CODEX, "first line\n  second line"),
        Screen(State.DRAFT, "first line\nsecond line"),
    ),
    (
        "codex",
        shown(CODEX, "first line\n\n  third line"),
        Screen(State.DRAFT, "first line\n\nthird line"),
    ),
    ("codex", shown(CODEX, "/exit", above="› /exit  exit Codex\n\n"), Screen(State.DRAFT, "/exit")),
    (
        "codex",
        shown(CODEX, "next", above="• Working (2s • esc to interrupt)\n\n"),
        Screen(State.BUSY, "next"),
    ),
    (
        "codex",
        "  $ touch x\n\n› 1. Yes, proceed (y)\n  2. No (esc)\n\n"
        "  Press enter to confirm or esc to cancel",
        Screen(State.DIALOG),
    ),
    ("gemini", shown(GEMINI, PLACEHOLDER), Screen(State.IDLE)),
    (
        "gemini",
        shown(GEMINI, "first line\n   second line"),
        Screen(State.DRAFT, "first line\nsecond line"),
    ),
    (
        "gemini",
        shown(GEMINI, "/exit", footer=" quit    Exit the cli\n"),
        Screen(State.DRAFT, "/exit"),
    ),
    (
        "gemini",
        shown(GEMINI, PLACEHOLDER, above=" ⠴ Thinking... (esc to cancel, 2s)\n"),
        Screen(State.BUSY),
    ),
    (
        "gemini",
        shown(GEMINI, PLACEHOLDER, above=" ⠋ Executing Hooks: tmuxreap hook gemini || :, tmuxreap"),
        Screen(State.BUSY),
    ),
    ("gemini", sign(shown(GEMINI, "echo half"), " >", " !"), Screen(State.DRAFT, "!echo half")),
    (
        "gemini",
        shown(GEMINI, "[Pasted Text: 30 lines]"),
        Screen(State.DRAFT, "[Pasted Text: 30 lines]", partial=True),
    ),
    (
        "gemini",
        shown(GEMINI, LOW.format("", *["   "] * 11)),
        Screen(State.DRAFT, LOW.format(*[""] * 12), partial=True),
    ),
    ("gemini", shown(GEMINI, "/quit"), Screen(State.UNKNOWN)),  # its own message while it exits
    (
        "gemini",
        shown(GEMINI, PLACEHOLDER, above=GEMINI_QUEUE),
        Screen(State.BUSY, queued="run it\nand a second"),
    ),
    ("gemini", shown(GEMINI, PLACEHOLDER).replace("\n > ", "\n * "), Screen(State.IDLE)),
    ("gemini", shown(GEMINI, "half").replace("\n > ", "\n * "), Screen(State.DRAFT, "half")),
    (
        "gemini",
        "│ Allow execution of [Shell]?\n│\n│ ● 1. Allow once    │\n│   3. No (esc)      │",
        Screen(State.DIALOG),
    ),
    ("qwen", shown(QWEN, PLACEHOLDER, footer="? for shortcuts"), Screen(State.IDLE)),
    (
        "qwen",
        shown(QWEN, "first line\n  second line \u200b"),
        Screen(State.DRAFT, "first line\nsecond line"),
    ),
    ("qwen", shown(QWEN, PLACEHOLDER).replace("\n> ", "\n* "), Screen(State.IDLE)),
    ("qwen", shown(QWEN, "half").replace("\n> ", "\n* "), Screen(State.DRAFT, "half")),
    ("qwen", sign(shown(QWEN, "echo half \u200b"), ">", "!"), Screen(State.DRAFT, "!echo half")),
    (
        "qwen",
        shown(QWEN, "[Pasted Content 619 chars] \u200b"),
        Screen(State.DRAFT, "[Pasted Content 619 chars]", partial=True),
    ),
    (
        "qwen",
        shown(QWEN, PLACEHOLDER, above=QWEN_QUEUE),
        Screen(State.BUSY, queued="run it\nand a second"),
    ),
    (
        "qwen",
        "│ Do you trust this folder?\n│\n│ › 1. Trust folder (project)\n│   3. Don't trust (esc)",
        Screen(State.DIALOG, setup=True),
    ),
    (
        "gemini",
        "│ Do you trust the files in this folder?  │\n│\n│ ● 1. Trust folder (project)  │",
        Screen(State.DIALOG, setup=True),
    ),
    ("qwen", shown(QWEN, "/exit \u200b"), Screen(State.DRAFT, "/exit")),
    (
        "qwen",
        shown(QWEN, PLACEHOLDER, above="  .. Thinking (0s · esc to cancel)\n"),
        Screen(State.BUSY),
    ),
    ("opencode", shown(OPENCODE), Screen(State.IDLE)),
    ("opencode", HOME, Screen(State.IDLE)),
    (
        "opencode",
        shown(OPENCODE, "echo half").replace("Build · Mock Mock", "Shell"),
        Screen(State.DRAFT, "!echo half"),
    ),
    (
        "opencode",
        shown(OPENCODE, "[Pasted ~30 lines]"),
        Screen(State.DRAFT, "[Pasted ~30 lines]", partial=True),
    ),
    (
        "opencode",
        shown(OPENCODE, LOW.format("", *["  ┃  "] * 11)),
        Screen(State.DRAFT, LOW.format(*[""] * 12), partial=True),
    ),
    (
        "opencode",
        shown(OPENCODE, "first line\n  ┃  second line"),
        Screen(State.DRAFT, "first line\nsecond line"),
    ),
    (
        "opencode",
        shown(OPENCODE, "/exit", above="  ┃ /exit   Exit the app\n"),
        Screen(State.DRAFT, "/exit"),
    ),
    ("opencode", shown(OPENCODE, footer="⬝⬝⬝⬝  esc interrupt"), Screen(State.BUSY)),
    (
        "opencode",
        "  ┃  △ Permission required\n  ┃   Allow once   Reject    ⇆ select  enter confirm",
        Screen(State.DIALOG),
    ),
    ("copilot", COPILOT_IN_USE, Screen(State.DIALOG, setup=True)),
    ("copilot", COPILOT_IN_USE.replace(" │\n", "\n │\n"), Screen(State.DIALOG, setup=True)),
    ("copilot", shown(COPILOT, footer="← open sidebar · Interactive"), Screen(State.IDLE)),
    (
        "copilot",
        shown(COPILOT, "first line\n  second line"),
        Screen(State.DRAFT, "first line\nsecond line"),
    ),
    (
        "copilot",
        shown(COPILOT, "/exit [print]", above="  ❯ /exit\n    /exit print\n"),
        Screen(State.DRAFT, "/exit"),
    ),
    ("copilot", shown(COPILOT, footer="◎ Working esc esc edit prompt"), Screen(State.BUSY)),
    ("copilot", shown(COPILOT, footer="◉ Working esc again to edit prompt"), Screen(State.BUSY)),
    ("copilot", sign(shown(COPILOT, "echo half"), "❯", "!"), Screen(State.DRAFT, "!echo half")),
    (
        "copilot",
        shown(COPILOT, "[Paste #1 - 30 lines]"),
        Screen(State.DRAFT, "[Paste #1 - 30 lines]", partial=True),
    ),
    (
        "copilot",
        shown(COPILOT, above=COPILOT_QUEUE, footer="◎ Working esc esc interrupt"),
        Screen(State.BUSY, queued="run it\nand a second"),
    ),
    (
        "copilot",
        "│ Do you want to run this command?  │\n│ ❯ 1. Yes        │\n│   3. No          │",
        Screen(State.DIALOG),
    ),
]


# With styles: only these tell what an agent shows in its empty input from typed text.

CODEX_SIGN = "\x1b[1m›\x1b[0m\x1b[39m\x1b[49m "
QWEN_SIGN = "\x1b[38;2;2;2;247m> \x1b[4m"  # and the cursor
STYLED = [
    (
        "claude",
        f'\x1b[38;5;244m{RULE}\n\x1b[39m❯\xa0\x1b[7mT\x1b[0;2m\x1b[39m\x1b[49mry "how do I log an'
        f' error?"\n\x1b[0m\x1b[38;5;244m\x1b[49m{RULE}\n\x1b[39m  \x1b[38;5;246m? for shortcuts',
        Screen(State.IDLE),
    ),
    (
        "claude",
        f"{RULE}\n❯\xa0/mo\x1b[7md\x1b[0;2m\x1b[39mel\n\x1b[0m{RULE}\n  ? for shortcuts",
        Screen(State.DRAFT, "/model"),
    ),
    (
        "claude",
        f"{RULE}\n❯\xa0\x1b[7mT\x1b[0mry it\n{RULE}\n  ? for shortcuts",
        Screen(State.DRAFT, "Try it"),
    ),
    (
        "codex",
        f"{CODEX_SIGN}\x1b[2mAsk a follow-up question\n\x1b[0m\n  \x1b[38;5;2mmock",
        Screen(State.IDLE),
    ),
    (
        "codex",
        f"{CODEX_SIGN}Ask a follow-up question\n\n  \x1b[38;5;2mmock",
        Screen(State.DRAFT, "Ask a follow-up question"),
    ),
    (
        "qwen",
        f"\x1b[38;2;1;1;250m{RULE}\n{QWEN_SIGN}\x1b[39mr\x1b[0m\x1b[38;2;3;3;134m\x1b[49mun"
        f" the tests\n\x1b[38;2;1;1;250m{RULE}\n\x1b[39m  \x1b[38;2;3;3;134m⏸ Ask permissions",
        Screen(State.IDLE),
    ),
    (
        "qwen",  # the cursor at its beginning
        f"{RULE}\n{QWEN_SIGN}\x1b[39mr\x1b[0m\x1b[39m\x1b[49mun the tests\n{RULE}\n  ⏸ Ask",
        Screen(State.DRAFT, "run the tests"),
    ),
    (
        "qwen",  # a command is colored
        f"{RULE}\n{QWEN_SIGN}/\x1b[0m\x1b[38;2;2;2;247m\x1b[49mhelp\n{RULE}\n  ⏸ Ask",
        Screen(State.DRAFT, "/help"),
    ),
]


EMPTY_SHELLS = [
    ("gemini", shown(GEMINI, "  Type your shell command").replace("\n >   Type", "\n !   Type")),
    ("qwen", sign(shown(QWEN, PLACEHOLDER), ">", "!")),
    ("qwen", sign(shown(QWEN, "  Press 'i' for INSERT mode and 'Esc' for NORMAL mode."), ">", "!")),
    ("copilot", sign(shown(COPILOT, "Execute shell command"), "❯", "!")),
]


@pytest.mark.parametrize(("agent", "text"), EMPTY_SHELLS)
def test_an_empty_shell_mode_is_no_empty_prompt_and_has_no_draft(agent: str, text: str) -> None:
    profile = AGENTS[agent]
    seen = read_screen(text, profile.screens, profile.marks, profile.tall)
    assert seen == Screen(State.DRAFT)


@pytest.mark.parametrize(("agent", "screen"), [("qwen", QWEN), ("gemini", GEMINI)])
def test_the_placeholder_of_a_vim_mode_is_no_draft(agent: str, screen: str) -> None:
    profile = AGENTS[agent]
    text = shown(screen, "  Press 'i' for INSERT mode and 'Esc' for NORMAL mode.")
    assert read_screen(text, profile.screens, profile.marks, profile.tall) == Screen(State.IDLE)


@pytest.mark.parametrize(("agent", "text", "screen"), STYLED)
def test_a_suggestion_is_distinguished_from_a_draft(agent: str, text: str, screen: Screen) -> None:
    profile = AGENTS[agent]
    assert read_screen(text, profile.screens, profile.marks, profile.tall) == screen


@pytest.mark.parametrize(("agent", "text", "screen"), SCREENS)
def test_recorded_screens_of_real_agents_are_read_correctly(
    agent: str, text: str, screen: Screen
) -> None:
    assert (
        read_screen(text, AGENTS[agent].screens, AGENTS[agent].marks, AGENTS[agent].tall) == screen
    )


@pytest.mark.parametrize("agent", sorted({agent for agent, _, _ in SCREENS}))
def test_the_screen_of_another_program_is_not_read_as_an_agents(agent: str) -> None:
    for text in ("$ ls\na  b\n$", "~\n~\n-- INSERT --", "", "❯ ls", "> ", "! ls"):
        assert read_screen(text, AGENTS[agent].screens).state is State.UNKNOWN


def test_copilot_shows_that_it_heard_the_first_of_two_keys() -> None:
    profile = AGENTS["copilot"]
    for footer, armed in (("esc again to edit prompt", True), ("esc esc edit prompt", False)):
        text = shown(COPILOT, footer=f"◉ Working {footer}")
        screen = read_screen(text, profile.screens, profile.marks, profile.tall)
        assert (screen.state, screen.armed) == (State.BUSY, armed)
