"""The recorded screens of all agents but the first six, shortened to what the patterns match."""

# ruff: noqa: RUF001 - the screens as they are

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.test_real_screens import SCREENS as FIRST_SCREENS
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.screens import Screen, State, read_screen

AGENTS = load_profiles(None).agents
RULE, BELOW = "─" * 40, "▀" * 60
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
# aider: at startup, and after one turn
AIDER = (
    f"{RULE}\nAider v0.86.2\nModel: openai/mock with diff edit format\n{RULE}\n"
    "diff> please remember the blue teapot\n\nThe mock has read it.\n\n"
    f"Tokens: 2.3k sent, 6 received.\n{RULE}\n{{prompt}}"
)
AIDER_ASKS = (
    "diff> run it please\n\ntouch proof\n\nTokens: 2.4k sent, 21 received.\n\n"
    "touch proof\nRun shell command? (Y)es/(N)o/(D)on't ask again [Yes]:"
)
AIDER_ADDS = (
    "diff> /run echo hi\n\nAdd 0.0k tokens of command output to the chat? (Y)es/(N)o [Yes]:"
)
AIDER_STREAMS = "diff> say it\n\nThe teapot is blue, as was said before, and so it goes on"
AIDER_BUSY = "diff> slowly please\n\n ░█        Waiting for openai/mock"
AIDER_MENU = (
    "> /\n  /add              /ask              /clear\n  /architect        /chat-mode        >"
)
BOX = "─" * 38
GROK = (
    "  > hello\n\n  ⏺ The mock has read it.\n\n{above}"
    f"  ╭{BOX}╮\n  │ ❯ {{prompt:<35}}│\n  ╰{BOX}╯\n\n"
    "  ⏸ auto-edit: off (shift + tab)  ≋ mock{below}"
)
GROK_WORKS = "  - Computing... (2s · ↑ 792 tokens · esc to interrupt)\n\n"
GROK_ASKS = (
    "  Do you want to proceed with this operation?\n\n   1. Yes\n   3. No\n\n"
    "  ↑↓ navigate • Enter select • Esc cancel"
)
GROK_MENU = "\n\n   /help Show help information\n\n  ↑↓ navigate • Enter/Tab select • Esc cancel"
GROK_EMPTY = "Ask me anything..."
CN = (
    "● hello\n\n● The mock has read it.\n\n{above}"
    f"╭{BOX}╮\n{{prompt}}\n╰{BOX}╯\n  /shop ⊦master        ◉ Continue CLI"
)
CN_EMPTY = "│ ● ▋Ask anything, @ for context, / for sl  │"
CN_WORKS = " ⠃⠡⠔  ( 2s • esc to interrupt )\n"
CN_RUNS = " ⠵⠏⠧  ( 3s • esc to interrupt • ctrl+b to background )\n"
CN_BROKEN_OFF = "○ Bash(sleep 30)\n\n Interrupted by user - Press enter to continue\n"
CN_WENT_ON = "○ Bash(sleep 30)\n\n● and now\n\n● The mock has read it.\n\n"
CN_QUEUE = f"● slowly\n\n  run it\n  and more\n\n{CN_WORKS}"
CN_ASKS = (
    "│  Would you like to continue?         │\n│  > Continue (tab)                    │\n"
    "│    No, and tell Continue what to do differently (esc) │"
)
KILO = (
    "  ┃  hello\n  ┃\n\n     The mock has read it.\n\n     ▣  Code · Mock · 2.3s\n\n"
    f"  ┃\n  ┃{{prompt}}\n  ┃\n  ┃  Code  · Mock Mock\n  ╹{BELOW}\n{{below}}"
)
KILO_ASKS = "  ┃\n  ┃  △ Permission required\n  ┃    $ touch proof\n  ┃\n"
KILO_SNAPSHOTS = (
    "  ┃  Do you want to disable Snapshots for this repository?\n  ┃\n"
    "  ┃  1. Continue with snapshots\n  ┃\n  ┃  ↑↓ select  enter submit  esc dismiss\n  ┃\n"
)
LONG = "a" * 38 + " and so it goes"  # the edge is in the middle of it


def seen(agent: str, screen: str) -> Screen:
    profile = AGENTS[agent]
    return read_screen(screen.rstrip(), profile.screens, profile.marks, profile.tall)


