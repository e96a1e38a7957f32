"""What a person said or types, a model quotes and a status line shows is no state: only the live
region of a screen tells one. Numbered lists and the footers of all agents, at every width."""

# ruff: noqa: RUF001 - the screens as they are

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent, wrap

import pytest

from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.screens import Screen, State, live_region, read_screen

AGENTS = load_profiles(None).agents
WIDTHS = (60, 80, 120, 140, 200, 240)
QUOTES = (
    *("1. please list it", "2. Yes, proceed (y)", "❯ 1. Yes", "› 1. Yes, proceed (y)", "● 1. Yes"),
    *("(0s • esc to interrupt)", "(esc to cancel, 2s)", "Enter to confirm · Esc to cancel"),
    *("Press enter to confirm or esc to cancel", "△ Permission required", "enter confirm"),
    *("↑/↓ to select, Enter to confirm", "(Y)es/(N)o [Yes]:", "⠴ Thinking... (esc to cancel)"),
    *("↑↓ navigate • Enter select • Esc cancel", "esc interrupt", "Working", "Esc to cancel"),
    "No, and tell Continue what to do differently (esc)",
)
ANSWER = "\n".join(QUOTES)
RULE, ABOVE, BELOW = "─" * 240, "▄" * 240, "▀" * 240


def box(sign: str, typed: str, width: int) -> str:
    return f"{RULE[:width]}\n{sign}{typed}\n{RULE[:width]}"


def frame(sign: str, typed: str, width: int, by: str = "") -> str:
    inner = f"{sign}{typed}".ljust(width - 4 - len(by))
    edge = "─" * (width - 2 - len(by))
    return f"{by}╭{edge}╮\n{by}│ {inner} │\n{by}╰{edge}╯"


def as_claude(said: str, answer: str, typed: str, status: str, width: int) -> str:
    told = f"❯ {said}\n\n● {indent(answer, '  ').strip()}\n\n✻ Cogitated for 0s\n\n"
    told += box("❯\xa0", typed, width)
    return f"{told}\n  {status}\n  ⏸ manual mode on · ? for shortcuts"


def as_codex(said: str, answer: str, typed: str, status: str, width: int) -> str:
    told = f"› {said}\n\n\n• {indent(answer, '  ').strip()}\n\n  Worked for <1s • 21:59\n\n"
    return f"{told}› {typed or 'Ask Codex to do anything'}\n\n  mock · {status}\n  ? for shortcuts"


def as_gemini(said: str, answer: str, typed: str, status: str, width: int) -> str:
    above, below = ABOVE[:width], BELOW[:width]
    told = f"{above}\n > {said}\n{below}\n✦ {indent(answer, '  ').strip()}\n\n"
    typed = typed or "  Type your message or @path/to/file"
    return (
        f"{told}{RULE[:width]}\n Shift+Tab to accept edits\n"
        f"{above}\n > {typed}\n{below}\n workspace (/directory)\n {status}"
    )


def as_qwen(said: str, answer: str, typed: str, status: str, width: int) -> str:
    told = f"  > {said}\n\n  ◆︎ {indent(answer, '    ').strip()}\n\n"
    typed = typed or "  Type your message or @path/to/file"
    return f"{told}{box('> ', typed, width)}\n  {status}\n  ⏸ Ask permissions"


def as_opencode(said: str, answer: str, typed: str, status: str, width: int) -> str:
    edge = min(width, 96 if width > 120 else width) - 3
    told = f"  ┃\n  ┃  {said}\n  ┃\n\n{indent(answer, '     ')}\n\n     ▣  Build · Mock · 1.8s\n\n"
    lines = [f"  ┃{'  ' + typed if typed else ''}", "  ┃", "  ┃  Build · Mock Mock"]
    aside = ["", status, "/a/long/way/to/a/project:master"] if width > 120 else ["", "", ""]
    drawn = [f"{one.ljust(edge + 6)}{two}" for one, two in zip(lines, aside, strict=True)]
    return "\n".join([f"{told}  ┃", *drawn, f"  ╹{'▀' * edge}", "   tab agents  ctrl+p commands"])


def as_copilot(said: str, answer: str, typed: str, status: str, width: int) -> str:
    told = f" ❯ {said}   14:23\n\n ● {indent(answer, '   ').strip()}\n\n /shop [master]\n"
    return f"{told}{box('❯ ', typed, width)}\n {status}\n Interactive · Manual Approval"


def as_pi(said: str, answer: str, typed: str, status: str, width: int) -> str:
    return f" {said}\n\n{indent(answer, ' ')}\n\n{box('', typed, width)}\n{status}\n0.0%/128k mock"


def as_hermes(said: str, answer: str, typed: str, status: str, width: int) -> str:
    told = f"● {said}\n\n{indent(answer, '    ')}\n\n ⚕ {status}\n"
    return told + box("❯ ", typed, width)