SCREENS = [
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
    ("aider", AIDER.format(prompt="diff>"), State.IDLE, ""),
    ("aider", AIDER.format(prompt="src/a.py src/b.py\nask>"), State.IDLE, ""),
    ("aider", AIDER.format(prompt=">"), State.IDLE, ""),
    ("aider", AIDER.format(prompt="diff> half"), State.DRAFT, "half"),
    ("aider", AIDER.format(prompt="diff> one\ndiff>\ndiff> two"), State.DRAFT, "one\n\ntwo"),
    ("aider", AIDER.format(prompt=AIDER_MENU), State.DRAFT, "/"),
    ("aider", AIDER.format(prompt=AIDER_BUSY), State.BUSY, ""),
    ("aider", AIDER.format(prompt=AIDER_STREAMS), State.BUSY, ""),
    ("aider", AIDER.format(prompt=AIDER_ASKS), State.DIALOG, ""),
    ("aider", AIDER.format(prompt=AIDER_ADDS), State.DIALOG, ""),
    ("grok", GROK.format(above="", prompt=GROK_EMPTY, below=""), State.IDLE, ""),
    ("grok", GROK.format(above="", prompt="half", below=""), State.DRAFT, "half"),
    ("grok", GROK.format(above="", prompt="/", below=GROK_MENU), State.DRAFT, "/"),
    ("grok", GROK.format(above=GROK_WORKS, prompt=GROK_EMPTY, below=""), State.BUSY, ""),
    ("grok", f"  ⏺ I will run it.\n\n{GROK_ASKS}", State.DIALOG, ""),
    ("cn", CN.format(above="", prompt=CN_EMPTY), State.IDLE, ""),
    ("cn", CN.format(above="", prompt="│ ● half    │"), State.DRAFT, "half"),
    ("cn", CN.format(above="", prompt="│ ● one    │\n│   two    │"), State.DRAFT, "one\ntwo"),
    ("cn", CN.format(above="", prompt="│ $ !ls     │"), State.DRAFT, "!ls"),
    ("cn", CN.format(above=CN_WORKS, prompt=CN_EMPTY), State.BUSY, ""),
    ("cn", CN.format(above=CN_RUNS, prompt=CN_EMPTY), State.BUSY, ""),
    ("cn", CN.format(above="○ Bash(sleep 30)\n\n", prompt=CN_EMPTY), State.BUSY, ""),
    ("cn", CN.format(above="● Bash(sleep 30)\n\n", prompt=CN_EMPTY), State.IDLE, ""),
    ("cn", CN.format(above=CN_BROKEN_OFF, prompt=CN_EMPTY), State.IDLE, ""),
    ("cn", CN.format(above=CN_WENT_ON, prompt=CN_EMPTY), State.IDLE, ""),
    ("cn", CN.format(above=f"{CN_WENT_ON}○ Bash(ls)\n\n", prompt=CN_EMPTY), State.BUSY, ""),
    ("cn", CN.format(above=CN_WORKS, prompt=CN_ASKS), State.DIALOG, ""),
    ("kilo", KILO.format(prompt="", below=""), State.IDLE, ""),
    ("kilo", KILO.format(prompt='  Ask anything... "What?"', below=""), State.IDLE, ""),
    ("kilo", KILO.format(prompt="  half", below=""), State.DRAFT, "half"),
    ("kilo", KILO.format(prompt="", below="   ⬝⬝⬝⬝⬝⬝⬝⬝  esc interrupt"), State.BUSY, ""),
    ("kilo", KILO_ASKS, State.DIALOG, ""),
    ("kilo", KILO_SNAPSHOTS, State.DIALOG, ""),
    (
        "kilo",
        "  ┃  △ Reject permission\n  ┃\n  ┃    enter confirm  esc cancel",
        State.DIALOG,
        "",
    ),
    (
        "hermes",
        HERMES.format(above="", prompt=f"❯ {LONG[:38]}\n{LONG[38:]}"),
        State.DRAFT,
        LONG,
    ),
]


@pytest.mark.parametrize(("agent", "screen", "state", "draft"), SCREENS)
def test_a_screen_is_read_as_what_it_was(agent: str, screen: str, state: State, draft: str) -> None:
    read = seen(agent, screen)
    assert (read.state, read.draft) == (state, draft)


def test_every_tested_agent_has_a_screen_of_each_state() -> None:
    shown = {(agent, state) for agent, _, state, _ in SCREENS}
    shown |= {(agent, screen.state) for agent, _, screen in FIRST_SCREENS}
    tried = {agent: one for agent, one in AGENTS.items() if (one.verified or "")[:1].isdigit()}
    due = {(agent, state) for agent, one in tried.items() for state in one.screens}
    assert due <= shown
    assert len(tried) == 12