def as_aider(said: str, answer: str, typed: str, status: str, width: int) -> str:
    told = f"{RULE[:width]}\ndiff> {said}\n\n{answer}\n\nTokens: 2.3k sent, {status}\n"
    return f"{told}{RULE[:width]}\ndiff> {typed}"


def as_grok(said: str, answer: str, typed: str, status: str, width: int) -> str:
    told = f"  > {said}\n\n  ⏺ {indent(answer, '    ').strip()}\n\n"
    below = "\n\n  ⏸ auto-edit: off (shift + tab)  ≋ mock"
    return told + frame("❯ ", typed or "Ask me anything...", width, "  ") + below


def as_cn(said: str, answer: str, typed: str, status: str, width: int) -> str:
    told = f"● {said}\n\n● {indent(answer, '  ').strip()}\n\n"
    asks = "▋Ask anything, @ for context, / for sl"
    return told + frame("● ", typed or asks, width) + f"\n  {status}   ◉ Continue CLI"


DRAWN = {
    "claude": as_claude,
    "codex": as_codex,
    "gemini": as_gemini,
    "qwen": as_qwen,
    "opencode": as_opencode,
    "kilo": as_opencode,
    "copilot": as_copilot,
    "pi": as_pi,
    "hermes": as_hermes,
    "aider": as_aider,
    "grok": as_grok,
    "cn": as_cn,
}
# An answer of one line that begins with the spinner of its agent is taken for it: pi is waited for.
OWN_SPINNER = {"pi": "⠴ Thinking... (esc to cancel)"}
STATUS_IS_ITS_OWN = {"grok", "aider"}  # nobody can write into it


def seen(agent: str, text: str) -> Screen:
    profile = AGENTS[agent]
    shown = "\n".join(line.rstrip(" ") for line in text.split("\n"))
    return read_screen(shown, profile.screens, profile.marks, profile.tall)


def test_each_agent_that_was_tried_is_drawn() -> None:
    tried = {name for name, one in AGENTS.items() if (one.verified or "")[:1].isdigit()}
    assert tried == set(DRAWN)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("agent", DRAWN)
def test_quoted_text_is_not_read_as_a_state(agent: str, width: int) -> None:
    for quote in QUOTES:
        if quote == OWN_SPINNER.get(agent):
            continue
        for said, answer in ((quote, "yes"), ("hello", quote), (quote, ANSWER)):
            screen = seen(agent, DRAWN[agent](said, answer, "", "a status", width))
            assert (screen.state, screen.draft) == (State.IDLE, ""), (quote, said)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("agent", DRAWN)
def test_a_draft_may_look_like_anything_and_is_kept(agent: str, width: int) -> None:
    for quote in QUOTES:
        if width > len(quote) + 8:
            screen = seen(agent, DRAWN[agent](quote, ANSWER, quote, "a status", width))
            assert (screen.state, screen.draft) == (State.DRAFT, quote)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("agent", sorted(set(DRAWN) - STATUS_IS_ITS_OWN))
def test_a_status_line_is_not_read_as_a_state(agent: str, width: int) -> None:
    for quote in QUOTES:
        for typed in ("", "half a thought"):
            screen = seen(agent, DRAWN[agent]("hello", "yes", typed, quote, width))
            due = State.DRAFT if typed else State.IDLE
            assert (screen.state, screen.draft) == (due, typed), quote


# Real screens, as tmux printed them, with numbers and footers said, quoted and typed

RECORDED = Path(__file__).parent / "screens"
HEAD = re.compile(r"^=== (\S+) (\w+) (\d+)\n", re.MULTILINE)


# What was typed into the field of a dialog; of the last six the screen may not show all.
LONG = (
    "violet please, but neither too loud nor too pale, and with a handle that is made of a wood"
    " which does not burn, a lid that does not fall off when it is tilted, and a spout that does"
    " not drip"
)
MKDIR = "use mkdir instead, please, and not touch, since the file would be empty then and"
TYPED = {
    "none": "",
    "short": "violet, if you please",
    "violet": "violet please",
    "red": "make it red",
    "handle": "with a handle",
    "loud": "violet, but not too loud",
    "long": LONG,
    "longer": f"{LONG} at all; 1. please 2. thanks",
    "part": "violet, if you please",
    "last": "it is tilted, and a spout that does not drip",
    "burnt": LONG.partition(", a lid")[0],
    "wood": "burn, a lid that",
    "hint": f"{MKDIR} nobody would know  (Esc to",
    "keys": f"{MKDIR}\nnobody would know what it is for: a folder can hold many things",
}
VIEWS = ("menu-", "transcript-", "search-")  # they hide the input, and claude's Escape leaves them
PARTS = ("part", "last", "hint", "keys", "burnt", "wood")


def recorded() -> list[tuple[str, str, str, str]]:
    found = []
    for path in sorted(RECORDED.glob("*.txt")):
        _, *parts = HEAD.split(path.read_text(encoding="utf-8"))
        for at in range(0, len(parts), 4):
            name, state, width, text = parts[at : at + 4]
            found.append((path.stem, f"{name}-{width}", state, text.rstrip("\n ")))
    return found