def test_a_prompt_queued_while_pi_works_is_seen() -> None:
    assert seen("pi", PI.format(above=PI_QUEUE, prompt="")).queued == "run it"


def test_a_prompt_queued_while_cn_works_is_seen() -> None:
    assert seen("cn", CN.format(above=CN_QUEUE, prompt=CN_EMPTY)).queued == "run it\nand more"


def test_a_draft_that_pi_shows_in_part_is_distinguished_from_a_whole_one() -> None:
    pasted = seen("pi", PI.format(above="", prompt="[paste #1 +30 lines]"))
    assert (pasted.state, pasted.partial) == (State.DRAFT, True)
    above = f"─── ↑ 48 more {RULE}\nline 49\nline 50\n{RULE}\n/shop"
    tall = seen("pi", f" hello\n\n{above}")
    assert (tall.state, tall.draft, tall.partial) == (State.DRAFT, "line 49\nline 50", True)


def test_a_draft_as_high_as_the_input_of_hermes_may_be_a_part() -> None:
    lines = [f"tall line {number}" for number in range(8)]
    shown = seen("hermes", HERMES.format(above="", prompt="❯ " + "\n".join(lines)))
    assert (shown.draft, shown.partial) == ("\n".join(lines), True)
    assert not seen("hermes", HERMES.format(above="", prompt="❯ " + "\n".join(lines[1:]))).partial


def test_a_draft_that_aider_wrapped_under_a_prompt_of_its_own_is_one_line() -> None:
    wrapped = f"diff> {'a' * 34}\ndiff> {'a' * 28} word\ndiff> and more"
    whole = f"{'a' * 62} word and more"
    assert seen("aider", AIDER.format(prompt=wrapped)).draft == whole


def test_a_draft_that_cn_wrapped_is_one_line() -> None:
    wrapped = "│ ● one two three four five six and so  │\n│    seven eight    │"
    read = seen("cn", CN.format(above="", prompt=wrapped))
    assert read.draft == "one two three four five six and so seven eight"


def test_a_draft_that_grok_draws_beside_its_place_is_reported_as_a_part() -> None:
    broken = f"  ╭{BOX}╮\n  │❯ first half│ s    │\n  ╰────────────e{BOX}╯\n              c\n"
    read = seen("grok", broken)
    assert (read.state, read.partial) == (State.DRAFT, True)
    assert read.draft.startswith("first half")


def test_a_draft_that_cn_draws_into_its_frame_is_reported_as_a_part() -> None:
    whole = CN.format(above="", prompt="│ ● one     │\n│   two of  │")
    read = seen("cn", whole.replace(f"╰{BOX}╯", f"╰───it {BOX}"))
    assert (read.state, read.draft, read.partial) == (State.DRAFT, "one\ntwo of", True)


@pytest.mark.parametrize(("prompt", "draft"), [("one\ntwo", "one\ntwo"), ("b" * 38, "b" * 38)])
def test_lines_that_a_person_broke_stay_apart(prompt: str, draft: str) -> None:
    assert seen("hermes", HERMES.format(above="", prompt=f"❯ {prompt}")).draft == draft


@pytest.mark.parametrize("screen", ["menu draft 60", "menu draft 80", "menu-low draft 100"])
def test_the_input_of_cn_is_known_behind_its_menu_of_all_commands(screen: str) -> None:
    """At 24 rows the menu takes the whole screen: the draft is its sign, and nothing is unread."""
    recorded = _recorded("cn", screen)
    assert seen("cn", recorded) == Screen(State.DRAFT, "/")
    quoted = f"{recorded}\n\n{CN.format(above='', prompt='│ ● half    │')}"
    assert seen("cn", quoted) == Screen(State.DRAFT, "half")


@pytest.mark.parametrize(("name", "deaf"), [("question", True), ("command", False)])
def test_a_question_of_cn_hears_no_key_and_its_other_dialog_does(name: str, deaf: bool) -> None:
    screens = {"question": _recorded("cn", "words-short-question dialog 120"), "command": CN_ASKS}
    read = seen("cn", screens[name])
    assert (read.state, read.deaf) == (State.DIALOG, deaf)


def _recorded(agent: str, name: str) -> str:
    text = (Path(__file__).parent / "screens" / f"{agent}.txt").read_text(encoding="utf-8")
    return text.partition(f"=== {name}\n")[2].partition("\n=== ")[0]