@pytest.mark.parametrize(
    ("agent", "name", "state", "text"),
    [pytest.param(*one, id="-".join(one[:2])) for one in recorded()],
)
def test_a_recorded_screen_is_read_as_what_it_was(
    agent: str, name: str, state: str, text: str
) -> None:
    profile = AGENTS[agent]
    screen = read_screen(text, profile.screens, profile.marks, profile.tall)
    drafts = {"draft-1": "1. then the second thing", "draft-2": "2. Yes (esc to interrupt)"}
    assert screen.state.value == state
    assert bool(screen.queued) is name.startswith("queued")
    assert bool(screen.view) is (agent == "claude" and name.startswith(VIEWS))
    assert screen.draft == drafts.get(name.rpartition("-")[0], screen.draft)
    if name.startswith("words-"):
        kind = name.split("-")[1]
        kept = (
            screen.draft.startswith(TYPED[kind]) if kind in PARTS else screen.draft == TYPED[kind]
        )
        assert kept, screen.draft
        assert screen.partial is (kind in PARTS)
        assert screen.asks


def test_without_a_pattern_the_live_region_is_the_last_block() -> None:
    assert live_region("1. said\n\nan answer\n\n> half\n  of it\n", None) == "> half\n  of it\n"
    assert live_region("> half", None) == "> half"


def test_text_beyond_the_edge_of_the_input_is_a_sidebar() -> None:
    live, edge = re.compile(r"^┃[\s\S]*"), re.compile("^╹▀+", re.MULTILINE)
    assert live_region("┃ a    enter confirm\n╹▀▀▀   b", live, edge) == "┃ a\n╹▀▀▀"


def test_words_above_the_live_region_are_not_part_of_the_dialog() -> None:
    """A transcript in the conversation may show a dialog with words in it."""
    told = (RECORDED / "hermes.txt").read_text(encoding="utf-8").split("=== words-loud-")[1]
    quoted = told.partition("\n")[2].partition("\n=== ")[0].rstrip("\n")
    empty = quoted.replace("violet, but not too loud", "")
    assert seen("hermes", f"{quoted}\n\n{empty}") == Screen(State.DIALOG)


WORDS_ASKED = (
    "{rule}\n Do you want to proceed?\n \x1b[38;5;153m❯\x1b[39m \x1b[38;5;246m1. \x1b[38;5;153m"
    "{first}\n\x1b[0m\x1b[39m\x1b[49m   \x1b[38;5;246m2. \x1b[39mNo\n\n \x1b[38;5;246mEsc to cancel"
)


@pytest.mark.parametrize(
    ("first", "words", "partial"),
    [
        ("Yes", "", False),
        ("Yes, \x1b[39mbut please use mkdir\x1b[7m ", "but please use mkdir", False),
        ("Yes, \x1b[39mbut \x1b[7mp\x1b[0mlease", "but please", False),
        ("\x1b[39mneither but violet\x1b[7m", "neither but violet", False),
        ("Yes, \x1b[7ma\x1b[0;2mnd tell Claude what to do next", "", False),
        ("\x1b[7m\x1b[39mT\x1b[0;2m\x1b[39m\x1b[49mype something.", "", False),
        ("Yes, \x1b[39mbut please\n      use mkdir\x1b[7m", "but please\nuse mkdir", True),
    ],
)
def test_words_that_are_typed_into_a_dialog_are_a_draft(
    first: str, words: str, partial: bool
) -> None:
    screen = seen("claude", WORDS_ASKED.format(rule=RULE[:60], first=first))
    assert screen == Screen(State.DIALOG, words, partial=partial)


def test_words_behind_the_question_of_aider_are_a_draft() -> None:
    asks = f"{RULE[:60]}\ndiff> run it\n\ntouch proof\nRun shell command? (Y)es/(N)o [Yes]:"
    assert seen("aider", asks) == Screen(State.DIALOG)
    assert seen("aider", f"{asks} no, use mkdir") == Screen(State.DIALOG, "no, use mkdir")


def test_a_wrapped_draft_is_one_line_at_each_width() -> None:
    words = " ".join(f"word{number}" for number in range(60))
    for width in WIDTHS:
        typed = "\n  ".join(wrap(words, width - 3))
        assert seen("claude", as_claude("a", "b", typed, "c", width)).draft == words


@pytest.mark.parametrize("width", WIDTHS)
def test_a_limit_quoted_in_a_transcript_is_not_a_limit(width: int) -> None:
    told = "  ⎿ \xa0You've hit your session limit · resets 5:02am (UTC)\n\n"
    inner = box("❯\xa0", "", width)
    at_a_limit = f"❯ hello\n{told}{inner}\n  ⏸ manual mode on"
    shown = f"❯ cat transcript\n{told}{inner}\n\n"
    quoted = shown + as_claude("and now?", "It was at a limit then.", "", "mock", width)
    found = [seen("claude", screen).limit for screen in (at_a_limit, quoted)]
    assert found == ["5:02am", None]
